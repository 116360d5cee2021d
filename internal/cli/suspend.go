package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
)

// stopWithin is how soon a program that suspends itself has been stopped.
const stopWithin = 500 * time.Millisecond

// stops brings the screen back after the program was stopped.
type stops struct{ byKey atomic.Bool }

// filter notes when the screen suspends itself. Where no shell could continue it
// (`ssh -t host lightsout`) the system ignores the wish to be stopped, and the
// screen would wait for ever: it continues itself.
func (s *stops) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	switch msg.(type) {
	case tea.SuspendMsg:
		s.byKey.Store(true)
		time.AfterFunc(stopWithin, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGCONT) })
	case tea.ResumeMsg:
		s.byKey.Store(false)
	}
	return msg
}

// watch takes the terminal anew whenever the program was stopped by a signal and
// is continued: a shell has had it meanwhile. It returns when ctx ends.
func (s *stops) watch(ctx context.Context, p *tea.Program) {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	retake := tea.Exec(nothing{}, func(error) tea.Msg { return tea.ResumeMsg{} })
	for {
		select {
		case <-ctx.Done():
			return
		case <-continued:
			if !s.byKey.Load() {
				p.Send(retake())
			}
		}
	}
}

// nothing is a command for which the screen gives the terminal away and takes it
// again.
type nothing struct{}

func (nothing) Run() error          { return nil }
func (nothing) SetStdin(io.Reader)  {}
func (nothing) SetStdout(io.Writer) {}
func (nothing) SetStderr(io.Writer) {}
