package rest

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"lightsout/power"
)

type harmlessKey struct{}

// Harmless marks the requests of a context as such that switch nothing, as logins do:
// they are sent without a judgement, and it does not matter whether they arrived.
func Harmless(ctx context.Context) context.Context {
	return context.WithValue(ctx, harmlessKey{}, true)
}

// UnsentError reports that lightsout did not send a request: Err is what power.BeforeSend
// returned.
type UnsentError struct{ Err error }

// Error is the reason.
func (e *UnsentError) Error() string { return e.Err.Error() }

// Unwrap gives the error of power.BeforeSend.
func (e *UnsentError) Unwrap() error { return e.Err }

// LostError reports, with the transport's error, that a POST that is not Harmless and may
// have been sent got no reply.
type LostError struct{ error }

// Unwrap gives the transport's error.
func (e *LostError) Unwrap() error { return e.error }

// careful asks power.BeforeSend when the connection for a POST stands, and before
// anything is written to it: also when the transport or the caller sends it again.
type careful struct {
	*http.Transport
	// timeout bounds the way to the connection, and then the request with its reply.
	timeout time.Duration
}

// RoundTrip sends a request.
func (c careful) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, end := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(c.timeout, func() { end(context.DeadlineExceeded) })
	done := func() { timer.Stop(); end(nil) }
	// Written to by the transport, perhaps still when we have returned.
	var connected atomic.Bool
	var unsent atomic.Pointer[UnsentError]
	judges := r.Method == http.MethodPost && r.Context().Value(harmlessKey{}) == nil
	gotConn := func(info httptrace.GotConnInfo) {
		if judges {
			timer.Stop() // what lightsout waits for when it judges has bounds of its own
			if err := power.BeforeSend(r.Context()); err != nil {
				unsent.Store(&UnsentError{err})
				end(err) // also keeps the transport from trying another connection
			}
			timer.Reset(c.timeout)
		}
		if ctx.Err() != nil {
			abandon(info.Conn)
			return
		}
		connected.Store(true)
	}
	resp, err := c.Transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: gotConn})))
	if why := unsent.Load(); why != nil {
		if err == nil {
			resp.Body.Close() // a reply to no request
		}
		done()
		return nil, why
	}
	if err != nil {
		err = inTime(ctx, err)
		done()
		if connected.Load() && judges {
			err = &LostError{err}
		}
		return nil, err
	}
	resp.Body = &body{ctx: ctx, r: io.LimitReader(resp.Body, replyLimit+1), Closer: resp.Body, done: done}
	return resp, nil
}

// abandon keeps a request whose context has ended from being written to the connection
// that it just got. HTTP/2 checks the context itself, and shares the connection with
// other requests; HTTP/1.1 does not check it.
func abandon(conn net.Conn) {
	if c, ok := conn.(*tls.Conn); ok && c.ConnectionState().NegotiatedProtocol == "h2" {
		return
	}
	conn.Close()
}

// inTime returns the cause of a failure: that the time was over, or err.
func inTime(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause == context.DeadlineExceeded {
		return cause
	}
	return err
}

// body is the body of a reply, which ends with its request's time.
type body struct {
	ctx context.Context
	r   io.Reader
	io.Closer
	done func()
}

// Read reads the body.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && err != io.EOF {
		err = inTime(b.ctx, err)
	}
	return n, err
}

// Close ends the request.
func (b *body) Close() error {
	defer b.done()
	return b.Closer.Close()
}
