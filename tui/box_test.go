package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// What counts most stands last in a title and stays when there is little room.
func TestANarrowTitleKeepsItsLastFact(t *testing.T) {
	th := newTheme(Options{NoColor: true})
	s := section{drawing: drawing{title: "Nodes", facts: "2 marked " + th.bullet + " 3/5 ready"}, number: "1"}
	for w, want := range map[int][]string{44: {"2 marked", "3/5 ready"}, 40: {"3/5 ready"}, 24: {"Nodes"}} {
		line := ansi.Strip(titleLine(th, w, s, "+", "+"))
		if ansi.StringWidth(line) != w {
			t.Errorf("%d cells instead of %d: %s", ansi.StringWidth(line), w, line)
		}
		for _, part := range want {
			if !strings.Contains(line, part) {
				t.Errorf("no %q in %d cells: %s", part, w, line)
			}
		}
	}
}
