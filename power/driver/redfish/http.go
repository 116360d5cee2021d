package redfish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"lightsout/power"
	"lightsout/power/internal/secret"
)

const (
	// replyLimit bounds a reply's body.
	replyLimit = 4 << 20
	// requestTimeout bounds one request, unless the context ends sooner.
	requestTimeout = 30 * time.Second
)

// statusError is a reply with a status that is no success.
type statusError struct {
	what string // "GET https://…"
	code int
	said string // harmless, without secrets
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("the controller answered %s with %d %s", e.what, e.code, http.StatusText(e.code))
	if e.said != "" {
		text += ": " + e.said
	}
	return text
}

// unreachedError says that a request got no reply.
type unreachedError struct {
	text string
	err  error
}

func (e *unreachedError) Error() string { return e.text }
func (e *unreachedError) Unwrap() error { return e.err }

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
		return &power.RefusedError{Why: fmt.Sprintf("%q is no address of a system", power.Clean(address))}
	}
	base, err := controller(u.Scheme + "://" + u.Host)
	if err != nil {
		return &power.RefusedError{Why: err.Error()}
	}
	password, err := d.opt.Password()
	if err != nil {
		return &power.RefusedError{Why: err.Error()}
	}
	if d.opt.Auth != authSession {
		_, err := d.send(ctx, method, address, password, "", body, reply)
		return unauthorized(err)
	}
	s, err := d.login(ctx, base, password, "")
	if err != nil {
		return err
	}
	_, err = d.send(ctx, method, address, password, s.token, body, reply)
	var status *statusError
	if errors.As(err, &status) && status.code == http.StatusUnauthorized {
		if s, err = d.login(ctx, base, password, s.token); err != nil {
			return err
		}
		_, err = d.send(ctx, method, address, password, s.token, body, reply)
	}
	return unauthorized(err)
}

func unauthorized(err error) error {
	var status *statusError
	if errors.As(err, &status) && (status.code == http.StatusUnauthorized || status.code == http.StatusForbidden) {
		return &power.RefusedError{Why: err.Error() + "; look at user and password of power.redfish"}
	}
	return err
}

// login gives the session at a controller, a new one when there is none or
// only the one that was refused.
func (d *Driver) login(ctx context.Context, base, password, refused string) (session, error) {
	d.mu.Lock()
	s, ok := d.sessions[base]
	d.mu.Unlock()
	if ok && s.token != refused {
		return s, nil
	}
	head, err := d.send(ctx, http.MethodPost, base+root+"SessionService/Sessions", password, "",
		map[string]string{"UserName": d.opt.User, "Password": password}, nil)
	var unconfirmed *power.UnconfirmedError
	if errors.As(err, &unconfirmed) { // nothing was to be switched yet
		err = &unreachedError{text: fmt.Sprintf("the controller %s did not answer the login: %s", base, unconfirmed.Why), err: context.DeadlineExceeded}
	}
	if err != nil {
		return session{}, unauthorized(err)
	}
	s = session{token: head.Get("X-Auth-Token")}
	if s.token == "" {
		return session{}, fmt.Errorf("the controller %s opened no session; set auth to basic under power.redfish", base)
	}
	if l := head.Get("Location"); l != "" {
		s.location = resolve(base, l)
	}
	d.mu.Lock()
	d.sessions[base] = s
	d.mu.Unlock()
	return s, nil
}

// Close logs out, for controllers have few sessions to give, and closes
// connections. It takes at most five seconds.
func (d *Driver) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	d.mu.Lock()
	sessions := d.sessions
	d.sessions = map[string]session{}
	d.mu.Unlock()
	for _, s := range sessions {
		if s.location != "" {
			_, _ = d.send(ctx, http.MethodDelete, s.location, "", s.token, nil, nil)
		}
	}
	d.http.CloseIdleConnections()
}

// send sends one request and decodes the reply: with the token, or with user
// and password when there is none. It returns a *statusError for a reply that
// is no success, an *UnconfirmedError when a POST may have arrived without a
// reply coming back, and an *unreachedError otherwise.
func (d *Driver) send(ctx context.Context, method, address, password, token string, body, reply any) (http.Header, error) {
	what := method + " " + power.Clean(address)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var payload io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s can't be written: %w", what, err)
		}
		payload = bytes.NewReader(data)
	}
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	req, err := http.NewRequestWithContext(traced, method, address, payload)
	if err != nil {
		return nil, fmt.Errorf("%s can't be made", what)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("OData-Version", "4.0")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("X-Auth-Token", token)
	} else {
		req.SetBasicAuth(d.opt.User, password)
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return nil, sendFailed(what, method, connected.Load(), err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, replyLimit+1))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		// Basic authentication joins the two before encoding them.
		said := secret.Say(explain(data), password, d.opt.User+":"+password, token)
		return nil, &statusError{what: what, code: resp.StatusCode, said: said}
	}
	switch {
	case reply == nil:
		return resp.Header, nil // the status is the answer
	case err != nil:
		return nil, sendFailed(what, method, true, err)
	case len(data) > replyLimit:
		return nil, fmt.Errorf("the answer to %s is longer than %d MiB", what, replyLimit>>20)
	}
	if err := json.Unmarshal(data, reply); err != nil {
		return nil, fmt.Errorf("the answer to %s is not understood; is it a Redfish controller?", what)
	}
	return resp.Header, nil
}

func sendFailed(what, method string, connected bool, err error) error {
	var wrapped *url.Error // repeats method and URL
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	why := power.Clean(err.Error())
	var t interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		why = "waiting was given up"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &t) && t.Timeout():
		why = "it did not answer in time"
	}
	if connected && method == http.MethodPost {
		return &power.UnconfirmedError{Why: fmt.Sprintf("the controller got %s and did not answer (%s)", what, why)}
	}
	return &unreachedError{text: fmt.Sprintf("the controller does not answer %s: %s", what, why), err: err}
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
	if len(said) == 0 {
		return reply.Error.Message
	}
	return strings.Join(said, " ")
}
