package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
)

// A terminal that answers late gets the newest frame when it has shown the last,
// one that does not answer all of them at the pace of the line.
func TestFramesWaitForATerminalThatAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		b := newBudget()
		out := &countedFile{File: w, b: b}
		frame := func() time.Duration {
			began := time.Now()
			if _, err := out.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			b.wait(context.Background())
			return time.Since(began)
		}
		for range 3 {
			if held := frame(); held != 0 {
				t.Errorf("a terminal that has never answered holds a frame for %v", held)
			}
		}
		if b.takes(tea.KeyPressMsg{Code: 'n'}) || !b.takes(answer) {
			t.Error("the answer is not known")
		}
		for range 3 { // in time: a question is due after so many bytes only
			if held := frame(); held != 0 {
				t.Errorf("a prompt terminal holds a frame for %v", held)
			}
		}
		b.slow = true
		time.AfterFunc(700*time.Millisecond, func() { b.takes(answer) })
		if held := frame(); held != 700*time.Millisecond {
			t.Errorf("a frame is shown after 700 ms, the next is handed out after %v", held)
		}
		if held := frame(); held != givenUp+drawnWithin {
			t.Errorf("an answer that never comes is waited for for %v", held)
		}
		for range 3 {
			if held := frame(); held != 0 {
				t.Errorf("and again for %v", held)
			}
		}
		buf := make([]byte, 100)
		n, _ := r.Read(buf)
		if got, want := string(buf[:n]), "x"+question+"xx"+"xxx"+"x"+question+"x"+question+"xxx"; got != want {
			t.Errorf("written %q, wanted %q", got, want)
		}
	})
}

// What gives the terminal away waits for the answers that are on their way, and
// nothing is asked until it is back.
func TestATerminalIsGivenAwayOnceItHasAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		sent := make(chan tea.Msg, 1)
		give := func(msg tea.Msg) time.Duration {
			began := time.Now()
			if b.filter(msg, func(m tea.Msg) { sent <- m }) != nil {
				t.Errorf("%T is carried out at once", msg)
			}
			if got := b.filter(<-sent, nil); got != msg {
				t.Errorf("%T became %T", msg, got)
			}
			return time.Since(began)
		}
		if held := give(tea.SuspendMsg{}); held != 0 {
			t.Errorf("a terminal that nothing was asked holds a suspension for %v", held)
		}
		if b.asks(1) {
			t.Error("a terminal is asked that is given away")
		}
		b.filter(tea.ResumeMsg{}, nil)
		if !b.asks(1) {
			t.Error("a terminal that is back is not asked")
		}
		time.AfterFunc(300*time.Millisecond, func() { b.takes(answer) })
		if held := give(tea.SuspendMsg{}); held != 300*time.Millisecond {
			t.Errorf("an answer comes after 300 ms, the screen is suspended after %v", held)
		}
		b.filter(tea.ResumeMsg{}, nil)
		b.slow = true
		b.asks(1)
		if held := give(tea.QuitMsg{}); held != leaveWithin {
			t.Errorf("an answer that never comes holds the end for %v", held)
		}
		if held := give(tea.QuitMsg{}); held != 0 {
			t.Errorf("and again for %v", held)
		}
	})
}

// The answers are known among keys, and no key is lost or made up.
func TestAnswersAreNoKeys(t *testing.T) {
	r, w := io.Pipe()
	events := make(chan uv.Event, 100)
	done := make(chan error, 1)
	go func() { done <- uv.NewTerminalReader(r, "xterm-256color").StreamEvents(t.Context(), events) }()
	for _, typed := range []string{"\x1b[0n", "j\x1b[0nk\x1b[0n\x1b[A", "\x1b[", "0n", "\x1b", "\x1b[0n", "q"} {
		if _, err := io.WriteString(w, typed); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	close(events)
	b := newBudget()
	var keys []string
	for e := range events {
		if b.takes(e) {
			keys = append(keys, "!")
		} else {
			keys = append(keys, fmt.Sprint(e))
		}
	}
	if got, want := strings.Join(keys, " "), "! j ! k ! up ! esc ! q"; got != want {
		t.Errorf("read %s, wanted %s", got, want)
	}
}
