package network

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const soon = 10 * time.Second // a bound for what happens at once

// pair returns the two ends of a connection from a (10.0.0.1) to b (10.0.0.2).
func pair(t *testing.T) (a, b *Host, near, far net.Conn) {
	t.Helper()
	n := New()
	a, b = n.AddHost("a", "10.0.0.1"), n.AddHost("b", "10.0.0.2")
	l, err := b.Listen(":80")
	if err != nil {
		t.Fatal(err)
	}
	near, err = a.DialContext(t.Context(), "tcp", "10.0.0.2:80")
	if err != nil {
		t.Fatal(err)
	}
	far, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close(); l.Close() })
	return a, b, near, far
}

func TestBytesArriveInOrderBothWays(t *testing.T) {
	_, _, near, far := pair(t)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB, more than the window
	var wg sync.WaitGroup
	for _, ends := range [][2]net.Conn{{near, far}, {far, near}} {
		wg.Go(func() {
			ends[0].Write(sent)
			ends[0].(interface{ CloseWrite() error }).CloseWrite()
		})
		wg.Go(func() {
			got, err := io.ReadAll(ends[1])
			if err != nil || !bytes.Equal(got, sent) {
				t.Errorf("read %d bytes, error %v; want the %d that were sent", len(got), err, len(sent))
			}
		})
	}
	wg.Wait()
	if got := near.RemoteAddr().String(); got != "10.0.0.2:80" {
		t.Errorf("remote address %s", got)
	}
	if got := far.RemoteAddr().String(); got != near.LocalAddr().String() || !strings.HasPrefix(got, "10.0.0.1:") {
		t.Errorf("the far end sees %s, the near end is %s", got, near.LocalAddr())
	}
}

func TestCloseIsSeenByThePeer(t *testing.T) {
	_, _, near, far := pair(t)
	far.Write([]byte("last words"))
	far.Close()
	got, err := io.ReadAll(near)
	if string(got) != "last words" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := near.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("write to a closed peer: %v", err)
	}
	if _, err := far.Read(nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read after Close: %v", err)
	}
}

func TestDialRefusedUnreachableAndSilent(t *testing.T) {
	n := New()
	a, b := n.AddHost("a", "10.0.0.1"), n.AddHost("b", "10.0.0.2")
	if _, err := a.DialContext(t.Context(), "tcp", "10.0.0.2:81"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("nobody listens: %v", err)
	}
	if _, err := a.DialContext(t.Context(), "tcp", "10.0.0.99:81"); !errors.Is(err, syscall.EHOSTUNREACH) {
		t.Errorf("no such address: %v", err)
	}
	b.Cut()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.DialContext(ctx, "tcp", "10.0.0.2:80"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dial to a silent host: %v", err)
	}
	if _, err := b.DialContext(t.Context(), "tcp", "10.0.0.1:80"); !errors.Is(err, ErrPowerCut) {
		t.Errorf("dial from a silent host: %v", err)
	}
	// A dial that hangs goes through when the host comes back and listens.
	l, err := a.Listen("10.0.0.1:9000")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a.Cut()
	b.Boot()
	done := make(chan error, 1)
	go func() {
		_, err := b.DialContext(t.Context(), "tcp", "a:9000")
		done <- err
	}()
	a.Boot()
	if err := <-done; !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the old listener must be gone after a boot: %v", err)
	}
}

func TestPowerCutFreezesConnections(t *testing.T) {
	_, b, near, far := pair(t)
	far.Write([]byte("before"))
	b.Cut()

	if _, err := far.Read(make([]byte, 1)); !errors.Is(err, ErrPowerCut) {
		t.Errorf("read on the dead side: %v", err)
	}
	far.Close() // must not be seen by the peer

	buf := make([]byte, 16)
	if n, err := near.Read(buf); string(buf[:n]) != "before" || err != nil {
		t.Errorf("what had arrived: %q, %v", buf[:n], err)
	}
	if n, err := near.Write(make([]byte, window)); n != window || err != nil {
		t.Errorf("writes are swallowed up to the window: %d, %v", n, err)
	}
	near.SetDeadline(time.Now().Add(30 * time.Millisecond))
	if _, err := near.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read from a dead host: %v", err)
	}
	if _, err := near.Write(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("write beyond the window: %v", err)
	}
	near.SetDeadline(time.Time{})
	done := make(chan error, 1)
	go func() { _, err := near.Read(buf); done <- err }()
	near.Close()
	if err := within(t, done); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Close must release a blocked read: %v", err)
	}
}

// A program on the host closes every connection when it fails on one of them. The peers
// of the others must not see that after a power cut.
func TestAPowerCutIsNotSeenThroughAnotherConnection(t *testing.T) {
	n := New()
	a, b := n.AddHost("a", "10.0.0.1"), n.AddHost("b", "10.0.0.2")
	l, err := b.Listen(":80")
	if err != nil {
		t.Fatal(err)
	}
	var near, far []net.Conn
	for range 200 {
		c, err := a.DialContext(t.Context(), "tcp", "10.0.0.2:80")
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		near, far = append(near, c), append(far, accepted)
	}
	closeAll := func() {
		for _, c := range far {
			c.Close()
		}
	}
	var program sync.WaitGroup
	program.Go(func() {
		l.Accept()
		closeAll()
	})
	for _, c := range far {
		program.Go(func() {
			c.Read(make([]byte, 1))
			closeAll()
		})
	}
	b.Cut()
	program.Wait()
	for i, c := range near {
		if end := c.(*conn); end.finIn || end.err != nil {
			t.Fatalf("the peer of connection %d sees its end (%v)", i, end.err)
		}
		c.Close()
	}
}

func TestABootResetsUnansweredConnections(t *testing.T) {
	_, b, near, _ := pair(t)
	done := make(chan error, 1)
	go func() { _, err := near.Read(make([]byte, 1)); done <- err }()
	b.Cut()
	near.Write([]byte("anybody there?"))
	b.Boot()
	if err := within(t, done); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read: %v", err)
	}
}

func TestBootResetsAtTheNextWrite(t *testing.T) {
	_, b, near, _ := pair(t)
	b.Cut()
	b.Boot()
	if _, err := near.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("write: %v", err)
	}
	if !b.Up() {
		t.Error("booted host is not up")
	}
}

func TestHaltClosesAndThenIsSilent(t *testing.T) {
	a, b, near, far := pair(t)
	b.Halt()
	if _, err := near.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the peer of a halted host reads %v, want EOF", err)
	}
	if _, err := far.Read(make([]byte, 1)); err == nil {
		t.Error("read on a halted host")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := a.DialContext(ctx, "tcp", "10.0.0.2:80"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dial to a halted host: %v", err)
	}
}

func TestPodAddressesComeAndGo(t *testing.T) {
	n := New()
	a, b := n.AddHost("a", "10.0.0.1"), n.AddHost("b", "10.0.0.2")
	if _, err := b.Listen("10.244.1.1:8080"); !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("listen on an address of nobody: %v", err)
	}
	b.AddIP("10.244.1.1")
	l, err := b.Listen("10.244.1.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Listen("10.244.1.1:8080"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("listen twice: %v", err)
	}
	c, err := a.DialContext(t.Context(), "tcp", "10.244.1.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	b.RemoveIP("10.244.1.1")
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept on a removed address: %v", err)
	}
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("connection to a removed address: %v", err)
	}
	b.AddIP("10.244.1.2")
	b.Cut()
	b.Boot()
	if _, err := b.Listen("10.244.1.2:8080"); !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("a pod's address must be gone after a boot: %v", err)
	}
	if _, err := b.Listen("10.0.0.2:8080"); err != nil {
		t.Errorf("the host's own address must stay: %v", err)
	}
}

// A host off the network runs on. What was sent meanwhile arrives when it is back, the
// end of a stream too.
func TestADetachedHostIsUnheardAndRunsOn(t *testing.T) {
	a, b, near, far := pair(t)
	own, err := b.Listen("10.0.0.2:81")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	near.Write([]byte("before "))
	b.Detach()
	near.Write([]byte("meanwhile"))
	near.(interface{ CloseWrite() error }).CloseWrite()
	far.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if got, err := io.ReadAll(far); string(got) != "before " || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("detached, it read %q, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := a.DialContext(ctx, "tcp", "10.0.0.2:81"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a dial to it: %v", err)
	}
	if c, err := b.DialContext(t.Context(), "tcp", "10.0.0.2:81"); err != nil || !b.Up() {
		t.Errorf("a dial to itself: %v", err)
	} else {
		c.Close()
	}
	dialled := make(chan error, 1)
	go func() {
		c, err := b.DialContext(t.Context(), "tcp", "10.0.0.1:80")
		if err == nil {
			c.Close()
		}
		dialled <- err
	}()
	b.Attach()
	if err := within(t, dialled); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a dial from it, back on the network: %v", err)
	}
	far.SetReadDeadline(time.Time{})
	if got, err := io.ReadAll(far); string(got) != "meanwhile" || err != nil {
		t.Errorf("back on the network, it read %q, %v", got, err)
	}
	if _, err := far.Write([]byte("answer")); err != nil {
		t.Error(err)
	}
}

func TestCutReleasesAccept(t *testing.T) {
	n := New()
	b := n.AddHost("b", "10.0.0.2")
	l, _ := b.Listen(":22")
	done := make(chan error, 1)
	go func() { _, err := l.Accept(); done <- err }()
	b.Cut()
	if err := within(t, done); !errors.Is(err, ErrPowerCut) {
		t.Errorf("accept: %v", err)
	}
}

func within(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(soon):
		t.Fatal("still blocked")
		return nil
	}
}
