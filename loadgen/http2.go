package loadgen

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/http2"
)

// errNotHTTP2 is when the server has agreed on TLS but not on HTTP/2.
var errNotHTTP2 = errors.New("the server does not offer HTTP/2 over TLS")

// The texts of net/http's HTTP/2, which does not export these errors: for an unanswered
// PING; for a stream beyond the last one that a server's GOAWAY names; for a connection that
// takes no further stream.
const (
	lostText     = "http2: client connection lost"
	goAwayText   = "http2: Transport received Server's graceful shutdown GOAWAY"
	unusableText = "http2: client conn not usable"
)

// unprocessed reports whether err proves that the server has not processed the request (RFC
// 9113, sections 6.8 and 8.7): then it is sent again.
func (r *flight) unprocessed(err error) bool {
	if err == nil || !r.FirstByte.IsZero() {
		return false
	}
	if reset, ok := errors.AsType[http2.StreamError](err); ok {
		return reset.Code == http2.ErrCodeRefusedStream
	}
	return strings.Contains(err.Error(), goAwayText) || strings.Contains(err.Error(), unusableText)
}

// sharedConn is an HTTP/2 connection, which carries several requests at once.
// It is an http.ClientConn, which sends each request once: what net/http
// retries, it retries in its Transport's RoundTrip.
type sharedConn struct {
	*http.ClientConn
	remote string
}

// sharedPool keeps the HTTP/2 connections to one entry.
type sharedPool struct {
	dialing chan struct{} // holds something while a connection is set up

	mu    sync.Mutex
	conns []*sharedConn
}

// newTransport returns what turns connections into HTTP/2 connections.
func (cl *client) newTransport() *http.Transport {
	dial := func(ctx context.Context, _, addr string) (net.Conn, error) {
		c, raw, err := cl.dial(ctx, addr)
		if err != nil {
			return nil, err
		}
		if t, ok := c.(*tls.Conn); ok && t.ConnectionState().NegotiatedProtocol != "h2" {
			c.Close()
			return nil, errNotHTTP2
		}
		// The transport does not return the address that it dialed.
		if remote, ok := ctx.Value(remoteKey{}).(*string); ok && raw.RemoteAddr() != nil {
			*remote = clean(raw.RemoteAddr().String(), 80)
		}
		return c, nil
	}
	t := &http.Transport{
		DialContext: dial, DialTLSContext: dial,
		DisableCompression: true,
		Protocols:          new(http.Protocols),
		HTTP2:              &http.HTTP2Config{SendPingTimeout: cl.opts.KeepAlive.PingAfter, PingTimeout: cl.opts.KeepAlive.PingTimeout},
	}
	t.Protocols.SetHTTP2(true)
	t.Protocols.SetUnencryptedHTTP2(true)
	return t
}

// remoteKey is the context's key for where to put the address of a connection.
type remoteKey struct{}

// take returns a connection with a place for the request, and whether an earlier request has
// used it. While one is being set up, requests that need a new one wait.
func (cl *client) take(ctx context.Context, e *entry) (c *sharedConn, reused bool, err error) {
	p := &e.shared
	if cl.opts.Target.Reuse {
		if c = p.reserve(); c != nil {
			return c, true, nil
		}
		select {
		case p.dialing <- struct{}{}:
			defer func() { <-p.dialing }()
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
		if c = p.reserve(); c != nil {
			return c, true, nil
		}
	}
	c = &sharedConn{}
	c.ClientConn, err = cl.transport.NewClientConn(context.WithValue(ctx, remoteKey{}, &c.remote), cl.template.URL.Scheme, e.addr)
	if err != nil {
		return nil, false, err
	}
	if err = c.Reserve(); err != nil {
		c.Close()
		return nil, false, err
	}
	if cl.opts.Target.Reuse {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.conns = append(p.conns, c)
	}
	return c, false, nil
}

// reserve reserves a place on a connection; nil if there is none. It drops connections that take no
// further request: they close with their last one.
func (p *sharedPool) reserve() (found *sharedConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = slices.DeleteFunc(p.conns, func(c *sharedConn) bool {
		gone := c.Err() != nil
		if gone && c.InFlight() == 0 {
			c.Close()
		}
		return gone
	})
	for _, c := range p.conns {
		if c.Reserve() == nil {
			return c
		}
	}
	return nil
}

// exchangeHTTP2 sends the request on an HTTP/2 connection and reads the answer.
func (cl *client) exchangeHTTP2(r *flight, e *entry, m *message) error {
	ctx := r.dialContext(cl.ctx)
	c, reused, err := cl.take(ctx, e)
	if err != nil {
		return err
	}
	if !cl.opts.Target.Reuse {
		defer c.Close()
	}
	r.Reused, r.Remote, r.Connected = reused, c.remote, r.now()
	if !r.attach(nil) {
		c.Release()
		return r.aborted()
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				r.wrote(r.now())
			}
		},
	})
	resp, err := c.RoundTrip(cl.newRequest(ctx, r.ID, m))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	// The headers may be here before the connection's goroutine has said that the request is written: then
	// it counts as written since it was handed over.
	r.wrote(r.Connected)
	r.progress()
	r.Status = resp.StatusCode
	resp.Body = &countedBody{resp.Body, r}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	return cl.readAnswer(r, resp, (*buf)[:cap(*buf)])
}

// countedBody reports the bytes of a body to its request.
type countedBody struct {
	io.ReadCloser
	r *flight
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.r.received(n)
	return n, err
}
