package main

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
)

type dialer func() (net.Conn, error)

func (d dialer) DialContext(context.Context, string, string) (net.Conn, error) { return d() }

// An attempt that ends by the deadline of its connection, before its context has ended, is
// followed by another one: a request must not fail because this machine is busy.
func TestALateConnectionIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		attempts int
	}{
		"late":    {&net.OpError{Op: "socks connect", Err: os.ErrDeadlineExceeded}, 3},
		"refused": {&net.OpError{Op: "socks connect", Err: errors.New("connection refused")}, 1},
	} {
		attempts := 0
		conn, err := patient(dialer(func() (net.Conn, error) {
			if attempts++; attempts == 3 {
				return &net.TCPConn{}, nil
			}
			return nil, c.err
		}))(t.Context(), "tcp", "10.244.1.2:8012")
		if attempts != c.attempts || (err == nil) != (conn != nil) || (err == nil) != (c.attempts == 3) {
			t.Errorf("%s: %d attempts, %v", name, attempts, err)
		}
	}
}
