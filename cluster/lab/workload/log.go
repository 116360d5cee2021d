package workload

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// silent is where net/http's complaints about connections go: in the lab
// broken connections are the point.
var silent = log.New(io.Discard, "", 0)

// mostLog bounds the bytes of one log, longestLine one line of it.
const (
	mostLog     = 256 << 10
	longestLine = 16 << 10
)

// Line is one line of a log: when the container wrote it, and what.
type Line struct {
	At   time.Time
	Text string
}

// Log is what one instance of a container has written. Old lines give way to new ones.
// It is an io.Writer, and safe for use by several goroutines at once. The zero Log is
// empty.
type Log struct {
	mu      sync.Mutex
	lines   []Line
	dropped int // lines that gave way
	bytes   int
	part    []byte // of a line that has no end yet
	ended   bool
	waiting chan struct{} // closed at the next change; nil: nobody waits
}

// Write implements io.Writer. It never fails, and drops what comes after End.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return len(p), nil
	}
	at := time.Now()
	l.part = append(l.part, p...)
	for {
		i := bytes.IndexByte(l.part, '\n')
		if i < 0 && len(l.part) < longestLine {
			break
		}
		end := i + 1
		if i < 0 || i > longestLine {
			i, end = longestLine, longestLine
		}
		l.add(Line{at, string(l.part[:i])})
		l.part = l.part[end:]
	}
	l.wake()
	return len(p), nil
}

func (l *Log) add(line Line) {
	l.lines = append(l.lines, line)
	l.bytes += len(line.Text) + 1
	for l.bytes > mostLog && len(l.lines) > 1 {
		l.bytes -= len(l.lines[0].Text) + 1
		l.lines = l.lines[1:]
		l.dropped++
	}
}

func (l *Log) wake() {
	if l.waiting != nil {
		close(l.waiting)
		l.waiting = nil
	}
}

// End ends the log: its container writes no more.
func (l *Log) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.add(Line{time.Now(), string(l.part)})
	}
	l.part, l.ended = nil, true
	l.wake()
}

// From returns the lines from number n on, counted from the first that was ever
// written, and the number of the next one. more is closed when there is more to read;
// it is nil after the end.
func (l *Log) From(n int) (lines []Line, next int, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines = append(lines, l.lines[min(max(0, n-l.dropped), len(l.lines)):]...)
	next = l.dropped + len(l.lines)
	if l.ended {
		return lines, next, nil
	}
	if l.waiting == nil {
		l.waiting = make(chan struct{})
	}
	return lines, next, l.waiting
}

// Output is where the container writes its log. What it writes without power is lost.
func (in Instance) Output() io.Writer { return output{in} }

type output struct{ Instance }

// Write implements io.Writer.
func (o output) Write(p []byte) (int, error) {
	if o.Log == nil || o.Host != nil && !o.Host.Up() {
		return len(p), nil
	}
	return o.Log.Write(p)
}

// printf writes a line into the container's log.
func (in Instance) printf(format string, args ...any) {
	fmt.Fprintf(in.Output(), format+"\n", args...)
}

// answered describes one answer of a server for its access log.
type answered struct {
	*http.Request
	status int // 0: the client went away before there was one
	bytes  int
}

// client is the address of the client, without its port.
func (a answered) client() string {
	host, _, _ := net.SplitHostPort(a.RemoteAddr)
	return host
}

// logged calls access after each answer of h.
func logged(h http.Handler, access func(answered)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &counting{ResponseWriter: w}
		h.ServeHTTP(c, r)
		access(answered{r, c.status, c.bytes})
	})
}

// counting notes what passes through a ResponseWriter.
type counting struct {
	http.ResponseWriter
	status, bytes int
}

// Unwrap leads http.ResponseController to what it needs.
func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (c *counting) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (c *counting) Write(p []byte) (int, error) {
	c.status = cmp.Or(c.status, http.StatusOK)
	n, err := c.ResponseWriter.Write(p)
	c.bytes += n
	return n, err
}
