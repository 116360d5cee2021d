package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
)

var t0 = time.Date(2026, 11, 21, 6, 10, 0, 0, time.UTC)

// picture is a random screen with colours, wide characters and, at times, too
// few or too many lines.
func picture(rnd *rand.Rand, width, height int) string {
	var lines []string
	for range height - 2 + rnd.IntN(4) {
		var b strings.Builder
		for left := width; left > 0; {
			switch n := rnd.IntN(min(left, 12)) + 1; rnd.IntN(4) {
			case 0:
				fmt.Fprintf(&b, "\x1b[%dm%s\x1b[0m", 31+rnd.IntN(6), strings.Repeat("█", n))
				left -= n
			case 1:
				b.WriteString(strings.Repeat(" ", n))
				left -= n
			case 2:
				if left >= 2 {
					b.WriteString("計")
					left -= 2
				}
			default:
				b.WriteString(strings.Repeat(string(rune('a'+rnd.IntN(26))), n))
				left -= n
			}
		}
		lines = append(lines, b.String())
	}
	return strings.Join(lines, "\n")
}

// text is what an emulator shows.
func screenText(em *vt.Emulator) string {
	var lines []string
	for y := range em.Height() {
		var b strings.Builder
		for x := range em.Width() {
			if c := em.CellAt(x, y); c != nil && (c.Width > 0 || c.Content != "") {
				b.WriteString(c.Content)
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return strings.Join(lines, "\n")
}

// shown is the screen that a picture makes from nothing.
func shown(screen string, width, height int) string {
	em := vt.NewEmulator(width, height)
	lines := strings.Split(screen, "\n")
	_, _ = em.WriteString(strings.Join(lines[:min(len(lines), height)], "\r\n"))
	return screenText(em)
}

func TestACastShowsThePicturesStepByStep(t *testing.T) {
	const width, height = 40, 10
	path := filepath.Join(t.TempDir(), "screen.cast")
	f, err := openFile(path, noScreen)
	c := cast{file: f, title: "lightsout test"}
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	em := vt.NewEmulator(width, height)
	screen := picture(rnd, width, height)
	read, last := 0, 0.0
	for i := range 60 {
		if i%3 == 0 { // some lines change, or nothing does
			lines := strings.Split(screen, "\n")
			lines[rnd.IntN(len(lines))] = strings.Split(picture(rnd, width, height), "\n")[0]
			screen = strings.Join(lines, "\n")
		}
		if i%10 == 0 {
			screen = picture(rnd, width, height)
		}
		at := t0.Add(time.Duration(i) * 500 * time.Millisecond)
		if i == 30 {
			at = t0 // the clock was set back
		}
		c.show(shot{at: at, width: width, height: height, screen: screen})
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range bytes.SplitAfter(b[read:], []byte("\n")) {
			if len(line) == 0 {
				continue
			}
			if line[len(line)-1] != '\n' {
				t.Fatalf("a line is not whole: %q", line)
			}
			if read == 0 {
				checkHeader(t, line, width, height)
			} else {
				play(t, em, line, &last)
			}
			read += len(line)
		}
		if got, want := screenText(em), shown(screen, width, height); got != want {
			t.Fatalf("step %d shows\n%s\nand not\n%s", i, got, want)
		}
	}
	size := read
	c.show(shot{at: t0.Add(time.Hour), width: width, height: height, screen: screen})
	if b, _ := os.ReadFile(path); len(b) != size {
		t.Errorf("a picture that is the same was written again")
	}
	if err := c.end(); err != nil || c.Err() != nil {
		t.Error(err, c.Err())
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func checkHeader(t *testing.T, line []byte, width, height int) {
	t.Helper()
	var h map[string]any
	if err := json.Unmarshal(line, &h); err != nil {
		t.Fatal(err)
	}
	env, _ := h["env"].(map[string]any)
	if h["version"] != 2.0 || h["width"] != float64(width) || h["height"] != float64(height) ||
		h["timestamp"] != float64(t0.Unix()) || h["title"] != "lightsout test" || env["TERM"] == nil || len(env) != 1 {
		t.Errorf("the header is %s", line)
	}
}

// play plays a line of a cast on an emulator; last is the time of the one before.
func play(t *testing.T, em *vt.Emulator, line []byte, last *float64) {
	t.Helper()
	var e []any
	if err := json.Unmarshal(line, &e); err != nil || len(e) != 3 || e[1] != "o" {
		t.Fatalf("%q: %v", line, err)
	}
	at := e[0].(float64)
	if at < *last {
		t.Errorf("time goes back from %v to %v", *last, at)
	}
	*last = at
	_, _ = em.WriteString(e[2].(string))
}
