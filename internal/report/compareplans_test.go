package report

import (
	"strings"
	"testing"
)

func TestAComparisonShowsWherePlansDiffer(t *testing.T) {
	rs := runs()
	for i, how := range []string{"plug", "shutdown", "plug"} {
		rs[i].Plan = []byte("name: mdx # ours\nsteps:\n  - off: {nodes: [a], how: " + how + "}\n  - wait: detected\n")
	}
	shown := compareText(t, rs)
	for _, want := range []string{"plans: the lines that differ", "- off: {nodes: [a], how: plug}", "- off: {nodes: [a], how: shutdown}"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the matrix lacks %q:\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "- wait: detected") {
		t.Errorf("the matrix has a line that all plans have:\n%s", shown)
	}
	for _, line := range strings.Split(shown, "\n") {
		if strings.Contains(line, "how: plug") && strings.Count(line, "yes") != 2 || strings.Contains(line, "how: shutdown") && strings.Count(line, "yes") != 1 {
			t.Errorf("the wrong runs have the line: %s", line)
		}
	}
	rs[1].Plan = rs[0].Plan
	if shown := compareText(t, rs); strings.Contains(shown, "plans:") {
		t.Errorf("the matrix reports a difference between equal plans:\n%s", shown)
	}
}
