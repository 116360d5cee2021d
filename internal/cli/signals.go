package cli

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"
)

// endSignals end the program in order.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// signals is what an end signal does beyond ending the context of the command.
// Its fields may be used by any goroutine.
var signals struct {
	// reading counts the reads of files under way: a pipe that nobody writes to or
	// a server that is away may keep one for ever, whatever becomes of the context.
	reading atomic.Int32
	// inOrder: what is being done has to be ended in order, and by itself.
	inOrder atomic.Bool
	// hidden is how the terminal was before it was asked for a secret; nil: it is not.
	hidden atomic.Pointer[term.State]
}

// untilSignal makes the context of a command: the first end signal ends it. The
// program is ended at once by the first one while a file is read, and by a second
// one, but for what has to be ended in order.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan os.Signal, 2)
	signal.Notify(got, endSignals...)
	go func() { // ends with the process
		for s := range got {
			if !signals.inOrder.Load() && (ctx.Err() != nil || signals.reading.Load() > 0) {
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

// whileReading reads a file by that function.
func whileReading[T any](read func() (T, error)) (T, error) {
	signals.reading.Add(1)
	defer signals.reading.Add(-1)
	return read()
}
