package tui

import (
	"strings"
	"testing"

	"lightsout/loadgen"
)

// TestWhatServersTellIsShown in their own numbers: no answer is not 0, and
// what they call themselves does the terminal no harm.
func TestWhatServersTellIsShown(t *testing.T) {
	n := func(n int) *int { return &n }
	for _, tc := range []struct {
		told []loadgen.Report
		want string
	}{
		{[]loadgen.Report{{Source: "activator", Served: n(8), Queued: n(0), Asked: 1, Answered: 1}}, "activator 8 active 0 queued "},
		{[]loadgen.Report{{Source: "activator", Asked: 2}}, "activator no answer "},
		{[]loadgen.Report{{Source: "activator", Queued: n(4), Asked: 2, Answered: 1}}, "activator 4 queued (1 of 2 answer) "},
		{[]loadgen.Report{{Source: "vLLM", Served: n(8), Asked: 1, Answered: 1}, {Source: "front", Queued: n(4), Asked: 1, Answered: 1}}, "vLLM 8 active · front 4 queued "},
		{[]loadgen.Report{{Source: "a\x1b[31mb\u202e", Served: n(1), Asked: 1, Answered: 1}}, "1 active "},
	} {
		f := told()
		f.Load.Gauge.Reported = tc.told
		m, _, _ := testModel(f, 120, 36, Options{})
		screen := plainView(m)
		if !strings.Contains(screen, tc.want) {
			t.Errorf("%+v: %q is not on the screen:\n%s", tc.told, tc.want, screen)
		}
		if strings.ContainsAny(m.View().Content, "\u202e") || strings.Contains(m.View().Content, "a\x1b[31mb") {
			t.Errorf("%+v reaches the terminal as it is", tc.told)
		}
	}
}
