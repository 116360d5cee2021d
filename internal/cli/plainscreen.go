package cli

import (
	"context"
	"fmt"
	"os/signal"
	"strings"
	"syscall"

	"lightsout/internal/session"
	"lightsout/internal/view"
)

// showPlain shows a session as lines until it ends, for pipes and screen readers: the state at
// the start, then the timeline and the questions. Nobody switches a machine off there, so it ends
// the program when nobody reads the lines any more.
func showPlain(ctx context.Context, s *session.Session) error {
	signal.Reset(syscall.SIGPIPE)
	c, told := newConsole(false, ""), false
	return c.show(ctx, s, func(f *view.Frame) bool {
		if !told && readable(f.Snapshot) && hitsKnown(f.Snapshot) {
			told = true
			fmt.Fprintln(c.out, strings.Join(stateLines(f), "\n"))
		}
		return false
	})
}
