package tui

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"lightsout/internal/view"
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
	{"outage", mdxOutage, "", false},
	{"question", asked, "", false},
	{"stale", stale, "", false},
	{"names", names, "", false},
	{"connecting", func() *view.Frame { return nil }, "", false},
	{"help", calm, "?", false},
	{"details", mdxOutage, "down down down enter", false},
	{"details-pod", looked(view.Inspect{Of: lostPod}), "3 d", false},
	{"yaml", looked(view.Inspect{Of: lostPod}), "3 y", true},
	{"log", looked(view.Inspect{Of: lostPod, Log: true}), "3 l", false},
	{"log-search", looked(view.Inspect{Of: lostPod, Log: true}), "3 l g / 5 1 enter", true},
	{"workloads", withWorkloads, "W", true},
	{"workload-details", withWorkloads, ": s t s enter d", true},
	{"marked", calm, "down down space down space", false},
	{"driven", driven, "", true},
	{"silent", silent, "", true},
	{"requests", lookedInto, "4 enter", true},
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
		}{{80, 24, false}, {120, 36, false}, {200, 60, false}, {100, 30, true}, {60, 15, false}, {60, 20, false}} {
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
				golden(t, name+".txt", got)
			})
		}
	}
}

// TestLooksAreAsDrawnBefore keeps the colours, and each set of characters.
func TestLooksAreAsDrawnBefore(t *testing.T) {
	for _, sc := range []struct {
		name  string
		frame func() *view.Frame
		keys  string
	}{{"outage", mdxOutage, ""}, {"question", asked, ""}, {"log", looked(view.Inspect{Of: lostPod, Log: true}), "3 l"}} {
		for _, look := range []struct {
			name string
			o    Options
			ext  string
		}{{"colour", Options{}, "ansi"}, {"nocolour", Options{NoColor: true}, "ansi"}, {"ascii", Options{ASCII: true}, "txt"}} {
			for _, s := range []size{{60, 20}, {80, 24}, {120, 36}, {200, 60}} {
				m, _, _ := testModel(sc.frame(), s.w, s.h, look.o)
				typeKeys(m, sc.keys)
				got := m.View().Content
				if look.ext == "txt" {
					got = stripped(got)
				}
				if look.o.NoColor && strings.Contains(got, "\x1b[3") {
					t.Errorf("%s without colours has some", sc.name)
				}
				golden(t, fmt.Sprintf("looks/%s-%dx%d-%s.%s", sc.name, s.w, s.h, look.name, look.ext), got)
			}
		}
	}
}

// golden compares with a file of testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
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
		t.Errorf("%s has changed (go test -update writes it anew); it is now:\n%s", name, got)
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
		if width(l) != w || ansi.StringWidth(l) != w || ansi.StringWidthWc(l) != w {
			t.Fatalf("%dx%d: line %d is %d cells wide: %q", w, h, i, width(l), l)
		}
	}
}

func TestASignHasOneMeaning(t *testing.T) {
	for name, th := range map[string]*theme{"unicode": symbols(false), "ascii": symbols(true)} {
		rows := map[string]string{"pod ready": th.up, "pod not ready": th.down, "being deleted": th.leaving, "marked": th.mark, "the load goes here": th.aim,
			"good": th.okSign, "mind this": th.warnSign, "bad": th.badSign, "changed": th.changed, "under way": th.underWay, "to come": th.toCome, "gone": th.dash}
		chart := map[string]string{"capacity": th.rules[4], "ended": th.sent, "not ended": th.open, "axis": th.axis,
			"off": th.offOnly, "off, NotReady": th.offNotReady, "NotReady": th.notReady}
		for l, meaning := range map[layer]string{layerServed: "served", layerQueued: "queued", layerStalled: "stalled", layerOnDead: "on dead nodes", layerWaiting: "waiting", layerUnknown: "unknown"} {
			chart[meaning] = th.fills[l].full
		}
		if name == "unicode" { // there are enough signs for all to differ
			maps.Copy(chart, rows)
		}
		for _, part := range []map[string]string{rows, chart} {
			seen := map[string]string{}
			for meaning, sign := range part {
				if before, twice := seen[sign]; twice {
					t.Errorf("%s: %q is %q and %q", name, sign, before, meaning)
				}
				seen[sign] = meaning
			}
		}
	}
}
