// Package rest calls power APIs by HTTP and JSON. It bounds the answers, follows no
// redirect, distinguishes a request whose reply was lost from one that never arrived,
// and describes failures in sentences without secrets.
//
// This package has the parts that hold for any API. It does not log in, and does not
// interpret the answers.
package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"lightsout/power"
	"lightsout/power/internal/secret"
)

const (
	// replyLimit bounds a reply's body, in bytes.
	replyLimit = 32 << 20
	// timeout bounds the way to a connection, and one request with its reply, unless the
	// context ends sooner.
	timeout = 30 * time.Second
)

// Transport makes connections by dial. Without one it makes them straight, over
// network ("tcp", or "tcp4" where IPv6 is known not to work), by the proxy that
// the environment names if there is any.
func Transport(dial power.Dial, network string) *http.Transport {
	t := &http.Transport{
		DialContext: dial, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 5, IdleConnTimeout: 60 * time.Second, ForceAttemptHTTP2: true,
	}
	if dial == nil {
		direct := &net.Dialer{Timeout: 10 * time.Second}
		t.Proxy = http.ProxyFromEnvironment
		t.DialContext = func(ctx context.Context, _, addr string) (net.Conn, error) {
			return direct.DialContext(ctx, network, addr)
		}
	}
	return t
}

// HTTP returns a client that follows no redirect: a redirected POST would become a GET,
// and its headers would go to another host. A POST that is not Harmless and may have arrived
// without a reply fails with a *LostError. It waits for power.BeforeSend when
// its connection stands, and fails with an *UnsentError if that returns an error.
func HTTP(t *http.Transport) *http.Client {
	return &http.Client{
		Transport:     careful{t, timeout},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Loopback reports whether a host, as written, is this machine itself.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// Client speaks to one API. It is safe for use by several goroutines.
type Client struct {
	// Name is the name of the other side in sentences: "the mdx portal".
	Name string
	HTTP *http.Client
}

// Request is one request.
type Request struct {
	Method, URL string
	Header      map[string]string
	// Body is sent as JSON; nil: none.
	Body map[string]string
	// Secrets are hidden in the other side's messages.
	Secrets []string
}

// StatusError is a reply with an unsuccessful status.
type StatusError struct {
	Code int
	// After is how long the other side wants to be left alone, zero if it does
	// not say.
	After time.Duration
	Text  string
}

// Error is one safe sentence with the other side's message.
func (e *StatusError) Error() string { return e.Text }

// Code gives the status of a *StatusError, and 0 of any other error.
func Code(err error) int {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Code
	}
	return 0
}

// Unsure reports whether a reply with that status leaves open whether the request was carried
// out: a server failed, or a gateway lost its patience (408, RFC 9110, section 15.5.9).
func Unsure(code int) bool {
	return code >= 500 && code != http.StatusNotImplemented || code == http.StatusRequestTimeout
}

// Switched makes what a driver's Switch returns of the error of its request.
func (c *Client) Switched(err error) error {
	switch code := Code(err); {
	case code == 0:
		return err
	case code == http.StatusTooManyRequests:
		return fmt.Errorf("nothing was switched, because %s is busy: %w", c.Name, err)
	case code == http.StatusConflict:
		return &power.ConflictError{Why: err.Error()}
	case Unsure(code):
		return &power.UnconfirmedError{Why: err.Error()}
	}
	return &power.RefusedError{Why: err.Error()}
}

// Do sends a request once and decodes the reply, unless reply is nil. It returns
// a *StatusError for a reply that is no success, a *power.UnconfirmedError when
// a POST that is not Harmless may have arrived without a reply coming back, the error of power.BeforeSend
// unchanged, and otherwise an *power.SilentError.
func (c *Client) Do(ctx context.Context, r Request, reply any) error {
	what := r.Method + " " + power.Clean(r.URL)
	var payload io.Reader
	if r.Body != nil {
		data, _ := json.Marshal(r.Body) // it never fails: it is text
		payload = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, payload)
	if err != nil {
		return fmt.Errorf("%s can't be made", what)
	}
	req.Header.Set("Accept", "application/json")
	if r.Body != nil || r.Method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	resp, err := c.HTTP.Do(req)
	var unsent *UnsentError
	switch {
	case errors.As(err, &unsent):
		return unsent.Err
	case errors.As(err, new(*LostError)):
		return &power.UnconfirmedError{Why: fmt.Sprintf("%s got %s and did not answer (%s)", c.Name, what, power.Why(err))}
	case err != nil:
		return c.unreached(what, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return c.status(what, resp, data, r.Secrets)
	case reply == nil:
		return nil // the status is the answer; the rest of the reply is unreliable
	case err != nil:
		return c.unreached(what, err)
	case len(data) > replyLimit:
		return fmt.Errorf("the answer of %s to %s is longer than %d MiB", c.Name, what, replyLimit>>20)
	}
	if err := json.Unmarshal(data, reply); err != nil {
		return fmt.Errorf("lightsout cannot parse the answer to %s; is that the address of %s?", what, c.Name)
	}
	return nil
}

func (c *Client) unreached(what string, err error) error {
	return &power.SilentError{Text: fmt.Sprintf("%s can't be reached (%s): %s", c.Name, what, power.Why(err)), Err: err}
}

func (c *Client) status(what string, resp *http.Response, data []byte, secrets []string) error {
	e := &StatusError{Code: resp.StatusCode}
	e.Text = strings.TrimSpace(fmt.Sprintf("%s answered %s with %d %s", c.Name, what, e.Code, http.StatusText(e.Code)))
	if said := secret.Say(Message(data), secrets...); said != "" {
		e.Text += ": " + said
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.After = time.Duration(min(seconds, 3600)) * time.Second
	}
	return e
}

// Message finds what an error's body says: its texts named detail, message or error, the innermost ones.
func Message(body []byte) string {
	var reply any
	_ = json.Unmarshal(body, &reply) // nothing is found in a body that is no JSON
	return strings.Join(messages(reply), " ")
}

func messages(reply any) (inner []string) {
	switch reply := reply.(type) {
	case []any:
		for _, part := range reply {
			inner = append(inner, messages(part)...)
		}
	case map[string]any:
		var own []string
		for _, name := range slices.Sorted(maps.Keys(reply)) {
			inner = append(inner, messages(reply[name])...)
			text, _ := reply[name].(string)
			if text != "" && slices.Contains([]string{"detail", "message", "error"}, strings.ToLower(name)) {
				own = append(own, text)
			}
		}
		if len(inner) == 0 {
			return own
		}
	}
	return inner
}

// Due reports whether to send a request to an API that accepts an action in one state
// only, by the machine's present state: not if the machine is in the wanted power state
// already, and not in any other state, which the error names. It ends with the next
// step.
func Due(a power.Action, m power.Machine, now power.Reading, advice string) (bool, error) {
	switch {
	case now.State == a.Wanted():
		return false, nil
	case now.State == power.Transitioning:
		return false, fmt.Errorf("%s is busy (%s); ask again when that has ended", m.Title(), now.Detail)
	case now.State == power.Unknown:
		return false, &power.RefusedError{Why: fmt.Sprintf("%s can't be switched now: %s%s", m.Title(), now.Detail, advice)}
	}
	return true, nil
}
