package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"lightsout/internal/session"
	"lightsout/internal/view"
)

// plainScreen is the screen as lines, for pipes and screen readers: the state at the
// start and on request, the timeline, the questions.
type plainScreen struct {
	*console
	told bool                       // the state, at the start
	last atomic.Pointer[view.Frame] // the newest frame
}

// plainHelp is what can be typed.
const plainHelp = "type state or press enter to print the state; type quit to leave"

func newPlainScreen() *plainScreen { return &plainScreen{console: newConsole(false, "")} }

// run shows the session until it ends.
func (p *plainScreen) run(ctx context.Context, s *session.Session) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if p.in != nil {
		go p.read(ctx, s)
	}
	gone := false
	err := p.show(ctx, s, func(f *view.Frame) bool {
		p.last.Store(f)
		if !p.told && readable(f.Snapshot) && hitsKnown(f.Snapshot) {
			p.told = true
			p.print(stateLines(f)...)
			if p.in != nil {
				p.print(plainHelp)
			}
		}
		gone = unread(p.out)
		return gone
	})
	if gone {
		return errUnread
	}
	return err
}

// errUnread ends a plain screen whose output nobody reads any more.
var errUnread = errors.New("nobody reads the output any more")

// unread reports whether out is a pipe whose reader has gone, as with "| head".
func unread(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(f.Fd())}} // which reports errors alone
	n, _ := unix.Poll(fds, 0)
	return n > 0 && fds[0].Revents&unix.POLLERR != 0
}

// typed carries out a line.
func (p *plainScreen) typed(line string, s *session.Session) {
	switch line {
	case "", "state":
		last := p.last.Load()
		if last == nil || last.Snapshot == nil {
			p.print("lightsout has not seen the cluster yet")
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

// inputPoll bounds, in milliseconds, the time until the reader notices that it must
// stop.
const inputPoll = 200

// read carries out typed commands, line by line, until ctx or the input ends. It waits
// for input without reading, so that a question gets its answer.
func (p *plainScreen) read(ctx context.Context, s *session.Session) {
	for ctx.Err() == nil {
		ready := []unix.PollFd{{Fd: int32(os.Stdin.Fd()), Events: unix.POLLIN}}
		if n, _ := unix.Poll(ready, inputPoll); n == 0 && p.in.Buffered() == 0 || !p.asking.TryLock() {
			time.Sleep(inputPoll * time.Millisecond / 10)
			continue
		}
		line, err := p.in.ReadString('\n')
		p.asking.Unlock()
		if err != nil || ctx.Err() != nil {
			return
		}
		p.typed(strings.TrimSpace(line), s)
	}
}
