package ssh

import (
	"io"
	"net"
)

// conn adds deadlines to a connection through a tunnel, which has none of its
// own (x/crypto/ssh answers "deadline not supported"): a pipe stands between, and
// its errors are those of net.Pipe. Written bytes may still be on their way through it.
type conn struct {
	net.Conn // our end of the pipe
	inner    net.Conn
	remote   tunnelAddr
}

func newConn(inner net.Conn, addr string) *conn {
	c := &conn{inner: inner, remote: tunnelAddr(addr)}
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

// tunnelAddr is an address as it was dialled; a name only the far side can resolve.
type tunnelAddr string

func (a tunnelAddr) Network() string { return "tcp" }
func (a tunnelAddr) String() string  { return string(a) }

// RemoteAddr is the address that was dialled.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// Close ends reads and writes at once.
func (c *conn) Close() error {
	c.Conn.Close()
	return c.inner.Close()
}
