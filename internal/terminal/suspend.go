package terminal

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"
)

// stopWithin is how soon a program that suspends itself has been stopped.
const stopWithin = 500 * time.Millisecond

// stops gives the terminal away when the operator suspends the program, and takes it
// back when the program continues, whoever stopped it.
//
// It does not use tea.Suspend and tea.Exec: they stop the renderer and start a new one,
// and if the old one ends late it stops the new one's ticker: nothing is drawn any more
// (bubbletea v2.0.9, startRenderer). Here the renderer only waits.
type stops struct {
	tty    *os.File
	before *term.State // of the terminal, without the screen
	out    *countedFile
	wanted chan struct{} // capacity 1: the operator suspends
}

// newStops is to be called before the screen takes the terminal.
func newStops(tty *os.File, out *countedFile) (*stops, error) {
	before, err := term.GetState(int(tty.Fd()))
	return &stops{tty, before, out, make(chan struct{}, 1)}, err
}

// filter keeps the screen from suspending itself.
func (s *stops) filter(msg tea.Msg) tea.Msg {
	if _, ok := msg.(tea.SuspendMsg); !ok {
		return msg
	}
	select {
	case s.wanted <- struct{}{}:
	default:
	}
	return nil
}

// watch suspends and continues, and tells the screen each time that it has to draw
// all of itself, until ctx ends.
func (s *stops) watch(ctx context.Context, send func(tea.Msg)) {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wanted:
			s.suspend(continued)
		case <-continued:
			s.out.mu.Lock()
			s.take()
			s.out.mu.Unlock()
		}
		send(tea.ResumeMsg{})
	}
}

// suspend leaves the terminal to the shell, as it was, until the program is
// continued. Where no shell could do that (`ssh -t host lightsout`) the system
// ignores the wish to be stopped, and it goes on by itself.
func (s *stops) suspend(continued <-chan os.Signal) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	_, _ = s.out.File.WriteString(restoreSequence)
	_ = term.Restore(int(s.tty.Fd()), s.before)
	_ = syscall.Kill(0, syscall.SIGTSTP) // with what it has started, as the terminal does
	select {
	case <-continued:
	case <-time.After(stopWithin):
	}
	s.take()
}

// take takes the terminal for the screen.
func (s *stops) take() {
	_, _ = term.MakeRaw(int(s.tty.Fd()))
	_, _ = s.out.File.WriteString(takeSequence)
}
