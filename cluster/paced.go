package cluster

import (
	"net"
	"sync"
	"time"
)

const (
	// readEvery is how often a paced connection is read from while much comes. What
	// is seen so much later is no reason to conclude silence: see overdueShare.
	readEvery = 250 * time.Millisecond
	// readFreely is how long after it was opened it is not paced yet: it carries
	// the list.
	readFreely = 5 * time.Second
)

// paced is a connection that is read from at a pace. Each read wakes half a dozen
// threads and goroutines, which on a machine at rest costs ten times what the
// heartbeat does that has come. What comes meanwhile the kernel keeps; what comes
// after a pause is read at once.
func paced(c net.Conn) net.Conn {
	return &pacedConn{Conn: c, opened: time.Now(), closed: make(chan struct{})}
}

type pacedConn struct {
	net.Conn
	opened  time.Time
	emptied time.Time // when there was no more to read: the reader's own
	closed  chan struct{}
	once    sync.Once
}

// Read reads what is there, readEvery after everything was read last.
func (c *pacedConn) Read(p []byte) (int, error) {
	if pause := readEvery - time.Since(c.emptied); pause > 0 && time.Since(c.opened) > readFreely {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-c.closed:
		case <-timer.C:
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
