package ssh

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

// conn adds deadlines to a connection through a tunnel, which has none of its
// own (x/crypto/ssh answers "deadline not supported"): a pipe stands between.
// Written bytes may still be on their way through the pipe.
type conn struct {
	net.Conn // our end of the pipe
	inner    net.Conn
	remote   net.Addr
	closed   atomic.Bool
}

func newConn(inner net.Conn, addr string) *conn {
	c := &conn{inner: inner, remote: tunnelAddr(addr)}
	if ap, err := netip.ParseAddrPort(addr); err == nil {
		c.remote = net.TCPAddrFromAddrPort(ap)
	}
	var far net.Conn
	c.Conn, far = net.Pipe()
	pump := func(to, from net.Conn) {
		defer far.Close()
		_, _ = io.Copy(to, from)
	}
	go pump(far, inner)
	go pump(inner, far)
	return c
}

// tunnelAddr is an address that only the far side can resolve.
type tunnelAddr string

func (a tunnelAddr) Network() string { return "tcp" }
func (a tunnelAddr) String() string  { return string(a) }

// RemoteAddr is the address that was dialled.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// Read reads what there is. After its deadline it returns
// os.ErrDeadlineExceeded; nothing is lost, and reading may go on later.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.explain(err, io.EOF)
}

// Write writes all of p, or what fits until its deadline, which it ends with
// os.ErrDeadlineExceeded.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.explain(err, io.EOF)
}

// explain distinguishes our own end of the connection from that of the other side, for
// which it returns ended.
func (c *conn) explain(err, ended error) error {
	switch {
	case !errors.Is(err, io.ErrClosedPipe):
		return err
	case c.closed.Load():
		return net.ErrClosed
	}
	return ended
}

// Close ends reads and writes at once.
func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	c.Conn.Close()
	return c.inner.Close()
}

// SetDeadline bounds reads and writes, those under way too; the zero time takes the bound
// away. Reading and writing tell whether the other side has ended.
func (c *conn) SetDeadline(t time.Time) error { return c.explain(c.Conn.SetDeadline(t), nil) }

// SetReadDeadline bounds reads.
func (c *conn) SetReadDeadline(t time.Time) error { return c.explain(c.Conn.SetReadDeadline(t), nil) }

// SetWriteDeadline bounds writes.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.explain(c.Conn.SetWriteDeadline(t), nil) }
