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
// own (x/crypto/ssh answers "deadline not supported"): a pipe stands between, one
// for each direction, as each may end by itself. Written bytes may still be on
// their way through the pipe.
type conn struct {
	net.Conn
	remote  net.Addr
	in, out net.Conn // our ends of the pipes
	closed  atomic.Bool
}

func newConn(inner net.Conn, addr string) *conn {
	c := &conn{Conn: inner, remote: tunnelAddr(addr)}
	if ap, err := netip.ParseAddrPort(addr); err == nil {
		c.remote = net.TCPAddrFromAddrPort(ap)
	}
	var came, goes net.Conn
	c.in, came = net.Pipe()
	c.out, goes = net.Pipe()
	go func() {
		defer came.Close()
		_, _ = io.Copy(came, inner)
	}()
	go func() {
		defer goes.Close()
		if _, err := io.Copy(inner, goes); err != nil {
			return
		}
		if half, ok := inner.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
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
	n, err := c.in.Read(p)
	return n, c.explain(err)
}

// Write writes all of p, or what fits until its deadline, which it ends with
// os.ErrDeadlineExceeded.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.out.Write(p)
	return n, c.explain(err)
}

// explain distinguishes errors of our own end of the connection from those of the other
// side.
func (c *conn) explain(err error) error {
	switch {
	case !errors.Is(err, io.ErrClosedPipe):
		return err
	case c.closed.Load():
		return net.ErrClosed
	}
	return io.EOF
}

// CloseWrite tells the far side that no more data comes.
func (c *conn) CloseWrite() error { return c.out.Close() }

// Close ends reads and writes at once.
func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	c.in.Close()
	c.out.Close()
	return c.Conn.Close()
}

// SetDeadline, SetReadDeadline and SetWriteDeadline bound reads and writes,
// those under way too; the zero time takes the bound away.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline bounds reads.
func (c *conn) SetReadDeadline(t time.Time) error { return c.open(c.in.SetReadDeadline(t)) }

// SetWriteDeadline bounds writes.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.open(c.out.SetWriteDeadline(t)) }

// open is the error of setting a deadline: none where only the other side has
// ended, which reading and writing tell.
func (c *conn) open(err error) error {
	if c.closed.Load() {
		return net.ErrClosed
	}
	if errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}
