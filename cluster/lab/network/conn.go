package network

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// window is how many bytes may be under way in one direction.
const window = 256 << 10

// conn is one end of a connection. Both ends share one link, whose mutex
// guards everything below it in both.
type conn struct {
	link   *link
	peer   *conn
	host   *Host
	local  *net.TCPAddr
	remote *net.TCPAddr

	in        []byte // arrived, not read
	held      []byte // under way to here, while the hosts are parted
	finHeld   bool   // and then the end
	off       int    // of in, what has been read
	finIn     bool   // the peer writes no more
	finOut    bool   // this end writes no more
	err       error  // why reads and writes fail; ErrPowerCut, ECONNRESET
	dead      bool   // the host lost its power: nothing it does is seen by the peer
	closed    bool
	stale     bool // the other host has booted since: a write gets a reset
	readBy    deadline
	writeBy   deadline
	keepAlive *time.Timer
}

type link struct {
	mu     sync.Mutex
	cond   *sync.Cond
	parted int // how many of the two hosts are detached
}

// deadline is a time, and a timer that wakes the link then.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

// connect joins two hosts. It is called with network.mu held.
func connect(from, to *Host, at *net.TCPAddr) (near, far *conn) {
	l := &link{}
	l.cond = sync.NewCond(&l.mu)
	var source netip.Addr
	if len(from.own) > 0 {
		source = from.own[0]
	} else if len(from.ips) > 0 {
		source = from.ips[0]
	} else {
		source = netip.IPv4Unspecified()
	}
	here := net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, from.port()))
	near = &conn{link: l, host: from, local: here, remote: at}
	far = &conn{link: l, host: to, local: at, remote: here}
	near.peer, far.peer = far, near
	from.conns[near] = struct{}{}
	to.conns[far] = struct{}{}
	return near, far
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) wrap(op string, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, errno)
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, c.wrap("read", net.ErrClosed)
		case c.readBy.over():
			return 0, c.wrap("read", os.ErrDeadlineExceeded)
		case c.err != nil:
			return 0, c.wrap("read", c.err)
		case len(b) == 0:
			return 0, nil
		case c.off < len(c.in):
			n := copy(b, c.in[c.off:])
			c.off += n
			if c.off == len(c.in) {
				c.in, c.off = c.in[:0], 0
				if cap(c.in) > 32<<10 { // don't keep a burst's memory
					c.in = nil
				}
			}
			c.link.cond.Broadcast()
			return n, nil
		case c.finIn:
			return 0, io.EOF
		}
		c.link.cond.Wait()
	}
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	written := 0
	for {
		if c.stale {
			c.reset()
		}
		p := c.peer
		switch {
		case c.closed || c.finOut:
			return written, c.wrap("write", net.ErrClosed)
		case c.writeBy.over():
			return written, c.wrap("write", os.ErrDeadlineExceeded)
		case c.err != nil:
			return written, c.wrap("write", c.err)
		case p.closed && !p.dead && c.link.parted == 0:
			return written, c.wrap("write", syscall.EPIPE)
		case len(b) == 0:
			return written, nil
		}
		if room := window - (len(p.in) - p.off) - len(p.held); room > 0 {
			n := min(room, len(b))
			if c.link.parted > 0 {
				p.held = append(p.held, b[:n]...)
				b, written = b[n:], written+n
				continue
			}
			if p.off > 0 && len(p.in)+n > cap(p.in) {
				p.in = p.in[:copy(p.in, p.in[p.off:])]
				p.off = 0
			}
			p.in = append(p.in, b[:n]...)
			b = b[n:]
			written += n
			c.link.cond.Broadcast()
			continue
		}
		c.link.cond.Wait()
	}
}

// Close implements net.Conn. The peer reads what is under way and then io.EOF.
func (c *conn) Close() error {
	c.link.mu.Lock()
	already := c.closed
	if !already {
		c.shut()
	}
	c.link.mu.Unlock()
	if already {
		return c.wrap("close", net.ErrClosed)
	}
	n := c.host.network
	n.mu.Lock()
	delete(c.host.conns, c)
	h := c.peer.host
	h.silenced = slices.DeleteFunc(h.silenced, func(s *conn) bool { return s == c })
	n.mu.Unlock()
	return nil
}

// shut closes this end; a silent host's end tells its peer nothing. It is
// called with the link locked.
func (c *conn) shut() {
	c.closed = true
	c.fin()
	c.readBy.stop()
	c.writeBy.stop()
	if c.keepAlive != nil {
		c.keepAlive.Stop()
	}
	c.link.cond.Broadcast()
}

// CloseWrite ends this direction: the peer reads what is under way and then
// io.EOF, while this end can still read.
func (c *conn) CloseWrite() error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.closed || c.finOut {
		return c.wrap("close", net.ErrClosed)
	}
	c.finOut = true
	c.fin()
	c.link.cond.Broadcast()
	return nil
}

// fin tells the peer that no more comes. It is called with the link locked.
func (c *conn) fin() {
	switch {
	case c.dead:
	case c.link.parted > 0:
		c.peer.finHeld = true
	default:
		c.peer.finIn = true
	}
}

// part is what detaching its host does to a connection; meet undoes it.
func (c *conn) part() {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.link.parted++
}

func (c *conn) meet() {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.link.parted--
	if c.link.parted > 0 {
		return
	}
	for _, end := range []*conn{c, c.peer} {
		end.in, end.held = append(end.in, end.held...), nil
		end.finIn = end.finIn || end.finHeld
	}
	c.link.cond.Broadcast()
}

// die hides from the peer what this end does from now on.
func (c *conn) die() {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.dead = true
}

// cut fails what waits on this end, after die.
func (c *conn) cut() {
	c.link.mu.Lock()
	c.err = cmp.Or(c.err, ErrPowerCut)
	c.link.cond.Broadcast()
	c.link.mu.Unlock()
}

// forgotten tells this end that the other host has booted.
func (c *conn) forgotten() {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.closed || c.err != nil {
		return
	}
	if len(c.peer.in) > c.peer.off { // is being sent again: answered at once
		c.reset()
		return
	}
	c.stale = true
	c.keepAlive = time.AfterFunc(keepAlive, func() {
		c.link.mu.Lock()
		c.reset()
		c.link.mu.Unlock()
	})
}

// reset ends this connection as a RST does. It is called with the link locked.
func (c *conn) reset() {
	c.stale = false
	c.err = cmp.Or[error](c.err, syscall.ECONNRESET)
	c.link.cond.Broadcast()
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return c.set(t, &c.readBy, &c.writeBy)
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.set(t, &c.readBy) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.set(t, &c.writeBy) }

func (c *conn) set(t time.Time, ds ...*deadline) error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.closed {
		return c.wrap("set", net.ErrClosed)
	}
	for _, d := range ds {
		d.stop()
		d.at = t
		if wait := time.Until(t); !t.IsZero() && wait > 0 {
			d.timer = time.AfterFunc(wait, func() {
				c.link.mu.Lock()
				c.link.cond.Broadcast()
				c.link.mu.Unlock()
			})
		}
	}
	c.link.cond.Broadcast()
	return nil
}

func (d *deadline) over() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

// listener is a net.Listener on a Host.
type listener struct {
	host    *Host
	at      netip.AddrPort
	forward *forward // instead of the queue; nil: none
	queue   chan *conn

	once  sync.Once
	cause error // why it ended; set before done is closed
	done  chan struct{}
}

// forward says where connections are led on to.
type forward struct {
	to   func(context.Context) (net.Conn, error)
	join func(client, server net.Conn)
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case <-l.done:
		return nil, l.ended()
	default:
	}
	select {
	case c := <-l.queue:
		if len(l.queue) == backlog-1 {
			n := l.host.network
			n.mu.Lock()
			n.wake() // dials that found the queue full
			n.mu.Unlock()
		}
		return c, nil
	case <-l.done:
		return nil, l.ended()
	}
}

func (l *listener) ended() error {
	return &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: l.cause}
}

func (l *listener) end(cause error) {
	l.once.Do(func() {
		l.cause = cause
		close(l.done)
	})
}

// Close implements net.Listener. Connections that nobody accepted are closed.
func (l *listener) Close() error {
	n := l.host.network
	n.mu.Lock()
	delete(l.host.listeners, l)
	n.mu.Unlock()
	l.end(net.ErrClosed)
	for {
		select {
		case c := <-l.queue:
			c.Close()
		default:
			return nil
		}
	}
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.at) }
