package cluster

import (
	"net"
	"sync/atomic"
	"syscall"
)

// brokenConn is a connection whose writes fail once broken is set.
type brokenConn struct {
	net.Conn
	broken *atomic.Bool
}

func (c brokenConn) Write(b []byte) (int, error) {
	if c.broken.Load() {
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	}
	return c.Conn.Write(b)
}
