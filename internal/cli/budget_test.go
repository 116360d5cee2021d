package cli

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
)

func TestAStreamOfFramesKeepsWithinTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		frame := func(bytes int64) time.Duration {
			began := time.Now()
			b.written.Add(bytes)
			b.wait(context.Background())
			return time.Since(began)
		}
		if held := frame(20 << 10); held != 0 {
			t.Errorf("a whole screen is held back for %v", held)
		}
		time.Sleep(10 * time.Second)
		began, sent := time.Now(), 0
		for time.Since(began) < time.Minute {
			if held := frame(2 << 10); held > oldestFrame {
				t.Errorf("a frame is held back for %v", held)
			}
			sent += 2 << 10
		}
		if most := 60*screenBytes + screenBurst + 2<<10; sent > most {
			t.Errorf("%d bytes in a minute, more than %d", sent, most)
		}
		time.Sleep(10 * time.Second)
		if held := frame(2 << 10); held != 0 {
			t.Errorf("a lone change is held back for %v", held)
		}
	})
}

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
		out := b.output(w)
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
		time.AfterFunc(700*time.Millisecond, func() { b.takes(answer) })
		if held := frame(); held != 700*time.Millisecond {
			t.Errorf("a frame is shown after 700 ms, the next is handed out after %v", held)
		}
		if held := frame(); held != givenUp+drawnWithin {
			t.Errorf("an answer that never comes is waited for for %v", held)
		}
		if held := frame(); held != 0 {
			t.Errorf("and again for %v", held)
		}
		buf := make([]byte, 100)
		n, _ := r.Read(buf)
		if got, want := string(buf[:n]), "x"+question+"xx"+"x"+question+"x"+question+"x"; got != want {
			t.Errorf("written %q, wanted %q", got, want)
		}
	})
}
