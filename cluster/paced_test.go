package cluster

import (
	"bytes"
	"net"
	"sync"
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
