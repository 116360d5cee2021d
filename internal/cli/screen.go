package cli

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"lightsout/cluster"
	"lightsout/internal/terminal"
	"lightsout/internal/view"
	"lightsout/tui"
)

// runScreen shows a session on the terminal, or as plain lines without one; then the
// session of the next place that the operator chooses, until they leave.
func runScreen(ctx context.Context, o options) error {
	for {
		next, err := runSession(ctx, o)
		if next == nil || err != nil {
			return err
		}
		o = o.at(*next)
		o.cast.file = "" // a recording is of one session
	}
}

// pastShown is how far back the screen shows the Events of Kubernetes: API servers keep them as long.
const pastShown = time.Hour

// runSession shows one session. next is where the operator goes from it; nil is
// nowhere.
func runSession(ctx context.Context, o options) (next *view.Scope, err error) {
	if err := o.cast.check(o.drawn()); err != nil {
		return nil, err
	}
	o.unprompted = true
	if o.drawn() {
		o.past = pastShown
	}
	s, err := newApp(o)
	if err != nil {
		return nil, err
	}
	defer s.sayEnd()
	if !o.drawn() {
		return nil, s.run(ctx, func(ctx context.Context) error { return unlessEnded(showPlain(ctx, s.session)) })
	}
	defer cluster.TakeTerminal()()
	err = s.run(ctx, func(ctx context.Context) error { return unlessEnded(s.draw(ctx)) })
	return s.session.Next(), err
}

// unlessEnded is the error of a screen, which a signal ends as a key does.
func unlessEnded(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// drawn reports whether there is a screen that is drawn.
func (o options) drawn() bool { return !o.plain && terminal.Drawable() }

// draw runs the session's screen until the operator leaves or ctx ends.
func (s *app) draw(ctx context.Context) error {
	log := filepath.Join(s.dir, "stderr.log")
	if s.opt.lab != "" {
		log = "" // the lab deletes its folder, also after a crash
	}
	return terminal.Show{
		Open: s.opt.openRecord, Frames: s.session.Frames(), Dir: s.kept, Log: log, Restore: s.opt.restore(s.config), Color: terminal.ColorProfile(s.opt.color), Cast: s.opt.cast.file, Names: s.names, Beside: s.opt.beside,
		Records: func() []view.RecordLine { return recordLines(filepath.Dir(s.kept)) },
		Screen:  tui.Options{Send: s.session.Send, ASCII: s.opt.ascii, Theme: s.opt.theme, Burst: s.config.Load.Burst, Hold: s.config.Load.Hold},
	}.Run(ctx)
}
