package tui

import (
	"flag"
	"fmt"
	"lightsout/internal/view"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

var update = flag.Bool("update", false, "write the golden files anew")

func resize(m *Model, w, h int) { m.Update(tea.WindowSizeMsg{Width: w, Height: h}) }

// plainView is what the screen shows, without looks.
func plainView(m *Model) string { return stripped(m.View().Content) }

var scenes = []struct {
	name  string
	frame func() *view.Frame
	keys  string
	few   bool // kept for the usual sizes only
}{
	{"calm", calm, "", false},
	{"outage", outage, "", false},
	{"question", asked, "", false},
	{"stale", stale, "", false},
	{"names", names, "", false},
	{"connecting", func() *view.Frame { return nil }, "", false},
	{"help", calm, "?", false},
	{"details", outage, "down down down enter", false},
	{"marked", calm, "down down space space", false},
	{"driven", driven, "", true},
	{"silent", silent, "", true},
	{"failing", failing, "", true},
	{"failing-5s", failing, "w", true},
	{"told", told, "", true},
	{"differs", differs, "", true},
	{"free", free, "", true},
	{"trial", silent, "6", true},
	{"trial-whole", silent, "T", true},
	{"passed", passed, "", true},
	{"passed-whole", passed, "T", true},
	{"failed", failed, "", true},
	{"failed-whole", failed, "T", true},
	{"replay", replayed, "", true},
	{"replay-question", replayedQuestion, "", true},
}

func TestScreensAreAsDrawnBefore(t *testing.T) {
	for _, sc := range scenes {
		for _, v := range []struct {
			w, h  int
			ascii bool
		}{{80, 24, false}, {120, 36, false}, {200, 60, false}, {100, 30, true}, {60, 15, false}, {70, 20, false}} {
			name := fmt.Sprintf("%s-%dx%d", sc.name, v.w, v.h)
			if v.ascii {
				name += "-ascii"
			}
			t.Run(name, func(t *testing.T) {
				m, _, _ := testModel(sc.frame(), v.w, v.h, Options{ASCII: v.ascii, NoColor: v.ascii})
				typeKeys(m, sc.keys)
				got := plainView(m)
				if v.ascii && onlyASCII(strings.ReplaceAll(got, "\n", "")) != strings.ReplaceAll(got, "\n", "") {
					t.Errorf("the ASCII screen has other characters:\n%s", got)
				}
				checkWidths(t, m, v.w, v.h)
				if sc.few && v.w != 80 && v.w != 120 && !v.ascii {
					return
				}
				file := filepath.Join("testdata", name+".txt")
				if *update {
					if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if got+"\n" != string(want) {
					t.Errorf("the screen has changed (go test -update writes it anew); it is now:\n%s", got)
				}
			})
		}
	}
}

// checkWidths fails unless every line is exactly as wide as the terminal.
func checkWidths(t testing.TB, m *Model, w, h int) {
	t.Helper()
	lines := strings.Split(plainView(m), "\n")
	if len(lines) != h {
		t.Fatalf("%dx%d: %d lines", w, h, len(lines))
	}
	for i, l := range lines {
		if width(l) != w {
			t.Fatalf("%dx%d: line %d is %d cells wide: %q", w, h, i, width(l), l)
		}
	}
}
