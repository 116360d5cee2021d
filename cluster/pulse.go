package cluster

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// pulse notes when anything was last received from the API server, and holds
// the connections to it. Safe for concurrent use.
type pulse struct {
	base time.Time
	last atomic.Int64 // nanoseconds after base; 0 for never

	mu     sync.Mutex
	conns  map[*heldConn]struct{}
	closed bool
}

func newPulse() *pulse {
	return &pulse{base: time.Now(), conns: map[*heldConn]struct{}{}}
}

func (p *pulse) note() { p.last.Store(max(1, int64(time.Since(p.base)))) }

// contact is when anything was last received; zero for never.
func (p *pulse) contact() time.Time {
	n := p.last.Load()
	if n == 0 {
		return time.Time{}
	}
	return p.base.Add(time.Duration(n))
}

// dialer keeps each connection that dial opens until it is closed.
func (p *pulse) dialer(dial Dialer) Dialer {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 10 * time.Second}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		h := &heldConn{Conn: c, of: p}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.closed {
			c.Close()
			return nil, net.ErrClosed
		}
		p.conns[h] = struct{}{}
		return h, nil
	}
}

// cut closes every connection, so that the next request opens a new one. A
// connection whose other end is gone without a word would hold its requests
// for the better part of a minute.
func (p *pulse) cut() {
	p.mu.Lock()
	conns := p.conns
	p.conns = map[*heldConn]struct{}{}
	p.mu.Unlock()
	for c := range conns {
		c.Conn.Close()
	}
}

// close cuts for ever: no connection is opened any more.
func (p *pulse) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cut()
}

type heldConn struct {
	net.Conn
	of *pulse
}

func (c *heldConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// wrap notes every answer that is not an error, and every byte of its body.
// Errors don't count: a server that has lost its database still sends them.
func (p *pulse) wrap(rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if sent, ok := r.Context().Value(sentKey{}).(*atomic.Bool); ok {
			sent.Store(true)
		}
		resp, err := rt.RoundTrip(r)
		if err == nil && resp.StatusCode < 400 {
			p.note()
			resp.Body = &notedBody{resp.Body, p}
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type notedBody struct {
	io.ReadCloser
	of *pulse
}

func (b *notedBody) Read(buf []byte) (int, error) {
	n, err := b.ReadCloser.Read(buf)
	if n > 0 {
		b.of.note()
	}
	return n, err
}
