package openstack

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"lightsout/power"
	"lightsout/power/internal/secret"
)

const (
	// replyLimit bounds a reply's body.
	replyLimit = 32 << 20
	// requestTimeout bounds one request, unless the context ends sooner.
	requestTimeout = 30 * time.Second
)

// client makes the HTTP client that the library works by.
func (d *Driver) client(config *tls.Config) http.Client {
	t := &http.Transport{
		DialContext: d.opt.Dial, TLSClientConfig: config, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: 60 * time.Second, ForceAttemptHTTP2: true,
	}
	if d.opt.Dial == nil {
		t.Proxy = http.ProxyFromEnvironment
		t.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	}
	return http.Client{
		Transport: careful{t}, Timeout: requestTimeout,
		// The token is in a header of OpenStack's own, which would go along.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// careful bounds replies, and knows of requests to switch that may have arrived
// although no reply came.
type careful struct{ *http.Transport }

// lostError says that a request to switch got no reply after it may have been
// sent.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// RoundTrip sends a request.
func (c careful) RoundTrip(r *http.Request) (*http.Response, error) {
	var connected atomic.Bool
	switching := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/action")
	if switching {
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
		}))
	}
	resp, err := c.Transport.RoundTrip(r)
	if err != nil {
		if connected.Load() {
			err = &lostError{err}
		}
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, replyLimit), resp.Body}
	return resp, nil
}

// explain makes a sentence of what the library says: its errors hold whole
// replies. A request that was refused comes back as a *power.RefusedError, one
// that may have been carried out as a *power.UnconfirmedError.
func (d *Driver) explain(what string, err error) error {
	var lost *lostError
	var reply gophercloud.ErrUnexpectedResponseCode
	var again *gophercloud.ErrUnableToReauthenticate
	switch {
	case errors.As(err, &again):
		return &power.RefusedError{Why: d.say("%s: the token has run out, and no new one is to be had", what)}
	case errors.As(err, &lost):
		return &power.UnconfirmedError{Why: d.say("%s: OpenStack got the request and did not answer (%s)", what, short(lost.err))}
	case errors.As(err, &reply):
		said := d.say("%s: OpenStack answered %d %s", what, reply.Actual, http.StatusText(reply.Actual))
		if m := message(reply.Body); m != "" {
			said = d.say("%s (%s)", said, m)
		}
		switch {
		case reply.Actual >= 500:
			return &statusError{said, reply.Actual}
		case reply.Actual == http.StatusConflict, reply.Actual == http.StatusTooManyRequests, reply.Actual == http.StatusNotFound:
			return &statusError{said, reply.Actual}
		}
		return &power.RefusedError{Why: said}
	}
	return &saidError{d.say("%s: %s", what, short(err)), err}
}

// statusError is a reply that may be another one the next time.
type statusError struct {
	text string
	code int
}

func (e *statusError) Error() string { return e.text }

// saidError is an error in words that are fit to be shown.
type saidError struct {
	text string
	err  error
}

func (e *saidError) Error() string { return e.text }
func (e *saidError) Unwrap() error { return e.err }

func short(err error) string {
	var wrapped *url.Error // repeats method and URL
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var t interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return "waiting was given up"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &t) && t.Timeout():
		return "there was no answer in time"
	}
	return err.Error()
}

// message finds what an error's body says. Nova wraps it in the error's kind:
// {"conflictingRequest": {"code": 409, "message": "…"}}.
func message(body []byte) string {
	var reply map[string]json.RawMessage
	if json.Unmarshal(body, &reply) != nil {
		return ""
	}
	for _, raw := range reply {
		var inner struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(raw, &inner) == nil && inner.Message != "" {
			return inner.Message
		}
	}
	return ""
}

// say makes a sentence that is fit to be shown, without secrets.
func (d *Driver) say(format string, args ...any) string {
	secrets := []string{}
	if s := d.secrets.Load(); s != nil {
		secrets = *s
	}
	if t := d.token.Load(); t != nil {
		secrets = append(secrets[:len(secrets):len(secrets)], (*t)())
	}
	return secret.Say(fmt.Sprintf(format, args...), secrets...)
}
