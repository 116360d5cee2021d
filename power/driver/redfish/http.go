package redfish

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"lightsout/power"
	"lightsout/power/internal/rest"
)

// sessions is where logins are made at a controller that does not tell.
const sessions = root + "SessionService/Sessions"

// credentials are the body of a login.
type credentials struct{ UserName, Password string }

// sessionsAt returns where a controller takes logins, by its service root, which needs none
// (DSP0266, 13.3.4 and 6.2).
func (d *Driver) sessionsAt(ctx context.Context, base string) (string, error) {
	var service struct {
		Links          struct{ Sessions link }
		SessionService link
	}
	_, err := d.send(ctx, http.MethodGet, base+root, "", "", nil, &service)
	switch code := rest.Code(err); {
	case err != nil && code != http.StatusUnauthorized && code != http.StatusForbidden:
		return "", err
	case service.Links.Sessions.ID != "":
		return resolve(base, service.Links.Sessions.ID), nil
	case service.SessionService.ID != "":
		return resolve(base, strings.TrimRight(service.SessionService.ID, "/")+"/Sessions"), nil
	}
	return base + sessions, nil
}

// session is a login at one controller.
type session struct{ token, location string }

// get reads a resource.
func (d *Driver) get(ctx context.Context, address string, reply any) error {
	return d.call(ctx, http.MethodGet, address, nil, reply)
}

// call sends a request, logged in. A session that is taken no more is renewed
// once: a request that is answered 401 was not carried out.
func (d *Driver) call(ctx context.Context, method, address string, body, reply any) error {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return &power.RefusedError{Why: fmt.Sprintf("%q is not the address of a system", power.Clean(address))}
	}
	base, _, err := controller(u.Scheme + "://" + u.Host)
	if err != nil {
		return &power.RefusedError{Why: err.Error()}
	}
	password, err := d.opt.Password()
	if err != nil {
		return &power.RefusedError{Why: err.Error()}
	}
	var s session // without one, each request has user and password
	if d.opt.Auth == authSession {
		if s, err = d.login(ctx, base, password, ""); err != nil {
			return err
		}
	}
	_, err = d.send(ctx, method, address, password, s.token, body, reply)
	if s.token != "" && rest.Code(err) == http.StatusUnauthorized {
		if s, err = d.login(ctx, base, password, s.token); err != nil {
			return err
		}
		_, err = d.send(ctx, method, address, password, s.token, body, reply)
	}
	return unauthorized(err)
}

func unauthorized(err error) error {
	if code := rest.Code(err); code == http.StatusUnauthorized || code == http.StatusForbidden {
		return &power.RefusedError{Why: err.Error() + "; check user and password under power.redfish"}
	}
	return err
}

// login gives the session at a controller, a new one when there is none or
// only the one that was refused.
func (d *Driver) login(ctx context.Context, base, password, refused string) (session, error) {
	if kept, ok := d.sessions.Load(base); ok && kept.(session).token != refused {
		return kept.(session), nil
	}
	at, err := d.sessionsAt(ctx, base)
	if err != nil {
		return session{}, err
	}
	head, err := d.send(ctx, http.MethodPost, at, password, "", credentials{d.opt.User, password}, nil)
	if err != nil {
		return session{}, unauthorized(err)
	}
	s := session{token: head.Get("X-Auth-Token")}
	if s.token == "" {
		return session{}, fmt.Errorf("the controller %s opened no session; set auth to basic under power.redfish", base)
	}
	if l := head.Get("Location"); l != "" {
		s.location = resolve(base, l)
	}
	d.sessions.Store(base, s)
	return s, nil
}

// Close logs out, for controllers have few sessions to give, and closes
// connections. It takes at most five seconds.
func (d *Driver) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	d.sessions.Range(func(base, kept any) bool {
		d.sessions.Delete(base)
		if s := kept.(session); s.location != "" {
			_, _ = d.send(ctx, http.MethodDelete, s.location, "", s.token, nil, nil)
		}
		return true
	})
	d.rest.HTTP.CloseIdleConnections()
}

// send sends one request, as rest.Client.Do does: with the token, or else with user
// and password, if there is one.
func (d *Driver) send(ctx context.Context, method, address, password, token string, body, reply any) (http.Header, error) {
	plain := d.opt.User + ":" + password // joined before they are encoded
	head := map[string]string{"OData-Version": "4.0"}
	_, login := body.(credentials)
	switch {
	case token != "":
		head["X-Auth-Token"] = token
	case password != "":
		head["Authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(plain))
	}
	return d.rest.Do(ctx, rest.Request{
		Method: method, URL: address, Header: head, Body: body, Secrets: []string{password, plain, token},
		Harmless: login, // nothing is switched by logging in
	}, reply)
}

// explain finds what an error's body says (DSP0266, 8.6): the messages of its
// extended information, or else its own.
func explain(data []byte) string {
	var reply struct {
		Error struct {
			Message  string `json:"message"`
			Extended []struct {
				Message    string
				Resolution string
			} `json:"@Message.ExtendedInfo"`
		} `json:"error"`
	}
	if json.Unmarshal(data, &reply) != nil {
		return ""
	}
	var said []string
	for _, e := range reply.Error.Extended {
		if e.Message != "" {
			said = append(said, e.Message)
		}
	}
	return cmp.Or(strings.Join(said, " "), reply.Error.Message)
}
