package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"lightsout/internal/view"
)

// stuckAfter is how long a turn of the loop takes before the screen shows a notice: a
// wait must be visible within 10 s.
const stuckAfter = 3 * time.Second

// frames sends the frames of a loop to the screen. It is safe for concurrent use.
type frames struct {
	out chan *view.Frame

	mu    sync.Mutex
	last  *view.Frame
	turns int
}

func newFrames() *frames { return &frames{out: make(chan *view.Frame, 1)} }

// show sends a frame; it replaces one that nobody has received.
func (f *frames) show(next *view.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = next
	f.send(next)
}

func (f *frames) send(next *view.Frame) {
	select {
	case <-f.out:
	default:
	}
	f.out <- next
}

// turned notes that the loop begins a turn, which it does at least once in each beat.
func (f *frames) turned() {
	f.mu.Lock()
	f.turns++
	f.mu.Unlock()
}

// watch shows a notice above the newest frame while one turn takes longer than
// stuckAfter, until ctx ends. The loop waits for nothing but its disk. Watch counts its
// own beats, so that a program that was stopped and continued shows no notice.
func (f *frames) watch(ctx context.Context, now func() time.Time) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	turns, beats := 0, time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		f.mu.Lock()
		if f.turns != turns {
			turns, beats = f.turns, 0
		}
		beats++
		if beats*beat > stuckAfter && f.last != nil {
			f.send(stuckFrame(*f.last, now()))
		}
		f.mu.Unlock()
	}
}

// stuckFrame returns an old frame as it is shown now.
func stuckFrame(f view.Frame, now time.Time) *view.Frame {
	f.Notice = view.Notice{
		Level: view.Warning, At: now,
		Text: fmt.Sprintf("lightsout waits for the disk of its journal and records: keys take effect later, and the screen is %.0f s old", now.Sub(f.Now).Seconds()),
	}
	f.Now = now
	return &f
}
