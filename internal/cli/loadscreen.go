package cli

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/charmbracelet/colorprofile"

	"lightsout/internal/session"
	"lightsout/internal/terminal"
	"lightsout/loadgen"
	"lightsout/tui"
)

// lastView is how long the screen stays after a run has ended.
const lastView = time.Second

// drawLoad shows a run on the screen until it has ended. It returns the time of the end
// and, like watchLoad, the reason why it stopped the run. When ctx ends it starts no
// more requests, waits a moment, and cancels the others.
func drawLoad(ctx context.Context, g *loadgen.Generator, o *options, color *colorprofile.Profile) (over time.Time, stopped string, err error) {
	rec, err := session.NewRecordWriter("", time.Now)
	if err != nil {
		return time.Now(), "", err
	}
	live := session.New(session.Options{Cluster: "no cluster", RecordWriter: rec, Questions: session.NewQuestions(), Load: g})
	visible, hide := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		defer hide()
		stopped = watchLoad(ctx, g, io.Discard)
		over = time.Now()
		select { // long enough for the last frame to be seen drawn
		case <-time.After(lastView):
		case <-ctx.Done():
		case <-visible.Done():
		}
	})
	wg.Go(func() {
		defer hide()
		_ = live.Run(visible, nil) // it keeps no record
	})
	err = shown(visible, terminal.Show{
		Frames: live.Frames(), Color: color,
		Screen: tui.Options{Send: live.Send, ASCII: o.ascii, Theme: o.theme, LoadOnly: true},
	})
	hide()
	wg.Wait()
	return over, stopped, err
}
