package cli

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	// screenBytes is how much a second a stream of frames may write to the
	// terminal, so that a thin ssh line carries it; screenBurst comes at once,
	// as whole screens do.
	screenBytes = 4 << 10
	screenBurst = 32 << 10
	// oldestFrame is how long a frame waits for that at most.
	oldestFrame = time.Second
)

// budget holds frames back that would write more than the terminal's line is
// given. Keys are not held back: the screen answers them by itself.
type budget struct {
	limit   *rate.Limiter
	written atomic.Int64 // since the last frame
}

func newBudget() *budget {
	return &budget{limit: rate.NewLimiter(screenBytes, screenBurst)}
}

// output is the terminal, counted.
func (b *budget) output(tty *os.File) *countedFile { return &countedFile{tty, &b.written} }

// countedFile counts what is written to a file.
type countedFile struct {
	*os.File
	written *atomic.Int64
}

// Write writes p, and counts it.
func (f *countedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.written.Add(int64(n))
	return n, err
}

// wait waits until what was written since the last call is paid for, or ctx ends.
func (b *budget) wait(ctx context.Context) {
	r := b.limit.ReserveN(time.Now(), min(int(b.written.Swap(0)), screenBurst))
	hold := r.Delay()
	if hold > oldestFrame {
		hold = oldestFrame
		r.Cancel() // no debt for later
	}
	timer := time.NewTimer(hold)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
