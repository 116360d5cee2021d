package record

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"

	"lightsout/internal/testenv"
)

// playCast plays a cast on an emulator, and returns its codes in order and its markers.
func playCast(t *testing.T, em *vt.Emulator, path string) (codes string, marks []string, length float64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	for _, line := range lines[1:] {
		var e []any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		length = e[0].(float64)
		codes += e[1].(string)
		switch data := e[2].(string); e[1] {
		case "o":
			_, _ = em.WriteString(data)
		case "m":
			marks = append(marks, data)
		case "r":
			var w, h int
			_, _ = fmt.Sscanf(data, "%dx%d", &w, &h)
			em.Resize(w, h)
		}
	}
	return codes, marks, length
}

func TestALiveScreenIsRecordedWithItsSizesAndMarkers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "screen.cast")
	s, err := NewScreen(path, "lightsout", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	last := picture(rnd, 40, 10)
	s.Show(t0, 40, 10, last)
	s.Show(t0.Add(time.Second), 40, 10, last) // no change
	s.Mark("kube-node3 NotReady")
	last = picture(rnd, 60, 12)
	s.Show(t0.Add(2*time.Second), 60, 12, last)
	last = picture(rnd, 60, 12)
	s.Show(t0.Add(3500*time.Millisecond), 60, 12, last)
	if err := s.Close(); err != nil || s.LeftOut() != 0 {
		t.Fatal(err, s.LeftOut())
	}
	em := vt.NewEmulator(40, 10)
	codes, marks, length := playCast(t, em, path)
	if got, want := screenText(em), shown(last, 60, 12); got != want {
		t.Errorf("the screen shows\n%s\nwant\n%s", got, want)
	}
	if codes != "ormooo" || len(marks) != 1 || marks[0] != "kube-node3 NotReady" || length != 3.5 {
		t.Errorf("%s, %v, %v s", codes, marks, length)
	}
	if _, err := NewScreen(path, "", nil, nil); err == nil {
		t.Error("the cast overwrote a recording")
	}
	checkPlays(t, path)
}

// checkPlays has asciinema play a cast.
func checkPlays(t *testing.T, path string) {
	t.Helper()
	if _, err := exec.LookPath("asciinema"); err != nil {
		testenv.Skip(t, "asciinema is not installed")
	}
	out, err := exec.Command("script", "-qec", "asciinema cat "+path, "/dev/null").CombinedOutput() // it wants a terminal
	if err != nil || !strings.Contains(string(out), "\x1b[2J") {
		t.Errorf("asciinema can't play it: %v\n%s", err, out)
	}
	if strings.LastIndex(string(out), "\x1b[?7h") < strings.LastIndex(string(out), "\x1b[?7l") {
		t.Errorf("the terminal wraps no lines afterwards:\n%q", out)
	}
}
