package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"lightsout/internal/session"
	"lightsout/internal/view"
)

// plainScreen is the screen as lines, for pipes and screen readers: the state at
// the start and when it is asked for, the timeline, the questions.
type plainScreen struct {
	*console
	told bool // the state, at the start
	// lines are those typed. While asking is held they are answers, and not read
	// here.
	lines  chan string
	asking sync.Mutex
}

// plainHelp is what can be typed.
const plainHelp = "type state, or enter alone, for how things stand; quit to leave"

func newPlainScreen() *plainScreen { return &plainScreen{console: newConsole(false, "")} }

// run shows the session until it ends.
func (p *plainScreen) run(ctx context.Context, s *session.Session) error {
	if p.in != nil || isPipe(os.Stdin) {
		p.lines = make(chan string)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go p.read(ctx)
	}
	var last *view.Frame
	for {
		select {
		case f, more := <-s.Frames():
			if !more {
				p.events(s)
				return nil
			}
			last = f
			if err := p.take(ctx, s, f); err != nil {
				return err
			}
		case line, more := <-p.lines:
			if !more {
				p.lines = nil // what is typed has ended; the session goes on
				continue
			}
			p.typed(line, s, last)
		}
	}
}

// take prints what is new with a frame.
func (p *plainScreen) take(ctx context.Context, s *session.Session, f *view.Frame) error {
	p.events(s)
	if !p.told && synced(f.Snapshot) && hitsKnown(f.Snapshot) {
		p.told = true
		p.print(stateLines(f)...)
		if p.lines != nil {
			p.print(plainHelp)
		}
	}
	if q := f.Question; q != nil && q.ID != p.asked {
		p.asked = q.ID
		p.asking.Lock()
		defer p.asking.Unlock()
		return p.answer(ctx, s, *q)
	}
	return nil
}

// typed carries out a line.
func (p *plainScreen) typed(line string, s *session.Session, last *view.Frame) {
	switch line {
	case "", "state":
		if last == nil || last.Snapshot == nil {
			p.print("nothing has been seen of the cluster yet")
			return
		}
		p.print(stateLines(last)...)
	case "q", "quit":
		s.Send(view.AskQuit{})
	default:
		p.print(plainHelp)
	}
}

func (p *plainScreen) print(lines ...string) { fmt.Fprintln(p.out, strings.Join(lines, "\n")) }

// lookForLines is how long, in milliseconds, it takes at most to see that reading
// is to end.
const lookForLines = 200

// read hands on what is typed, line by line, until ctx or the input ends. It
// waits for input without reading, so that an answer is left to who has asked.
func (p *plainScreen) read(ctx context.Context) {
	defer close(p.lines)
	in := p.in
	if in == nil {
		in = bufio.NewReader(os.Stdin)
	}
	for ctx.Err() == nil {
		ready := []unix.PollFd{{Fd: int32(os.Stdin.Fd()), Events: unix.POLLIN}}
		if n, _ := unix.Poll(ready, lookForLines); n == 0 && in.Buffered() == 0 || !p.asking.TryLock() {
			time.Sleep(lookForLines * time.Millisecond / 10)
			continue
		}
		line, err := in.ReadString('\n')
		p.asking.Unlock()
		if err != nil {
			return
		}
		select {
		case p.lines <- strings.TrimSpace(line):
		case <-ctx.Done():
		}
	}
}

// isPipe reports a file from which another program's output can be read.
func isPipe(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}
