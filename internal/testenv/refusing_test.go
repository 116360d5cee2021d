package testenv

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

func TestRefusingKeepsItsPort(t *testing.T) {
	addr := Refusing(t)
	if c, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a connection to %s: %v, %v", addr, c, err)
	}
	if l, err := net.Listen("tcp", addr); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a listener on %s: %v, %v", addr, l, err)
	}
}
