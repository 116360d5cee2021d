package cli

import (
	"io"
	"os"
	"sync"
	"time"
)

// outputWait bounds how long a command waits, at its end, for a terminal that accepts no
// output.
const outputWait = 10 * time.Second

// queueOutput lets a command go on while its standard output is stalled: the operator
// pressed Ctrl-S, the ssh connection hangs, nobody reads the pipe. Until flush, what
// is written to os.Stdout goes through a pipe into a queue without a bound. Nothing else in
// the program may write to os.Stdout while queueOutput or flush runs.
func queueOutput() (flush func()) {
	in, out, err := os.Pipe()
	if err != nil {
		return func() {} // without a queue
	}
	real := os.Stdout
	os.Stdout = out
	q := &outputQueue{added: make(chan struct{}, 1)}
	go q.fill(in)
	written := make(chan struct{})
	go func() {
		defer close(written)
		q.empty(real)
	}()
	return func() {
		os.Stdout = real
		out.Close()
		select {
		case <-written:
		case <-time.After(outputWait):
		}
	}
}

// outputQueue holds the output that is still to be written.
type outputQueue struct {
	added chan struct{} // something was added, or the end has come

	mu    sync.Mutex
	data  []byte
	ended bool
}

// fill adds all that it reads.
func (q *outputQueue) fill(from *os.File) {
	defer from.Close()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		q.mu.Lock()
		q.data, q.ended = append(q.data, buf[:n]...), err != nil
		q.mu.Unlock()
		select {
		case q.added <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// empty writes all that is added, until the end.
func (q *outputQueue) empty(to io.Writer) {
	for range q.added {
		q.mu.Lock()
		data, ended := q.data, q.ended
		q.data = nil
		q.mu.Unlock()
		_, _ = to.Write(data) // a closed terminal stops no restore
		if ended {
			return
		}
	}
}
