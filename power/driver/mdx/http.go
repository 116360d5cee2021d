package mdx

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"lightsout/power"
)

const (
	// parallel is how many requests are under way at once: the portal answers
	// 404 and 500 under more load.
	parallel = 5
	// replyLimit bounds a reply's body.
	replyLimit = 8 << 20
	// requestTimeout bounds one request, unless the context ends sooner.
	requestTimeout = 30 * time.Second
)

// statusError is a reply with a status that is no success.
type statusError struct {
	what string // "GET /api/vm/…"
	code int
	// said is the portal's own word, made harmless.
	said  string
	after time.Duration // Retry-After, zero if none
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("the mdx portal answered %s with %d %s", e.what, e.code, http.StatusText(e.code))
	if e.said != "" {
		text += " (" + e.said + ")"
	}
	return text
}

// newTransport makes the transport: through dial, or directly over IPv4, for
// the portal's name resolves to IPv6 addresses that often don't answer.
func newTransport(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *http.Transport {
	t := &http.Transport{
		DialContext:         dial,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: parallel,
		MaxConnsPerHost:     parallel,
		IdleConnTimeout:     60 * time.Second,
		ForceAttemptHTTP2:   true,
	}
	if dial == nil {
		direct := &net.Dialer{Timeout: 10 * time.Second}
		t.Proxy = http.ProxyFromEnvironment
		t.DialContext = func(ctx context.Context, _, addr string) (net.Conn, error) {
			return direct.DialContext(ctx, "tcp4", addr)
		}
	}
	return t
}

// read sends a GET and repeats it for as long as the portal is busy or can't be
// reached, up to three times more.
func (d *Driver) read(ctx context.Context, path string, reply any) error {
	for try := 0; ; try++ {
		err := d.call(ctx, http.MethodGet, path, nil, reply)
		var status *statusError
		var refused *power.RefusedError
		var after time.Duration
		switch {
		case err == nil, ctx.Err() != nil, try == len(d.pauses), errors.As(err, &refused):
			return err
		case errors.As(err, &status):
			if status.code < 500 && status.code != http.StatusTooManyRequests {
				return err
			}
			after = status.after
		}
		timer := time.NewTimer(max(d.pauses[try], min(after, time.Minute)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// call sends a request with the token, and once more with a new one when it is
// refused: a request that is answered 401 was not carried out.
func (d *Driver) call(ctx context.Context, method, path string, body, reply any) error {
	token, err := d.tokens.get()
	if err != nil {
		return err
	}
	err = d.send(ctx, method, path, token, body, reply)
	var status *statusError
	if !errors.As(err, &status) || status.code != http.StatusUnauthorized {
		return err
	}
	if token, err = d.tokens.renew(ctx, token); err != nil {
		return err
	}
	err = d.send(ctx, method, path, token, body, reply)
	if errors.As(err, &status) && status.code == http.StatusUnauthorized {
		return errToken
	}
	return err
}

// send sends one request and decodes the reply. It returns a *statusError for a
// reply that is no success, and an *UnconfirmedError when a POST may have
// arrived without a reply coming back. The token never gets into an error.
func (d *Driver) send(ctx context.Context, method, path, token string, body, reply any) error {
	what := method + " " + path
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		return fmt.Errorf("%s was not sent: %w", what, ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	var payload io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("%s can't be written: %w", what, err)
		}
		payload = bytes.NewReader(data)
	}
	// Written to by the transport, perhaps still when we have returned.
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	req, err := http.NewRequestWithContext(traced, method, d.url+path, payload)
	if err != nil {
		return fmt.Errorf("%s can't be made: %w", what, err)
	}
	req.Header.Set("Accept", "application/json")
	if body != nil || method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "JWT "+token)
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return d.sendFailed(what, method, connected.Load(), err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, replyLimit+1))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return &statusError{what: what, code: resp.StatusCode, said: said(data, token), after: retryAfter(resp)}
	}
	switch {
	case reply == nil:
		return nil // the status is the answer; what else it says can't be relied on
	case err != nil:
		return fmt.Errorf("the mdx portal's answer to %s broke off: %w", what, err)
	case len(data) > replyLimit:
		return fmt.Errorf("the mdx portal's answer to %s is longer than %d MiB", what, replyLimit>>20)
	}
	if err := json.Unmarshal(data, reply); err != nil {
		return fmt.Errorf("the mdx portal's answer to %s is not understood; is %s the portal's address?", what, d.url)
	}
	return nil
}

// sendFailed makes a sentence of a request that got no reply.
func (d *Driver) sendFailed(what, method string, connected bool, err error) error {
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
	if connected && method == http.MethodPost && what != http.MethodPost+" "+refreshPath {
		return &power.UnconfirmedError{Why: fmt.Sprintf("the mdx portal got %s and did not answer (%s)", what, why)}
	}
	return &unreachedError{text: fmt.Sprintf("the mdx portal %s can't be reached: %s", d.url, why), err: err}
}

// unreachedError says that a request got no reply, in words that are harmless.
type unreachedError struct {
	text string
	err  error
}

func (e *unreachedError) Error() string { return e.text }
func (e *unreachedError) Unwrap() error { return e.err }

// said is what the portal says in an error's body, without the token.
func said(data []byte, token string) string {
	var known struct {
		Detail  string `json:"detail"`
		Message string `json:"message"`
		Error   string `json:"error"`
	}
	text := ""
	if json.Unmarshal(data, &known) == nil {
		for _, s := range []string{known.Detail, known.Message, known.Error} {
			if text == "" {
				text = s
			}
		}
	} else if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")) && len(data) < 500 {
		text = string(data)
	}
	if token != "" {
		text = strings.ReplaceAll(text, token, "(token)")
	}
	return power.Clean(text)
}

func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 3600)) * time.Second
}
