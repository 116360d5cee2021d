package cluster

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// line is one of the ways to the API server. Heartbeats have connections of their
// own, which are read from at a pace, so that nothing else waits for that.
type line int

const (
	mainLine line = iota
	heartbeatLine
	lineCount
)

// traffic notes when anything was last received from the API server, and holds
// the connections to it. Safe for concurrent use.
type traffic struct {
	clock
	last [lineCount]atomic.Int64 // nanoseconds after base; 0 for never

	mu     sync.Mutex
	conns  map[*heldConn]struct{}
	closed bool
}

func newTraffic() *traffic {
	return &traffic{clock: clock{base: time.Now()}, conns: map[*heldConn]struct{}{}}
}

func (t *traffic) note(l line) { t.last[l].Store(max(1, int64(time.Since(t.base)))) }

// contact is when anything was last received; zero for never.
func (t *traffic) contact() time.Time {
	newest := t.heard(mainLine)
	if beats := t.heard(heartbeatLine); beats.After(newest) {
		newest = beats
	}
	return newest
}

// heard is when anything was last received on a line; zero for never.
func (t *traffic) heard(l line) time.Time {
	n := t.last[l].Load()
	if n == 0 {
		return time.Time{}
	}
	return t.base.Add(time.Duration(n))
}

// dialer keeps each connection of a line that dial opens until it is closed.
func (t *traffic) dialer(l line, dial Dialer) Dialer {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 10 * time.Second}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if l == heartbeatLine {
			c = paced(c)
		}
		h := &heldConn{Conn: c, of: t}
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.closed {
			c.Close()
			return nil, net.ErrClosed
		}
		t.conns[h] = struct{}{}
		return h, nil
	}
}

// cut closes every connection, so that the next request opens a new one. A
// connection whose other end is gone without a word would hold its requests
// for the better part of a minute.
func (t *traffic) cut() {
	t.mu.Lock()
	conns := t.conns
	t.conns = map[*heldConn]struct{}{}
	t.mu.Unlock()
	for c := range conns {
		c.Conn.Close()
	}
}

// close cuts for ever: no connection is opened any more.
func (t *traffic) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cut()
}

type heldConn struct {
	net.Conn
	of *traffic
}

func (c *heldConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// wrap notes every answer on a line that is not an error, and every byte of its
// body. Errors don't count: a server that has lost its database still sends them.
func (t *traffic) wrap(l line, rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if sent, ok := r.Context().Value(sentKey{}).(*atomic.Bool); ok {
			sent.Store(true)
		}
		began := time.Now()
		resp, err := rt.RoundTrip(r)
		if err == nil && !strings.Contains(r.URL.Path, "/proxy/") { // else the Date is a node's or a pod's
			t.compare(resp.Header, began)
		}
		if err == nil && resp.StatusCode < 400 {
			t.note(l)
			resp.Body = &notedBody{resp.Body, t, l}
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type notedBody struct {
	io.ReadCloser
	of *traffic
	on line
}

func (b *notedBody) Read(buf []byte) (int, error) {
	n, err := b.ReadCloser.Read(buf)
	if n > 0 {
		b.of.note(b.on)
	}
	return n, err
}
