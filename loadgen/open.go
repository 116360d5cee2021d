package loadgen

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// open reports whether an idle connection can be used: the other side has
// neither closed nor reset it, nor sent anything unasked. Of connections that
// are no sockets nothing is known.
func open(c net.Conn) bool {
	s, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	usable := false
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		usable = err == unix.EAGAIN
		return true
	})
	return err == nil && usable
}
