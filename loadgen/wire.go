package loadgen

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/net/http/httpguts"
)

// idHeader carries a record's ID to the server. It makes net/http clients and
// proxies retry nothing, unlike Idempotency-Key.
const idHeader = "X-Request-Id"

// wire is a request in its form on a connection, built once: all requests of a
// generator differ only in their ID.
type wire struct {
	addr       string // host:port to dial
	tls        bool
	serverName string
	// messages are the bodies, sent in turn: [1] those of a chat without stream_options, once the
	// server has refused it.
	messages       [2][]message
	withoutOptions atomic.Bool
	idPrefix       string
	target         Target // the target for which it was built
	// request is without ID and body: for HTTP/2, and what answers are parsed for,
	// since the method decides whether one has a body. It is only read.
	request *http.Request
	// shown is the URL without user, query and fragment.
	shown string
	// mask hides what must not be in an error.
	mask *strings.Replacer
}

// message is one request in its HTTP/1.1 form, before and after the ID, and its body.
type message struct{ head, tail, body []byte }

// newRequest makes the request for an HTTP/2 connection.
func (w *wire) newRequest(ctx context.Context, id string, m *message) *http.Request {
	req := w.request.WithContext(ctx)
	req.Header = req.Header.Clone()
	req.Header.Set(idHeader, id)
	req.Body = http.NoBody
	if len(m.body) > 0 {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(m.body)), int64(len(m.body))
	}
	return req
}

// newWire checks a target and makes its wire form.
func newWire(t Target) (*wire, error) {
	u, addr, err := parseURL(t.URL)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	shown := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	var mark [16]byte
	rand.Read(mark[:])
	id := hex.EncodeToString(mark[:])

	w := &wire{
		addr:       addr,
		tls:        u.Scheme == "https",
		serverName: host,
		idPrefix:   id[:8],
		target:     t,
		shown:      clean(shown, maxErrorText),
	}
	for i := range w.messages {
		w.messages[i], err = w.newMessages(t, id, i == 1)
		if err != nil {
			return nil, err
		}
	}
	w.mask = maskOf(t, u, w.request.Header.Get("Authorization"))
	return w, nil
}

// content gives a target's method and the bodies that are sent in turn.
func (t *Target) content(bare bool) (method string, bodies [][]byte, err error) {
	method, bodies = t.Method, [][]byte{t.Body}
	if t.Profile == Chat {
		if len(t.Body) > 0 {
			return "", nil, fmt.Errorf("load: a chat makes its own body from model and prompt")
		}
		if t.MaxTokens < 0 {
			return "", nil, fmt.Errorf("load: max tokens must not be negative")
		}
		method = http.MethodPost
		if bodies, err = chatBodies(t, bare); err != nil {
			return "", nil, fmt.Errorf("load: the chat request can't be made: %w", err)
		}
	}
	if method == "" {
		method = http.MethodGet
		if len(t.Body) > 0 {
			method = http.MethodPost
		}
	}
	if method == http.MethodConnect {
		return "", nil, fmt.Errorf("load: the method CONNECT is not supported")
	}
	return method, bodies, nil
}

// newMessages returns the requests that are sent in turn. Each is written once, with id where
// each request has its own.
func (w *wire) newMessages(t Target, id string, bare bool) (all []message, err error) {
	method, bodies, err := t.content(bare)
	if err != nil {
		return nil, err
	}
	for _, body := range bodies {
		req, err := http.NewRequest(method, t.URL, bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("load: the method %q is not valid", clean(method, 20))
		}
		if err := setHeaders(req, t); err != nil {
			return nil, err
		}
		if w.request == nil {
			w.request = req.Clone(context.Background())
			w.request.Body, w.request.GetBody, w.request.ContentLength = nil, nil, 0
		}
		req.Header.Set(idHeader, id)
		req.Close = !t.Reuse
		var buf bytes.Buffer
		if err := req.Write(&buf); err != nil {
			return nil, fmt.Errorf("load: the request can't be made: %w", err)
		}
		head, tail, ok := bytes.Cut(buf.Bytes(), []byte(id))
		if !ok {
			return nil, fmt.Errorf("load: the request can't be made: it lost its %s", idHeader)
		}
		all = append(all, message{head: head, tail: tail, body: body})
	}
	return all, nil
}

// ownHeaders are set by the generator or change how a message is framed.
var ownHeaders = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Idempotency-Key",
	"X-Idempotency-Key", "Expect", "Upgrade", "Trailer", idHeader}

func setHeaders(req *http.Request, t Target) error {
	for name, values := range t.Header {
		name = http.CanonicalHeaderKey(name)
		if slices.Contains(ownHeaders, name) {
			return fmt.Errorf("load: the header %s can't be set", name)
		}
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("load: the header name %q is not valid", clean(name, 40))
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return fmt.Errorf("load: the value of the header %s has control characters", name)
			}
			req.Header.Add(name, v)
		}
	}
	host := cmp.Or(t.Host, req.Host)
	if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '/' }) {
		return fmt.Errorf("load: the host %q is not valid", clean(host, 80))
	}
	req.Host = host
	byDefault := func(name, value string) {
		if req.Header.Get(name) == "" {
			req.Header.Set(name, value)
		}
	}
	byDefault("User-Agent", "lightsout")
	if t.Profile == Chat {
		byDefault("Content-Type", "application/json")
		byDefault("Accept", "text/event-stream")
	} else {
		byDefault("Accept", "*/*")
	}
	if u := req.URL.User; u != nil && req.Header.Get("Authorization") == "" {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	if t.APIKey != "" {
		if !httpguts.ValidHeaderFieldValue(t.APIKey) || strings.ContainsAny(t.APIKey, " \t") {
			return fmt.Errorf("load: the API key has white space or control characters: is there a line break at its end?")
		}
		req.Header.Set("Authorization", "Bearer "+t.APIKey)
	}
	return nil
}
