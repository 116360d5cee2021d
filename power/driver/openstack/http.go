package openstack

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"

	"lightsout/power"
	"lightsout/power/internal/rest"
	"lightsout/power/internal/secret"
)

// explain makes a sentence of what the library says: its errors hold whole
// replies. A request that was refused comes back as a *power.RefusedError.
func (d *Driver) explain(what string, err error) error {
	var reply gophercloud.ErrUnexpectedResponseCode
	switch {
	case errors.As(err, new(*gophercloud.ErrUnableToReauthenticate)):
		return &power.RefusedError{Why: d.say("%s: the token has expired, and OpenStack issues no new one", what)}
	case errors.As(err, &reply):
		said := d.say("%s: OpenStack answered %d %s", what, reply.Actual, http.StatusText(reply.Actual))
		if m := rest.Message(reply.Body); m != "" {
			said = d.say("%s (%s)", said, m)
		}
		switch {
		case reply.Actual == http.StatusConflict:
			return &power.ConflictError{Why: said}
		case reply.Actual == http.StatusTooManyRequests, reply.Actual == http.StatusNotFound, rest.Unsure(reply.Actual):
			return &rest.StatusError{Code: reply.Actual, Text: said} // may be another one the next time
		}
		return &power.RefusedError{Why: said}
	}
	return &power.SilentError{Text: d.say("%s: %s", what, power.Why(err)), Err: err}
}

// say makes a sentence that is fit to be shown, without secrets.
func (d *Driver) say(format string, args ...any) string {
	var secrets []string
	if s := d.secrets.Load(); s != nil {
		secrets = (*s)()
	}
	return secret.Say(fmt.Sprintf(format, args...), secrets...)
}
