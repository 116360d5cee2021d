package cli

import (
	"context"
	"io"
	"math"
	"os"
	"sync"
	"time"
)

// outputWait bounds how long a command waits, at its end, for a terminal that accepts no
// output.
const outputWait = 10 * time.Second

// queuedOutput lets a command go on while its standard output is stalled: the operator
// pressed Ctrl-S, the ssh connection hangs, nobody reads the pipe. Writes to os.Stdout go
// through a pipe into a queue without a bound. Nothing else in the program may write to
// os.Stdout during a call of its methods.
type queuedOutput struct {
	real, pipe *os.File
	written    chan struct{} // closed when the queue is flushed
}

// queueOutput starts to queue the writes to os.Stdout.
func queueOutput() *queuedOutput {
	q := &queuedOutput{real: os.Stdout}
	q.begin()
	return q
}

func (o *queuedOutput) begin() {
	in, out, err := os.Pipe()
	if err != nil {
		return // without a queue
	}
	q := &outputQueue{added: make(chan struct{}, 1)}
	written := make(chan struct{})
	o.pipe, o.written = out, written
	os.Stdout = out
	go q.fill(in)
	go func() {
		defer close(written)
		q.empty(o.real)
	}()
}

// end flushes the queue, and stops waiting for that after wait or when ctx ends.
func (o *queuedOutput) end(ctx context.Context, wait time.Duration) {
	if o.pipe == nil {
		return
	}
	os.Stdout = o.real
	o.pipe.Close()
	o.pipe = nil
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	select {
	case <-o.written:
	case <-ctx.Done():
	}
}

// directly flushes the queue, however long that takes. Until resume, writes bypass the queue:
// an answer counts only if the operator can have seen the question.
func (o *queuedOutput) directly(ctx context.Context) (resume func()) {
	o.end(ctx, math.MaxInt64)
	return o.begin
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
