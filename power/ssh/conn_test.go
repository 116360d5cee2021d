package ssh

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// tunnel gives a connection through a real sshd to a server that serve runs.
func tunnel(t *testing.T, serve func(net.Conn)) net.Conn {
	t.Helper()
	key := newKey(t, "id", "")
	s := startSSHD(t, key.authorized, nil)
	c := newClient(t, Options{Bastion: me(t) + "@" + s.addr, IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, s)}})
	conn, err := c.DialContext(soon(t), "tcp", tcpServer(t, serve))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestATunnelledConnectionKeepsReadDeadlinesAndLosesNothing(t *testing.T) {
	t.Parallel()
	send := make(chan string)
	defer close(send)
	conn := tunnel(t, func(c net.Conn) {
		for s := range send {
			io.WriteString(c, s)
		}
	})
	if conn.RemoteAddr().String() == "0.0.0.0:0" {
		t.Errorf("the remote address is %s", conn.RemoteAddr())
	}
	read := func(deadline time.Time) (string, error) {
		if err := conn.SetReadDeadline(deadline); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 4)
		n, err := conn.Read(buf)
		return string(buf[:n]), err
	}
	for _, deadline := range []time.Time{time.Now().Add(20 * time.Millisecond), time.Now().Add(-time.Hour)} {
		_, err := read(deadline)
		var timeout net.Error
		if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Fatalf("got %v", err)
		}
	}
	send <- "one two "
	for _, want := range []string{"one ", "two "} {
		if got, err := read(time.Time{}); err != nil || got != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
	// A deadline that is set while somebody reads ends that read.
	result := make(chan error)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		result <- err
	}()
	if err := conn.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := <-result; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	send <- "three"
	if got, err := read(time.Now().Add(patience)); err != nil || got != "thre" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestClosingEndsReadsAndWrites(t *testing.T) {
	t.Parallel()
	conn := tunnel(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	result := make(chan error)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		result <- err
	}()
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := <-result; err == nil {
		t.Error("a read went on")
	}
	if _, err := conn.Write([]byte("x")); err == nil {
		t.Errorf("a write: %v", err)
	}
	if err := conn.SetDeadline(time.Now()); err == nil {
		t.Errorf("a deadline: %v", err)
	}
}
