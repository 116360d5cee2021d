package cli

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/charmbracelet/colorprofile"

	"lightsout/internal/session"
	"lightsout/loadgen"
	"lightsout/tui"
)

// lastLook is how long the screen of a run that has ended stays.
const lastLook = time.Second

// drawLoad shows a run on the screen until it has ended, and returns when that
// was. When ctx ends it starts no more requests, waits a moment, and cancels the
// rest; when the operator leaves, what is in flight is given up.
func drawLoad(ctx context.Context, g *loadgen.Generator, o *options, color *colorprofile.Profile) (over time.Time, err error) {
	live, err := session.NewLoadOnly(g)
	if err != nil {
		return time.Now(), err
	}
	shown, hide := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		defer hide()
		watchLoad(ctx, g, io.Discard)
		over = time.Now()
		select { // long enough for the last frame to be seen drawn
		case <-time.After(lastLook):
		case <-ctx.Done():
		case <-shown.Done():
		}
	})
	wg.Go(func() {
		defer hide()
		live.Run(shown)
	})
	err = show{
		frames: live.Frames(), color: color,
		tui: tui.Options{Send: live.Send, ASCII: o.ascii, Theme: o.theme, LoadOnly: true},
	}.run(shown)
	hide()
	wg.Wait()
	return over, err
}
