package cluster

import (
	"net"
	"sync"
	"time"
)

const (
	// readEvery is the interval at which lightsout reads from a paced connection under
	// much traffic. Data that arrives this much later proves no silence: see
	// overdueShare.
	readEvery = 250 * time.Millisecond
	// readFreely is how long after it was opened it is not paced yet: it carries
	// the list.
	readFreely = 5 * time.Second
)

// pacedConn is a connection that lightsout reads at intervals. Each read wakes half a dozen
// threads and goroutines, which on an idle machine costs ten times as much as the
// heartbeat itself. Meanwhile the kernel keeps the data; after a pause it is read at
// once.
type pacedConn struct {
	net.Conn
	opened  time.Time
	emptied time.Time // when there was no more to read: the reader's own
	closed  chan struct{}
	once    sync.Once
}

// Read reads the available data, readEvery after the last complete read.
func (c *pacedConn) Read(p []byte) (int, error) {
	if pause := readEvery - time.Since(c.emptied); pause > 0 && time.Since(c.opened) > readFreely {
		select {
		case <-c.closed:
		case <-time.After(pause):
		}
	}
	n, err := c.Conn.Read(p)
	if n < len(p) {
		c.emptied = time.Now()
	}
	return n, err
}

// Close ends a pause, too.
func (c *pacedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
