package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/tui"
)

// runScreen shows a session on the terminal, or as plain lines where there is
// no terminal to draw on; and after it that of the place that the operator goes
// to, until they leave.
func runScreen(ctx context.Context, o options) error {
	color, err := colorProfile(o.color)
	first := o.cast.file
	for n := 2; err == nil; n++ {
		var next *view.Place
		var recorded string
		if next, recorded, err = runSession(ctx, o, color); next == nil {
			break
		}
		if recorded != o.cast.file { // begun by the key
			first = recorded
		}
		o = o.at(*next)
		o.cast.file, o.cast.again = "", recorded != ""
		if o.cast.again { // each place has a file of its own
			o.cast.file = fmt.Sprintf("%s-%d.cast", strings.TrimSuffix(first, ".cast"), n)
		}
	}
	return err
}

// runSession shows one session. next is where the operator goes from it; nil is
// nowhere. recorded is the file of the screen's recording that was under way
// then; empty: none was.
func runSession(ctx context.Context, o options, color *colorprofile.Profile) (next *view.Place, recorded string, err error) {
	if err := o.cast.check(o.drawn()); err != nil {
		return nil, "", err
	}
	s, err := newApp(o)
	if err != nil {
		return nil, "", err
	}
	defer s.sayEnd()
	if !o.drawn() {
		return nil, "", s.run(ctx, func(ctx context.Context) error { return unlessEnded(newPlainScreen().run(ctx, s.session)) })
	}
	s.drawn = true
	err = s.run(ctx, func(ctx context.Context) error { return unlessEnded(s.draw(ctx, color)) })
	return s.session.Next(), s.recorded, err
}

// unlessEnded is the error of a screen, which a signal ends as a key does.
func unlessEnded(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// drawn reports whether there is a screen that is drawn.
func (o options) drawn() bool { return !o.plain && drawable() }

// drawable reports a terminal that can be drawn on and typed at.
func drawable() bool {
	return term.IsTerminal(int(os.Stdout.Fd())) && term.IsTerminal(int(os.Stdin.Fd())) && !dumb()
}

// dumb reports a terminal that can't be drawn on.
func dumb() bool {
	t := os.Getenv("TERM")
	return t == "" || t == "dumb"
}

// colorProfile decides on colour. NO_COLOR counts when it is not empty,
// whatever its value (no-color.org).
func colorProfile(when string) (*colorprofile.Profile, error) {
	var p colorprofile.Profile
	switch when {
	case "auto":
		if os.Getenv("NO_COLOR") == "" {
			return nil, nil
		}
		p = colorprofile.ASCII
	case "never":
		p = colorprofile.ASCII
	case "always":
		p = colorprofile.ANSI
	default:
		return nil, usageError{fmt.Errorf("--color is auto, always or never, not %q", when)}
	}
	return &p, nil
}

// asciiOnly reports a locale or terminal in which only ASCII is safe.
func asciiOnly() bool {
	if t := os.Getenv("TERM"); os.Getenv("RUNEWIDTH_EASTASIAN") == "1" || strings.HasPrefix(t, "vt1") || strings.HasPrefix(t, "vt2") {
		return true
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); v != "" {
			v = strings.ToLower(v)
			return !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
		}
	}
	return false
}

// textConsole reports a terminal whose fonts have the characters of code page 437
// and no more: the kernel's own.
func textConsole() bool { return os.Getenv("TERM") == "linux" }

// draw runs the session's screen until the operator leaves or ctx ends.
func (s *app) draw(ctx context.Context, color *colorprofile.Profile) error {
	return show{
		frames: s.session.Frames(), dir: s.kept, log: filepath.Join(s.dir, "stderr.log"), color: color, cast: s.opt.cast, recorded: &s.recorded, names: s.names, beside: s.opt.beside, untilKey: true,
		tui: tui.Options{Send: s.session.Send, ASCII: s.opt.ascii, Theme: s.opt.theme, Burst: s.config.Load.Burst, Hold: s.config.Load.Hold},
	}.run(ctx)
}

// show is what is shown on the terminal.
type show struct {
	frames <-chan *view.Frame
	// dir is where what is kept of the screen goes, beside the records of trials.
	dir string
	// log is the file for what is written to standard error meanwhile; empty: one
	// that is gone afterwards, but not after a crash.
	log   string
	color *colorprofile.Profile
	tui   tui.Options
	cast  castFlags
	names *record.Names // replaced in the recording of the screen and in log
	// recorded gets the file of the recording that was under way at the end; it
	// may be nil.
	recorded *string
	// beside runs beside the screen; nil: nothing does. With untilKey the first
	// key of the operator ends it.
	beside   func(ctx context.Context, s besides)
	untilKey bool
}

// besides is what may be done beside the screen.
type besides struct {
	send  func(tea.Msg)
	frame func() *view.Frame // the newest; nil before the first
}

// run shows frames until there are no more or ctx ends, and says where the
// screen's recordings are.
func (x show) run(ctx context.Context) (err error) {
	signals.inOrder.Store(true)
	log, restore, err := divertStderr(x.log)
	if err != nil {
		return err
	}
	if x.log == "" {
		defer os.Remove(log.Name())
	}
	defer func() {
		restore()
		redactFile(log.Name(), x.names)
	}()
	keep, err := startKeeper(os.Stdin, log.Name())
	if err != nil {
		return err
	}
	defer keep.release()

	o := x.tui
	o.ASCII, o.Console = o.ASCII || asciiOnly(), textConsole()
	o.NoColor = x.color != nil && *x.color == colorprofile.ASCII
	stage := newStage(o, x.cast, x.names)
	stage.dir = x.dir
	if x.cast.file != "" {
		if err := stage.rec.begin(x.cast.file); err != nil {
			return usageError{err}
		}
		if x.cast.again {
			stage.rec.say()
		}
	}
	defer func() {
		if x.recorded != nil && stage.rec.screen != nil {
			*x.recorded = stage.rec.path
		}
		stage.rec.end()
		restore() // what follows is for the operator
		for _, said := range stage.rec.done {
			fmt.Fprintln(os.Stderr, said)
		}
	}()
	return x.draw(ctx, stage)
}

// draw runs the program that draws until it ends or ctx does.
func (x show) draw(ctx context.Context, stage *stage) error {
	line := newBudget()
	out := line.output(os.Stdout)
	stopped, err := newStops(os.Stdin, out)
	if err != nil {
		return err
	}
	var p *tea.Program
	filter := func(_ tea.Model, msg tea.Msg) tea.Msg { return stopped.filter(line.filter(msg, p.Send)) }
	alive, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	defer context.AfterFunc(ctx, func() {
		line.giveAway()
		kill()
	})()
	opts := []tea.ProgramOption{tea.WithContext(alive), tea.WithFilter(filter), tea.WithoutSignalHandler(), tea.WithFPS(fps), tea.WithOutput(out)}
	if x.color != nil {
		opts = append(opts, tea.WithColorProfile(*x.color))
	}
	p = tea.NewProgram(stage, opts...)
	stage.refresh = newRefresh(p)
	defer stage.refresh.stop()
	drawn, stop := context.WithCancel(ctx)
	defer stop()
	go stopped.watch(drawn, p.Send)
	var newest atomic.Pointer[view.Frame]
	if x.beside != nil {
		alone, cancel := context.WithCancel(drawn)
		defer cancel()
		if x.untilKey {
			stage.stop = cancel
		}
		go x.beside(alone, besides{p.Send, newest.Load})
	}
	go x.feed(drawn, p, line, &newest)
	err = runProgram(ctx, p)
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = nil
	}
	return err
}

// feed gives the frames to p, no more than its terminal takes, and ends it when
// there are no more or ctx ends.
func (x show) feed(ctx context.Context, p *tea.Program, line *budget, newest *atomic.Pointer[view.Frame]) {
	defer p.Quit()
	for {
		select {
		case <-ctx.Done():
			return
		case f, more := <-x.frames:
			if !more {
				return
			}
			newest.Store(f)
			p.Send(tui.FrameMsg{Frame: f})
		}
		line.wait(ctx)
	}
}

// patience is how long a terminal may take to be put right when leaving.
const patience = 3 * time.Second

// runProgram runs p. A terminal that takes no more output (a stalled ssh
// link) blocks p for ever; once ctx has ended it is not waited for, and the
// keeper sees to the terminal.
func runProgram(ctx context.Context, p *tea.Program) error {
	done := make(chan error, 1)
	go func() {
		_, err := p.Run()
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return errors.New("the terminal takes no output any more; the session has ended in order all the same")
	}
}

// divertStderr sends what is written to standard error, by whatever part of
// the program, to a file, so that it does not smear the screen; without a path to
// a temporary one.
func divertStderr(path string) (log *os.File, restore func(), err error) {
	if path == "" {
		log, err = os.CreateTemp("", "lightsout-*.log")
	} else {
		log, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the log can't be kept: %w", err)
	}
	saved, err := unix.Dup(2)
	if err != nil {
		log.Close()
		return nil, nil, err
	}
	if err := dup(int(log.Fd()), 2); err != nil {
		log.Close()
		return nil, nil, err
	}
	return log, sync.OnceFunc(func() {
		_ = dup(saved, 2)
		_ = unix.Close(saved)
		_ = log.Close()
	}), nil
}
