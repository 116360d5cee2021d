package ssh

import (
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// readBuffer is how much a tunnelled connection reads ahead.
const readBuffer = 16 << 10

// conn adds deadlines to a connection through a tunnel, which has none of its
// own (x/crypto/ssh answers "deadline not supported"). Reading goes through a
// goroutine that reads ahead one buffer; it ends with the channel.
type conn struct {
	net.Conn
	remote net.Addr

	readDeadline, writeDeadline deadline
	closed                      chan struct{}
	closeOnce                   sync.Once

	startPump sync.Once
	chunks    chan chunk    // what the pump has read
	consumed  chan struct{} // the pump may use its buffer again

	readMu  sync.Mutex
	rest    []byte // unread part of the last chunk
	readErr error  // what ended the reading

	writing  chan struct{} // holds a token while a write is under way
	writeMu  sync.Mutex
	writeErr error // a write that was given up leaves the stream undefined
}

type chunk struct {
	data []byte
	err  error
}

func newConn(inner net.Conn, addr string) *conn {
	c := &conn{
		Conn: inner, remote: tunnelAddr(addr),
		closed: make(chan struct{}), chunks: make(chan chunk), consumed: make(chan struct{}, 1),
		writing: make(chan struct{}, 1),
	}
	if ap, err := netip.ParseAddrPort(addr); err == nil {
		c.remote = net.TCPAddrFromAddrPort(ap)
	}
	return c
}

// tunnelAddr is an address that only the far side can resolve.
type tunnelAddr string

func (a tunnelAddr) Network() string { return "tcp" }
func (a tunnelAddr) String() string  { return string(a) }

// RemoteAddr is the address that was dialled.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// Read reads what there is. After its deadline it returns
// os.ErrDeadlineExceeded; nothing is lost, and reading may go on later.
func (c *conn) Read(p []byte) (int, error) {
	c.readMu.Lock()
	defer c.readMu.Unlock()
	expired := c.readDeadline.expired()
	select {
	case <-c.closed:
		return 0, net.ErrClosed
	case <-expired:
		return 0, os.ErrDeadlineExceeded
	default:
	}
	if len(c.rest) == 0 && c.readErr == nil {
		c.startPump.Do(func() { go c.pump() })
		select {
		case got := <-c.chunks:
			c.rest, c.readErr = got.data, got.err
		case <-expired:
			return 0, os.ErrDeadlineExceeded
		case <-c.closed:
			return 0, net.ErrClosed
		}
	}
	if len(c.rest) == 0 {
		return 0, c.readErr
	}
	n := copy(p, c.rest)
	if c.rest = c.rest[n:]; len(c.rest) == 0 && c.readErr == nil {
		c.consumed <- struct{}{} // has room: one buffer, one token
	}
	return n, nil
}

func (c *conn) pump() {
	buf := make([]byte, readBuffer)
	for {
		n, err := c.Conn.Read(buf)
		if n == 0 && err == nil {
			continue
		}
		select {
		case c.chunks <- chunk{buf[:n], err}:
		case <-c.closed:
			return
		}
		if err != nil {
			return
		}
		select {
		case <-c.consumed:
		case <-c.closed:
			return
		}
	}
}

// Write writes all of p. After its deadline it returns
// os.ErrDeadlineExceeded; how much has left is then unknown, and later writes
// fail.
func (c *conn) Write(p []byte) (int, error) {
	expired := c.writeDeadline.expired()
	select {
	case <-c.closed:
		return 0, net.ErrClosed
	case <-expired:
		return 0, os.ErrDeadlineExceeded
	default:
	}
	select {
	case c.writing <- struct{}{}:
	case <-expired:
		return 0, os.ErrDeadlineExceeded
	case <-c.closed:
		return 0, net.ErrClosed
	}
	if err := c.failedWrite(nil); err != nil {
		<-c.writing
		return 0, err
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	data := append([]byte(nil), p...) // p is the caller's again once we return
	go func() {
		n, err := c.Conn.Write(data)
		done <- result{n, err}
		<-c.writing
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-expired:
		return 0, c.failedWrite(os.ErrDeadlineExceeded)
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

// failedWrite keeps the first failure and gives it.
func (c *conn) failedWrite(err error) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	if c.writeErr == nil {
		c.writeErr = err
	}
	return c.writeErr
}

// CloseWrite tells the far side that nothing more comes.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close ends reads and writes at once.
func (c *conn) Close() error {
	err := net.ErrClosed
	c.closeOnce.Do(func() {
		close(c.closed)
		c.readDeadline.set(time.Time{})
		c.writeDeadline.set(time.Time{})
		err = c.Conn.Close()
	})
	return err
}

// SetDeadline, SetReadDeadline and SetWriteDeadline bound reads and writes,
// those under way too; the zero time takes the bound away.
func (c *conn) SetDeadline(t time.Time) error {
	return firstErr(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline bounds reads.
func (c *conn) SetReadDeadline(t time.Time) error { return c.setDeadline(&c.readDeadline, t) }

// SetWriteDeadline bounds writes.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(&c.writeDeadline, t) }

func (c *conn) setDeadline(d *deadline, t time.Time) error {
	select {
	case <-c.closed:
		return net.ErrClosed
	default:
	}
	d.set(t)
	return nil
}

func firstErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// deadline is a point in time whose passing closes a channel, and that can be
// moved while somebody waits.
type deadline struct {
	mu     sync.Mutex
	timer  *time.Timer
	passed chan struct{} // closed when the deadline has passed
}

// expired gives the channel that is closed when the deadline passes.
func (d *deadline) expired() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.passed == nil {
		d.passed = make(chan struct{})
	}
	return d.passed
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() && d.passed != nil {
		<-d.passed // the timer has fired: wait until it has closed the channel
	}
	d.timer = nil
	closed := false
	select {
	case <-d.passed:
		closed = true
	default:
	}
	if d.passed == nil || closed {
		d.passed = make(chan struct{})
	}
	if t.IsZero() {
		return
	}
	passed := d.passed
	if left := time.Until(t); left > 0 {
		d.timer = time.AfterFunc(left, func() { close(passed) })
		return
	}
	close(passed)
}
