package cli

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/charmbracelet/colorprofile"

	"lightsout/internal/session"
	"lightsout/loadgen"
	"lightsout/tui"
)

// drawLoad shows a run on the screen until it has ended, or ctx has; when the
// operator leaves, what is in flight is given up. It returns when the run ended.
func drawLoad(ctx context.Context, g *loadgen.Generator, o *options, color *colorprofile.Profile) (over time.Time, err error) {
	recorder, err := session.NewRecorder("", time.Now)
	if err != nil {
		return time.Now(), err
	}
	live := session.New(session.Options{
		Cluster: "no cluster", Load: g, NoPower: "there is no cluster: only load is shown",
		Recorder: recorder, Questions: session.NewQuestions(),
	})
	// The screen's log is of no use when the screen has gone.
	dir, err := os.MkdirTemp("", "lightsout-load-")
	if err != nil {
		return time.Now(), err
	}
	defer os.RemoveAll(dir)

	shown, hide := context.WithCancel(context.Background())
	defer hide()
	var wg sync.WaitGroup
	wg.Go(func() {
		stopAtEnd(ctx, shown, g)
		hide()
	})
	wg.Go(func() {
		if g.Wait(shown) == nil && shown.Err() == nil {
			over = time.Now()
			// Long enough for the last frame to be seen drawn.
			select {
			case <-time.After(lastLook):
			case <-shown.Done():
			}
			hide()
		}
	})
	var ended error
	wg.Go(func() {
		defer hide()
		ended = live.Run(shown, nil)
	})
	err = show{
		frames: live.Frames(), log: filepath.Join(dir, "stderr.log"), color: color,
		tui: tui.Options{Send: live.Send, ASCII: o.ascii, Theme: string(o.theme), LoadOnly: true},
	}.run(shown)
	hide()
	wg.Wait()
	if over.IsZero() {
		over = time.Now()
	}
	if err == nil {
		err = ended
	}
	return over, err
}

// stopAtEnd waits for the end of ctx: no more requests start then, and what is in
// flight after a moment is cancelled. It gives up when the screen has gone.
func stopAtEnd(ctx, shown context.Context, g *loadgen.Generator) {
	select {
	case <-ctx.Done():
		g.Stop(false)
		moment, cancel := context.WithTimeout(shown, graceTime)
		defer cancel()
		// Its only error is that the moment is over.
		_ = g.Wait(moment)
		g.Stop(true)
	case <-shown.Done():
	}
}

// lastLook is how long the screen of a run that has ended stays.
const lastLook = time.Second
