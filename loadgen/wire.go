package loadgen

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// idHeader carries a record's ID to the server. It makes net/http clients and
// proxies retry nothing, unlike Idempotency-Key.
const idHeader = "X-Request-Id"

// message is one request in its HTTP/1.1 form, before and after the ID, and its body.
type message struct{ head, tail, body []byte }

// newRequest makes the request for an HTTP/2 connection.
func (cl *client) newRequest(ctx context.Context, id string, m *message) *http.Request {
	req := cl.template.WithContext(ctx)
	req.Header = req.Header.Clone()
	req.Header.Set(idHeader, id)
	req.Body = http.NoBody
	if len(m.body) > 0 {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(m.body)), int64(len(m.body))
	}
	return req
}

// content gives a target's method and the bodies that are sent in turn.
func (t *Target) content(bare bool) (method string, bodies [][]byte, err error) {
	switch {
	case t.Profile == Chat && len(t.Body) > 0:
		return "", nil, fmt.Errorf("load: a chat makes its own body from model and prompt")
	case t.Profile == Chat && t.MaxTokens < 0:
		return "", nil, fmt.Errorf("load: max tokens must not be negative")
	case t.Profile == Chat:
		return http.MethodPost, chatBodies(t, bare), nil
	case len(t.Body) > 0:
		return cmp.Or(t.Method, http.MethodPost), [][]byte{t.Body}, nil
	}
	return cmp.Or(t.Method, http.MethodGet), [][]byte{nil}, nil
}

// newMessages returns the requests that are sent in turn. Each is written once, with id where
// each request has its own.
func (cl *client) newMessages(id string, bare bool) (all []message, err error) {
	t := &cl.opts.Target
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
		if cl.template == nil {
			cl.template = req.Clone(context.Background())
			cl.template.Body, cl.template.GetBody, cl.template.ContentLength = nil, nil, 0
		}
		req.Header.Set(idHeader, id)
		req.Close = !t.Reuse
		var buf bytes.Buffer
		if err := req.Write(&buf); err != nil {
			return nil, fmt.Errorf("load: the request can't be made: %w", err)
		}
		head, tail, _ := bytes.Cut(buf.Bytes(), []byte(id)) // of idHeader
		all = append(all, message{head: head, tail: tail, body: body})
	}
	return all, nil
}

// ownHeaders are set by the generator or change how a message is framed.
var ownHeaders = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Idempotency-Key",
	"X-Idempotency-Key", "Expect", "Upgrade", "Trailer", idHeader}

func setHeaders(req *http.Request, t *Target) error {
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
