package redfish

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"

	"lightsout/power"
	"lightsout/power/internal/rest"
)

// get reads a resource.
func (d *Driver) get(ctx context.Context, address string, reply any) error {
	return d.call(ctx, http.MethodGet, address, nil, reply)
}

// call sends a request once, as rest.Client.Do does, with user and password.
func (d *Driver) call(ctx context.Context, method, address string, body map[string]string, reply any) error {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return &power.RefusedError{Why: fmt.Sprintf("%q is not the address of a system", power.Clean(address))}
	}
	if _, _, err := controller(u.Scheme + "://" + u.Host); err != nil {
		return &power.RefusedError{Why: err.Error()}
	}
	password, err := d.opt.Password()
	if err != nil {
		return &power.RefusedError{Why: err.Error()}
	}
	plain := d.opt.User + ":" + password // joined before they are encoded
	err = d.rest.Do(ctx, rest.Request{
		Method: method, URL: address, Body: body, Secrets: []string{password, plain},
		Header: map[string]string{"OData-Version": "4.0", "Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(plain))},
	}, reply)
	if code := rest.Code(err); code == http.StatusUnauthorized || code == http.StatusForbidden {
		return &power.RefusedError{Why: err.Error() + "; check user and password under power.redfish"}
	}
	return err
}

// Close closes connections.
func (d *Driver) Close() { d.rest.HTTP.CloseIdleConnections() }
