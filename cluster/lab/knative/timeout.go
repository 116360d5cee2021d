package knative

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// Timeouts are a revision's limits on one request; zero means none.
type Timeouts struct {
	// Total is timeoutSeconds. Waiting for a slot counts.
	Total time.Duration
	// ResponseStart is responseStartTimeoutSeconds: to the first byte of the answer.
	ResponseStart time.Duration
}

// errTimeout ends the context of a request whose time is up.
var errTimeout = errors.New("request timeout")

// limit ends requests to next when their time is up. A request that has had no
// answer yet gets 504 and text; one whose answer has begun gets the text at the
// end of its body, which then ends as if it were whole (serving's
// pkg/http/handler/timeout.go): the handler must send its answer through a
// transport that limitBody has wrapped.
func limit(t Timeouts, text string, next http.Handler) http.Handler {
	if t == (Timeouts{}) {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		o := &once{ResponseWriter: w}
		if t.Total > 0 {
			defer time.AfterFunc(t.Total, func() { cancel(errTimeout) }).Stop()
		}
		if t.ResponseStart > 0 {
			o.timer = time.AfterFunc(t.ResponseStart, func() { cancel(errTimeout) })
			defer o.timer.Stop()
		}
		next.ServeHTTP(o, r.WithContext(context.WithValue(ctx, timeoutText{}, text)))
	})
}

type timeoutText struct{}

// timedOut reports whether a request's time is up, and the text to say so.
func timedOut(ctx context.Context) (text string, yes bool) {
	if context.Cause(ctx) != errTimeout {
		return "", false
	}
	text, _ = ctx.Value(timeoutText{}).(string)
	return text, true
}

// once stops the timer of the first byte.
type once struct {
	http.ResponseWriter
	timer *time.Timer
	began sync.Once
}

func (o *once) begin() {
	o.began.Do(func() {
		if o.timer != nil {
			o.timer.Stop()
		}
	})
}

func (o *once) WriteHeader(code int) {
	if code >= 200 {
		o.begin()
	}
	o.ResponseWriter.WriteHeader(code)
}

func (o *once) Write(b []byte) (int, error) {
	o.begin()
	return o.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController the writer behind it.
func (o *once) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// limitBody makes the bodies of a transport's answers end as limit says.
func limitBody(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil && resp.ContentLength < 0 {
			resp.Body = &body{ReadCloser: resp.Body, ctx: r.Context()}
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type body struct {
	io.ReadCloser
	ctx  context.Context
	rest string // of the text that is still to be read
	over bool
}

func (b *body) Read(p []byte) (int, error) {
	if !b.over {
		n, err := b.ReadCloser.Read(p)
		if err == nil || err == io.EOF {
			return n, err
		}
		text, timeout := timedOut(b.ctx)
		if !timeout {
			return n, err
		}
		b.over, b.rest = true, text
		if n > 0 {
			return n, nil
		}
	}
	if b.rest == "" {
		return 0, io.EOF
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}
