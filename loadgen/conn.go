package loadgen

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// maxHead bounds the status line and headers of an answer.
const maxHead = 1 << 20

var errHeadTooLong = errors.New("the headers of the answer are too long")

// conn is a connection that tells the bytes of an answer to the request which
// uses it.
type conn struct {
	net.Conn          // what is read and written: TLS, if any
	raw      net.Conn // what is closed
	br       *bufio.Reader
	r        *request
	head     int // bytes that may still come before the headers end; -1: no bound
	idle     time.Time
}

func (c *conn) Read(p []byte) (int, error) {
	if c.head == 0 {
		return 0, errHeadTooLong
	}
	if c.head > 0 && len(p) > c.head {
		p = p[:c.head]
	}
	n, err := c.Conn.Read(p)
	if n > 0 {
		if c.head > 0 {
			c.head -= n
		}
		c.r.progress(n)
	}
	return n, err
}

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4096) }}

// discard closes the connection; the request does not use it any more.
func (c *conn) discard() {
	c.raw.Close()
	c.br.Reset(nil)
	readers.Put(c.br)
	c.br = nil
}

// connect returns a connection for the request, with the time of its set-up
// in the trace.
func (g *Generator) connect(r *request) (*conn, error) {
	ctx := r.begin(g.ctx)
	if g.opts.Target.Reuse {
		if c := g.idle.take(g.now()); c != nil {
			c.r, r.reused = r, true
			return g.use(r, c)
		}
	}
	raw, err := g.opts.Dial(ctx, "tcp", g.wire.addr)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, raw: raw, r: r}
	if g.wire.tls {
		config := &tls.Config{}
		if g.opts.TLS != nil {
			config = g.opts.TLS.Clone()
		}
		if config.ServerName == "" {
			config.ServerName = g.wire.serverName
		}
		config.NextProtos = []string{"http/1.1"}
		t := tls.Client(raw, config)
		if err := t.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, fmt.Errorf("no TLS with %s: %w", g.wire.addr, err)
		}
		c.Conn = t
	}
	c.br = readers.Get().(*bufio.Reader)
	c.br.Reset(c)
	return g.use(r, c)
}

func (g *Generator) use(r *request, c *conn) (*conn, error) {
	if a := c.raw.RemoteAddr(); a != nil {
		r.remote = clean(a.String(), 80)
	}
	r.connected = g.now()
	if !r.attach(c.raw) {
		c.discard()
		return nil, r.aborted().err
	}
	c.head = maxHead
	r.enter(phaseWrite, r.connected)
	return c, nil
}

// idleLimit is how long a kept connection may wait for its next request; many
// servers and proxies close theirs after a minute.
const idleLimit = 30 * time.Second

// idlePool keeps connections, last used first.
type idlePool struct {
	mu     sync.Mutex
	conns  []*conn
	closed bool
}

// put keeps a connection whose answer has been read to its end.
func (p *idlePool) put(c *conn, now time.Time) {
	c.r, c.idle = nil, now
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.discard()
		return
	}
	p.conns = append(p.conns, c)
}

// take returns a connection that the other side has not closed; nil: none.
func (p *idlePool) take(now time.Time) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.conns) > 0 {
		last := len(p.conns) - 1
		c := p.conns[last]
		p.conns[last] = nil
		p.conns = p.conns[:last]
		if now.Sub(c.idle) < idleLimit && open(c.raw) {
			return c
		}
		c.discard()
	}
	return nil
}

// close closes what is kept, and what is put from now on.
func (p *idlePool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.conns {
		c.discard()
	}
	p.conns = nil
}
