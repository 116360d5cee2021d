// Package terminal runs the screen on a terminal: it draws no more than the terminal's
// connection can carry, suspends and continues, records the screen, saves pictures,
// timelines and reports when the operator asks for them, and restores the terminal
// however the program ends.
//
// This package has everything that uses a file descriptor, a signal or bubbletea's
// Program. Package tui draws the screen; package internal/cli has the commands.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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

// Drawable reports whether lightsout can draw on the terminal and read its keys.
func Drawable() bool {
	return term.IsTerminal(int(os.Stdout.Fd())) && term.IsTerminal(int(os.Stdin.Fd())) && !slices.Contains([]string{"", "dumb"}, os.Getenv("TERM"))
}

// ColorProfile returns the profile for auto, always or never; nil lets the terminal
// decide. A NO_COLOR that is not empty switches colour off, whatever its value
// (no-color.org).
func ColorProfile(when string) *colorprofile.Profile {
	p := colorprofile.ASCII
	switch {
	case when == "always":
		p = colorprofile.ANSI
	case when == "auto" && os.Getenv("NO_COLOR") == "":
		return nil
	}
	return &p
}

// asciiOnly reports whether the locale or the terminal is safe for ASCII only: fonts of text
// consoles lack many signs.
func asciiOnly() bool {
	if t := os.Getenv("TERM"); t == "linux" || os.Getenv("RUNEWIDTH_EASTASIAN") == "1" || strings.HasPrefix(t, "vt1") || strings.HasPrefix(t, "vt2") {
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

// Show holds the input for a screen on a terminal.
type Show struct {
	Frames <-chan *view.Frame
	// Screen holds the options of the screen.
	Screen tui.Options
	// Dir is the folder of the records of trials and of saved screens.
	Dir string
	// Log is the file that receives standard error while the screen is shown. If it is
	// empty, a temporary file does, which stays only after a crash.
	Log string
	// Restore is the command that powers machines on, shown after a crash; empty if
	// none are off.
	Restore string
	// Color is the result of ColorProfile.
	Color *colorprofile.Profile
	// Cast is the file that records the screen from the start; empty: none.
	Cast string
	// Names are the names to replace in the recording of the screen and in Log; nil
	// replaces none.
	Names *record.Names
	// Open reads the record in a folder, for the report of the trial on the screen.
	Open func(dir string) (*record.Record, error)
	// Records lists the records, the newest first; nil: the screen lists none.
	Records func() []view.RecordLine
	// Beside runs in parallel to the screen until the operator takes over; it may be nil.
	Beside func(ctx context.Context, b Beside)
}

// Beside holds the functions for code that runs in parallel to the screen.
type Beside struct {
	Send   func(tea.Msg)
	Frame  func() *view.Frame // the newest frame; nil before the first
	Paused func() bool        // the operator wants it to wait
}

// Run shows frames until the last one or until ctx ends, and then prints the paths of
// the screen's recordings.
func (x Show) Run(ctx context.Context) (err error) {
	log, restore, err := divertStderr(x.Log)
	if err != nil {
		return err
	}
	if x.Log == "" {
		defer os.Remove(log.Name())
	}
	defer func() {
		restore()
		redactFile(log.Name(), x.Names)
	}()
	keep, err := startKeeper(os.Stdin, log.Name(), x.Restore)
	if err != nil {
		return err
	}
	defer keep.release()

	o := x.Screen
	o.ASCII = o.ASCII || asciiOnly()
	o.NoColor = x.Color != nil && *x.Color == colorprofile.ASCII
	stage := newStage(o, x.Names)
	stage.dir, stage.open, stage.records = x.Dir, x.Open, x.Records
	if x.Cast != "" {
		if err := stage.rec.begin(x.Cast); err != nil {
			return err
		}
		stage.pass(tui.RecordingMsg(true))
	}
	defer func() {
		stage.rec.end()
		restore() // the lines below are for the operator
		for _, said := range stage.rec.done {
			fmt.Fprintln(os.Stderr, said.Text)
		}
	}()
	return x.draw(ctx, stage)
}

// draw runs the program that draws, until the program or ctx ends.
func (x Show) draw(ctx context.Context, stage *stage) error {
	line := newBudget()
	out := &countedFile{File: os.Stdout, b: line}
	stopped, err := newStops(os.Stdin, out)
	if err != nil {
		return err
	}
	DropInput(os.Stdin) // keys that were typed before there was a screen are no answer to it
	var p *tea.Program
	filter := func(_ tea.Model, msg tea.Msg) tea.Msg { return stopped.filter(line.filter(msg, p.Send)) }
	alive, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	defer context.AfterFunc(ctx, func() {
		line.giveAway()
		kill()
	})()
	opts := []tea.ProgramOption{tea.WithContext(alive), tea.WithFilter(filter), tea.WithoutSignalHandler(), tea.WithFPS(fps), tea.WithOutput(out)}
	if x.Color != nil {
		opts = append(opts, tea.WithColorProfile(*x.Color))
	}
	p = tea.NewProgram(stage, opts...)
	stage.refresh = newRefresh(p)
	defer stage.refresh.stop()
	drawn, stop := context.WithCancel(ctx)
	defer stop()
	go stopped.watch(drawn, p.Send)
	var newest atomic.Pointer[view.Frame]
	if x.Beside != nil {
		alone, cancel := context.WithCancel(drawn)
		defer cancel()
		stage.stop = cancel
		go x.Beside(alone, Beside{p.Send, newest.Load, stage.paused.Load})
	}
	go x.feed(drawn, p, line, &newest)
	err = runProgram(ctx, p)
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = nil
	}
	return err
}

// feed passes frames to p, no more than the terminal can carry. It ends p after the
// last frame, or when ctx ends.
func (x Show) feed(ctx context.Context, p *tea.Program, line *budget, newest *atomic.Pointer[view.Frame]) {
	defer p.Quit()
	for {
		select {
		case <-ctx.Done():
			return
		case f, more := <-x.Frames:
			if !more {
				return
			}
			newest.Store(f)
			p.Send(tui.FrameMsg{Frame: f})
		}
		line.wait(ctx)
	}
}

// patience bounds the time for restoring the terminal at the end.
const patience = 3 * time.Second

// runProgram runs p. A terminal that accepts no more output (a stalled ssh link) blocks
// p for ever. After the end of ctx runProgram does not wait for it: the keeper restores
// the terminal.
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
		return errors.New("the terminal accepts no more output; the session ended in order")
	}
}

// diverted: standard error is a file.
var diverted atomic.Bool

// Log is a writer for what libraries log. It writes to standard error while that is a
// file because the screen is shown, and discards the text otherwise: a command's own
// messages say what the operator needs.
type Log struct{}

// Write writes to the log of the screen, if there is one.
func (Log) Write(p []byte) (int, error) {
	if !diverted.Load() {
		return len(p), nil
	}
	return os.Stderr.Write(p)
}

// divertStderr redirects standard error of the whole process to a file, so that it does
// not overwrite the screen; an empty path selects a temporary file.
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
	if err == nil {
		err = unix.Dup2(int(log.Fd()), 2)
	}
	if err != nil {
		log.Close()
		return nil, nil, err
	}
	diverted.Store(true)
	return log, sync.OnceFunc(func() {
		diverted.Store(false)
		_ = unix.Dup2(saved, 2)
		_ = unix.Close(saved)
		_ = log.Close()
	}), nil
}
