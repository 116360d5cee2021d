package process

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"

	"lightsout/cluster/lab/network"
)

// dialWithin bounds a connection attempt; the caller usually gives up earlier.
const dialWithin = 10 * time.Second

type dial func(ctx context.Context, network, addr string) (net.Conn, error)

// loopback listens on a port of this computer until ctx ends, and passes each
// connection to serve.
func loopback(ctx context.Context, serve func(net.Conn)) (addr string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String(), nil
}

// pass connects a client to addr.
func pass(ctx context.Context, to dial, client net.Conn, addr string) {
	bounded, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	server, err := to(bounded, "tcp", addr)
	if err != nil {
		client.Close()
		return
	}
	network.Splice(ctx, client, server)
}

// Reply codes of a SOCKS5 server (RFC 1928, section 6).
const (
	socksOK          = 0
	socksFailed      = 1
	socksUnreachable = 4
	socksRefused     = 5
)

// socks serves one SOCKS5 client: CONNECT without a password.
func socks(ctx context.Context, to dial, c net.Conn) {
	c.SetDeadline(time.Now().Add(dialWithin))
	r := bufio.NewReader(c)
	addr, err := socksRequest(r, c)
	if err != nil {
		c.Close()
		return
	}
	bounded, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	server, err := to(bounded, "tcp", addr)
	code := byte(socksFailed)
	switch {
	case err == nil:
		code = socksOK
	case errors.Is(err, syscall.ECONNREFUSED):
		code = socksRefused
	case errors.Is(err, syscall.EHOSTUNREACH):
		code = socksUnreachable
	}
	if _, werr := c.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0}); err != nil || werr != nil {
		c.Close()
		if server != nil {
			server.Close()
		}
		return
	}
	c.SetDeadline(time.Time{})
	network.Splice(ctx, c, server) // the client speaks only after the answer, so r holds nothing
}

// socksRequest reads the address to which a client wants to connect.
func socksRequest(r *bufio.Reader, w io.Writer) (addr string, err error) {
	next := func(n int) []byte {
		b := make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(r, b)
		}
		return b
	}
	next(int(next(2)[1])) // the authentication methods
	if err == nil {
		_, err = w.Write([]byte{5, 0})
	}
	var host string
	switch next(4)[3] {
	case 1:
		host = net.IP(next(4)).String()
	case 3:
		host = string(next(int(next(1)[0])))
	case 4:
		host = net.IP(next(16)).String()
	}
	port := binary.BigEndian.Uint16(next(2))
	return net.JoinHostPort(host, strconv.Itoa(int(port))), err
}
