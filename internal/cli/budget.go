package cli

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
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
	// drawnWithin is when a frame that was handed out has been written.
	drawnWithin = 10 * time.Millisecond
	// givenUp is how long an answer of the terminal is waited for at most.
	givenUp = 15 * time.Second
)

// Device status: each terminal answers the question with the answer once it has
// shown what came before it (ECMA-48, DSR).
const (
	question = "\x1b[5n"
	answer   = uv.UnknownCsiEvent("\x1b[0n")
)

// budget holds frames back that would write more than the terminal's line is
// given, or that the terminal would get only after what it has not shown yet: on
// a line that does not drain frames are left out, never queued. Keys are not held
// back: the screen answers them by itself.
type budget struct {
	limit   *rate.Limiter
	written atomic.Int64  // since the last frame
	answers atomic.Bool   // the terminal is one that answers
	quiet   atomic.Bool   // the terminal is given away: what it answers is the shell's
	news    chan struct{} // an answer has come

	asked atomic.Int64 // questions that are on their way
}

func newBudget() *budget {
	return &budget{limit: rate.NewLimiter(screenBytes, screenBurst), news: make(chan struct{}, 1)}
}

// output is the terminal, counted and asked.
func (b *budget) output(tty *os.File) *countedFile { return &countedFile{tty, b} }

// countedFile counts what is written to a terminal, and asks it when that has been
// shown. It is used by one goroutine.
type countedFile struct {
	*os.File
	b *budget
}

// Write writes p, and counts it. A question follows, but to a terminal that has
// not answered one yet no second.
func (f *countedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.b.written.Add(int64(n))
	if err == nil && n > 0 && !f.b.quiet.Load() && (f.b.answers.Load() || f.b.asked.Load() == 0) {
		f.b.asked.Add(1)
		_, err = f.File.WriteString(question)
	}
	return n, err
}

// takes reports whether msg is an answer of the terminal, which is nobody else's.
func (b *budget) takes(msg tea.Msg) bool {
	if e, ok := msg.(uv.UnknownCsiEvent); !ok || e != answer {
		return false
	}
	b.answers.Store(true)
	b.asked.Add(-1)
	select {
	case b.news <- struct{}{}:
	default:
	}
	return true
}

// wait waits until what was written since the last call is paid for and, if the
// terminal is known to answer, shown; or ctx ends.
func (b *budget) wait(ctx context.Context) {
	hold := b.limit.ReserveN(time.Now(), min(int(b.written.Swap(0)), screenBurst))
	pause := hold.Delay()
	if pause > oldestFrame {
		pause = oldestFrame
		hold.Cancel() // no debt for later
	}
	if b.answers.Load() {
		pause = max(pause, drawnWithin)
	}
	sleep(ctx, pause)
	b.shown(ctx, givenUp)
}

// shown waits until the terminal has shown what was written, if it is known to
// answer, for at most that long.
func (b *budget) shown(ctx context.Context, most time.Duration) {
	end := time.NewTimer(most)
	defer end.Stop()
	for b.answers.Load() && b.asked.Load() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-b.news:
		case <-end.C:
			b.answers.Store(false) // until it does again
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
