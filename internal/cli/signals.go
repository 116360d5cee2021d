package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"
)

// endSignals end the program in order.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// signals is what an end signal does beyond ending the context of the command.
// Its fields may be used by any goroutine.
var signals struct {
	// inOrder: actions under way must end in order, by themselves.
	inOrder atomic.Bool
	// hidden is how the terminal was before it was asked for a secret; nil: it is not.
	hidden atomic.Pointer[term.State]
}

// untilSignal makes the context of a command: the first end signal ends it. A second one ends the
// program at once, also while a pipe that nobody writes to is being read, except for actions that must
// end in order.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan os.Signal, 2)
	signal.Notify(got, endSignals...)
	go func() { // ends with the process
		for s := range got {
			if !signals.inOrder.Load() && ctx.Err() != nil {
				if state := signals.hidden.Load(); state != nil {
					_ = term.Restore(int(os.Stdin.Fd()), state)
				}
				os.Exit(128 + int(s.(syscall.Signal)))
			}
			cancel()
		}
	}()
	return ctx
}

// endInOrder makes programs react to end signals themselves, and ignore Ctrl-Z and
// SIGTSTP: a stopped program would hold its locks in the middle of switching, and later
// continue with an outdated judgement. The screen does not use it: there Ctrl-Z asks
// first.
func endInOrder() {
	signals.inOrder.Store(true)
	signal.Ignore(syscall.SIGTSTP)
}

// noticeAfter is how long lightsout waits for something without a word.
const noticeAfter = 2 * time.Second

// within bounds a step. If the step takes long, within prints what lightsout does, and for
// how long at most. The caller must call end after it.
func within(ctx context.Context, most time.Duration, what string) (_ context.Context, end func()) {
	ctx, cancel := context.WithTimeout(ctx, most)
	notice := time.AfterFunc(noticeAfter, func() { fmt.Fprintf(os.Stderr, "%s, %s at most\n", what, most) })
	return ctx, func() { notice.Stop(); cancel() }
}
