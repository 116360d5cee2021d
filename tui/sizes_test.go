package tui

import (
	"strings"
	"testing"

	"lightsout/internal/view"
)

// modes are the keys that lead to every pane, dialog and mode, and back.
var modes = []struct{ there, back string }{
	{"", ""}, {"1", "1"}, {"2", "1"}, {"3", "1"}, {"4", "1"}, {"5 up up", "1"}, {"6", "1"}, {"z", "z"}, {"4 z", "z 1"}, {"5 z", "z 1"},
	{"T", "T"}, {"?", "esc"}, {"d", "esc"}, {"3 d", "esc 1"}, {"5 up d", "esc 1"}, {"/ n o", "esc"}, {"n", "esc"}, {"m", "esc"}, {"M", "esc"},
	{"Y", "esc"}, {"3 L", "esc 1"}, {"3 d / x enter", "esc 1"}, {"3 d u y", "esc esc esc 1"}, {"w", "w"}, {":", "esc"},
}

// TestEverySizeIsDrawn goes from 40x10 to 300x100 through all panes, dialogs and
// modes: no line is wider or narrower than the screen, frames are whole, and how
// to get help, how to leave, or what a dialog takes, stands on the last line.
func TestEverySizeIsDrawn(t *testing.T) {
	widths := []int{40, 59, 60, 76, 80, 120, 160, 300}
	heights := []int{10, 15, 19, 22, 24, 29, 44, 60, 100}
	if testing.Short() {
		widths, heights = []int{40, 80, 120, 300}, []int{10, 15, 24, 100}
	}
	for _, sc := range []struct {
		name  string
		frame func() *view.Frame
		o     Options
	}{{"outage", mdxOutage, Options{}}, {"failing", failing, Options{}}, {"failed", failed, Options{}}, {"names", names, Options{}}, {"looked", looked(view.Inspect{Of: lostPod, Log: true}), Options{}},
		{"stale", stale, Options{ASCII: true}}, {"replay", replayed, Options{}}, {"question", asked, Options{NoColor: true}}} {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			m, _, _ := testModel(sc.frame(), 80, 24, sc.o)
			for _, w := range widths {
				for _, h := range heights {
					resize(m, w, h)
					for _, mode := range modes {
						typeKeys(m, mode.there)
						checkWidths(t, m, w, h)
						checkFrame(t, m, mode.there)
						typeKeys(m, mode.back)
					}
				}
			}
		})
	}
}

// checkFrame fails unless every line but those around the frame begins and ends
// in it, and the last line says what to press.
func checkFrame(t *testing.T, m *Model, keys string) {
	t.Helper()
	lines := strings.Split(plainView(m), "\n")
	inside := false
	edges := "│├╰╭┌└|+" + "▏"
	for i, l := range lines[:len(lines)-1-len(captionLines(m, m.w))] {
		r := []rune(l)
		switch {
		case !inside && strings.ContainsRune("╭┌+", r[0]):
			inside = true
		case inside && (!strings.ContainsRune(edges, r[0]) || !strings.ContainsRune("│┤╯╮┐┘|+", r[len(r)-1])):
			t.Fatalf("%dx%d, keys %q: line %d is no part of the frame: %q", m.w, m.h, keys, i, l)
		}
	}
	if !inside {
		t.Fatalf("%dx%d, keys %q: there is no frame:\n%s", m.w, m.h, keys, strings.Join(lines, "\n"))
	}
	last := lines[len(lines)-1]
	if m.dialogs.top() == nil && (!strings.Contains(last, "? help") || !strings.Contains(last, "q quit")) {
		t.Fatalf("%dx%d, keys %q: the last line does not say how to leave: %q", m.w, m.h, keys, last)
	}
	if m.dialogs.top() != nil && strings.TrimSpace(last) == "" {
		t.Fatalf("%dx%d, keys %q: the last line does not say what the dialog takes", m.w, m.h, keys)
	}
}
