package controlplane

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// port is a loopback TCP port that this process keeps for the API server. It
// is bound with SO_REUSEPORT and never listens: the API server, which runs
// under the same user and shares the port, gets every connection, and no
// other program can take the port, also while the API server is down.
type port struct {
	number int
	socket int
}

func reservePort() (*port, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reserve a loopback port for the API server: %w", err)
	}
	p := &port{socket: fd}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	var at unix.Sockaddr
	if err == nil {
		at, err = unix.Getsockname(fd)
	}
	if err != nil {
		p.release()
		return nil, fmt.Errorf("reserve a loopback port for the API server: %w", err)
	}
	if at, ok := at.(*unix.SockaddrInet4); ok {
		p.number = at.Port
	}
	return p, nil
}

func (p *port) release() { unix.Close(p.socket) }
