package cluster

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// kernelConn keeps what has come until it is read.
type kernelConn struct {
	net.Conn
	mu   sync.Mutex
	kept bytes.Buffer
	news chan struct{}
}

func (c *kernelConn) receive(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.WriteString(text)
	select {
	case c.news <- struct{}{}:
	default:
	}
}

func (c *kernelConn) Read(p []byte) (int, error) {
	for {
		c.mu.Lock()
		n, _ := c.kept.Read(p)
		c.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		if _, more := <-c.news; !more {
			return 0, net.ErrClosed
		}
	}
}

func (c *kernelConn) Close() error {
	close(c.news)
	return nil
}

func TestAStreamOfHeartbeatsIsReadAtAPaceAndALoneOneAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kernel := &kernelConn{news: make(chan struct{}, 1)}
		c := paced(kernel)
		reads := make(chan string, 1000)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for p := make([]byte, 100); ; {
				n, err := c.Read(p)
				if err != nil {
					return
				}
				reads <- string(p[:n])
			}
		}()
		got := func() string { synctest.Wait(); return <-reads }
		for range 10 { // the list
			kernel.receive("list")
			if got() != "list" {
				t.Error("the list is not read at once")
			}
		}
		time.Sleep(readFreely)
		for range 3 {
			kernel.receive("lone")
			if got() != "lone" {
				t.Error("a lone heartbeat is not read at once")
			}
			time.Sleep(time.Second)
		}
		for range 1000 {
			kernel.receive("a")
			time.Sleep(10 * time.Millisecond)
		}
		if n := len(reads); n < 38 || n > 42 {
			t.Errorf("a stream of 10 s is read %d times", n)
		}
		for range 50 { // a pause is on
			kernel.receive(strings.Repeat("b", 10))
		}
		time.Sleep(readEvery)
		before := time.Now()
		c.Close()
		if <-ended; time.Since(before) != 0 {
			t.Errorf("a pause goes on for %v after Close", time.Since(before))
		}
	})
}
