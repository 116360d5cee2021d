package tui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/vt"
	"go.uber.org/goleak"

	"lightsout/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.SideBySide(6) // those with a terminal wait for its frames
	// A Program leaves the clock's last tick waiting for up to a second.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("charm.land/bubbletea/v2.Every.func1"))
}

// terminal is an emulated terminal with a running program on it.
type terminal struct {
	t    *testing.T
	p    *tea.Program
	twin *Model // gets the same messages and says what must be seen

	mu sync.Mutex // guards em; vt.SafeEmulator gives cells out unguarded
	em *vt.Emulator

	written chan struct{} // has something when the program has written
}

func newTerminal(t *testing.T, w, h int, ascii bool) *terminal {
	tm := &terminal{t: t, em: vt.NewEmulator(w, h), written: make(chan struct{}, 1)}
	opts := Options{Now: func() time.Time { return t0 }, ASCII: ascii}
	tm.twin = New(opts)
	resize(tm.twin, w, h)
	// An emulator's replies must be read, or its next Write blocks for ever.
	drained := make(chan struct{})
	go func() { defer close(drained); _, _ = io.Copy(io.Discard, tm.em) }()
	in, typed := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	tm.p = tea.NewProgram(New(opts), tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(tm),
		tea.WithWindowSize(w, h), tea.WithColorProfile(colorprofile.ANSI), tea.WithFPS(120),
		tea.WithEnvironment([]string{"TERM=xterm-256color"}), tea.WithoutSignals())
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = tm.p.Run() }()
	t.Cleanup(func() {
		tm.p.Quit()
		typed.Close()
		<-ended
		cancel()
		_ = tm.em.InputPipe().(io.Closer).Close()
		<-drained
	})
	return tm
}

// Write is the program's output. It does what a terminal's driver does with line
// feeds while it is not in raw mode, which a Program can't set here.
func (tm *terminal) Write(p []byte) (int, error) {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	_, err := tm.em.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n")))
	select {
	case tm.written <- struct{}{}:
	default:
	}
	return len(p), err
}

func (tm *terminal) resize(w, h int) {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	tm.em.Resize(w, h)
}

func (tm *terminal) send(msg tea.Msg) {
	tm.p.Send(msg)
	tm.twin.Update(msg)
}

// screen is the text that the emulator shows.
func (tm *terminal) screen() string {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	var b strings.Builder
	for y := range tm.em.Height() {
		if y > 0 {
			b.WriteByte('\n')
		}
		for x := 0; x < tm.em.Width(); x++ {
			c := tm.em.CellAt(x, y)
			if c == nil || c.Width == 0 && c.Content == "" {
				continue // the second half of a wide character
			}
			b.WriteString(c.Content)
		}
	}
	return b.String()
}

// unmarked removes combining marks, which the emulator does not keep.
func unmarked(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, s)
}

// settled waits until the emulator shows what the model says.
func (tm *terminal) settled(step string) {
	tm.t.Helper()
	want := unmarked(plainView(tm.twin))
	got := tm.screen()
	for deadline := time.After(20 * time.Second); got != want; got = tm.screen() {
		select {
		case <-tm.written:
			continue
		case <-deadline:
		}
		break
	}
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range w {
		if i >= len(g) || g[i] != w[i] {
			tm.t.Errorf("%s: line %d\nis   %q\nwant %q", step, i, g[min(i, len(g)-1)], w[i])
		}
	}
	tm.t.FailNow()
}

func TestTheTerminalShowsTheModelsScreen(t *testing.T) {
	t.Parallel()
	for _, ascii := range []bool{false, true} {
		for _, sc := range scenes {
			t.Run(fmt.Sprint("ascii ", ascii, ", ", sc.name), func(t *testing.T) {
				t.Parallel()
				tm := newTerminal(t, 80, 24, ascii)
				tm.settled("start")
				if f := sc.frame(); f != nil {
					tm.send(FrameMsg{f})
					tm.settled("frame")
				}
				for _, k := range strings.Fields("esc down down z z tab tab down down 5 up up down 1 ? down down down / s enter n esc d down y esc u esc esc 3 L g / 5 enter n G c p esc esc Y esc : n s space a esc 1 6 w down T T w w") {
					tm.send(keyMsg(k))
					tm.settled(k)
				}
				for _, s := range []size{{120, 36}, {61, 15}, {200, 60}, {80, 24}} {
					tm.resize(s.w, s.h)
					tm.send(tea.WindowSizeMsg{Width: s.w, Height: s.h})
					tm.settled(fmt.Sprint("resize ", s))
				}
			})
		}
	}
}

func TestTheTerminalFollowsRandomFrames(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 7))
	tm := newTerminal(t, 100, 30, false)
	for i := range 60 {
		tm.send(FrameMsg{randomFrame(rnd, "nö計e\u0301\x1b[2J-x")})
		tm.settled(fmt.Sprint("frame ", i))
		tm.send(keyMsg(fuzzKeys[rnd.IntN(len(fuzzKeys))]))
		tm.settled(fmt.Sprint("key ", i))
	}
}
