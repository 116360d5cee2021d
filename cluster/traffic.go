package cluster

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/ptr"

	"lightsout/internal/clock"
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
	serverClock
	// answered counts answers that are no errors, received all that comes on a connection. All
	// heartbeats that the server had at complete have been delivered, and all other changes that it
	// had at watched.
	answered, received [lineCount]stamp
	complete, watched  stamp
	// wanted is when somebody last wanted to know watched.
	wanted stamp

	mu     sync.Mutex
	conns  map[*heldConn]struct{}
	closed bool
}

func newTraffic() *traffic {
	t := &traffic{serverClock: serverClock{base: time.Now()}, conns: map[*heldConn]struct{}{}}
	t.complete.set(t.base)
	return t
}

// stamp is a moment by both clocks; zero for never. Safe for concurrent use.
type stamp struct{ at atomic.Pointer[time.Time] }

func (s *stamp) set(at time.Time) { s.at.Store(&at) }

func (s *stamp) get() time.Time { return ptr.Deref(s.at.Load(), time.Time{}) }

// contact is when an answer that is no error, or more of one, was last received;
// zero for never.
func (t *traffic) contact() time.Time {
	return clock.Latest(t.heard(mainLine), t.heard(heartbeatLine))
}

// heard is as contact, on one line.
func (t *traffic) heard(l line) time.Time { return t.answered[l].get() }

// knownUntil is the time until which the data of a failed line holds; the other line may
// still work. Zero for never.
func (t *traffic) knownUntil(l line) time.Time {
	return slices.MinFunc([]time.Time{t.contact(), t.received[l].get()}, time.Time.Compare)
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
			c = &pacedConn{Conn: c, opened: time.Now(), closed: make(chan struct{})}
		}
		h := &heldConn{Conn: c, of: t, on: l}
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

// cut closes every connection of a line, so that the next request opens a new one.
// A connection whose other end is gone without a word would hold its requests
// for the better part of a minute.
func (t *traffic) cut(l line) {
	t.mu.Lock()
	conns := maps.Clone(t.conns)
	t.mu.Unlock()
	for c := range conns {
		if c.on == l {
			c.Close()
		}
	}
}

// close cuts for ever: no connection is opened any more.
func (t *traffic) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	for l := range lineCount {
		t.cut(l)
	}
}

type heldConn struct {
	net.Conn
	of *traffic
	on line
}

func (c *heldConn) Read(buf []byte) (int, error) {
	n, err := c.Conn.Read(buf)
	if n > 0 {
		c.of.received[c.on].set(time.Now())
	}
	return n, err
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
		if wait, ok := r.Context().Value(credentialKey{}).(*credentialWait); ok {
			wait.over.Store(true)
			wait.release()
		}
		if r.Context().Value(logInKey{}) != nil {
			return nil, errLoggedIn
		}
		began := time.Now()
		resp, err := rt.RoundTrip(r)
		if err == nil && !strings.Contains(r.URL.Path, "/proxy/") { // else the Date is a node's or a pod's
			t.compare(resp.Header, began)
		}
		if err == nil && resp.StatusCode < 400 {
			t.answered[l].set(time.Now())
			resp.Body = &notedBody{resp.Body, &t.answered[l]}
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type notedBody struct {
	io.ReadCloser
	at *stamp
}

func (b *notedBody) Read(buf []byte) (int, error) {
	n, err := b.ReadCloser.Read(buf)
	if n > 0 {
		b.at.set(time.Now())
	}
	return n, err
}
