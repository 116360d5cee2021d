package loadgen

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"lightsout/internal/text"
)

// conn is a connection that counts the bytes of an answer for the request that uses it.
type conn struct {
	net.Conn          // to read and write: TLS, if any
	raw      net.Conn // to close
	br       *bufio.Reader
	r        *flight
	idle     time.Time
	remote   string
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.r.received(n)
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

// dial opens a connection, with TLS if the target has it. It returns the connection to
// read and write, and the one beneath.
func (cl *client) dial(ctx context.Context, addr string) (c, raw net.Conn, err error) {
	raw, err = cl.opts.Dial(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	if cl.tls == nil {
		return raw, raw, nil
	}
	t := tls.Client(raw, cl.tls)
	if err := t.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, nil, fmt.Errorf("no TLS with %s: %s%w", addr, tlsAdvice(err), err)
	}
	return t, raw, nil
}

// tlsAdvice begins an error of a handshake with what to correct; empty if that is unknown.
func tlsAdvice(err error) string {
	var otherName x509.HostnameError
	switch {
	case errors.As(err, new(tls.RecordHeaderError)):
		return "the server does not answer with TLS (is it http://?): "
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "name the authority of its certificate by ca_file (--ca): "
	case errors.As(err, &otherName):
		names := slices.Concat(otherName.Certificate.DNSNames, text.Each(otherName.Certificate.IPAddresses, net.IP.String))
		if len(names) == 0 {
			return "its certificate is for no name: "
		}
		return fmt.Sprintf("its certificate is for %s: give the URL one of these names, and the address as an entry (--entry): ",
			clean(strings.Join(names, ", "), 100))
	}
	return ""
}

// connect returns a connection for the request, with the time of its set-up
// in the record.
func (cl *client) connect(r *flight, e *entry) (*conn, error) {
	r.Reused = false
	if cl.opts.Target.Reuse {
		now := cl.now()
		if c := e.idle.take(now); c != nil {
			c.r, r.Reused = r, true
			return cl.use(r, c)
		}
	}
	nc, raw, err := cl.dial(r.dialContext(cl.ctx), e.addr)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, raw: raw, r: r}
	if a := raw.RemoteAddr(); a != nil {
		c.remote = clean(a.String(), 80)
	}
	c.br = readers.Get().(*bufio.Reader)
	c.br.Reset(c)
	return cl.use(r, c)
}

func (cl *client) use(r *flight, c *conn) (*conn, error) {
	r.Remote, r.Connected = c.remote, r.now()
	if !r.attach(c.raw) {
		c.discard()
		return nil, r.aborted()
	}
	return c, nil
}

// idleLimit is how long a kept connection may wait for its next request; many
// servers and proxies close theirs after a minute.
const idleLimit = 30 * time.Second

// idlePool keeps connections, last used first.
type idlePool struct {
	mu    sync.Mutex
	conns []*conn
}

// put keeps a connection whose answer has been read to its end.
func (p *idlePool) put(c *conn, now time.Time) {
	c.r, c.idle = nil, now
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
}

// take returns a connection that the other side has not closed; nil: none.
func (p *idlePool) take(now time.Time) *conn {
	for {
		p.mu.Lock()
		last := len(p.conns) - 1
		if last < 0 {
			p.mu.Unlock()
			return nil
		}
		c := p.conns[last]
		p.conns[last] = nil
		p.conns = p.conns[:last]
		p.mu.Unlock()
		if now.Sub(c.idle) < idleLimit && open(c.raw) {
			return c
		}
		c.discard()
	}
}
