package tui

import (
	"strings"
	"testing"
	"time"

	"lightsout/loadgen"
)

// TestTheScreenShowsTheServersReports: in their own numbers. No answer is not 0, and
// what they call themselves does the terminal no harm.
func TestTheScreenShowsTheServersReports(t *testing.T) {
	n := func(n int) *int { return &n }
	for _, tc := range []struct {
		told []loadgen.Report
		want string
	}{
		{[]loadgen.Report{{Source: "activator", Served: n(8), Queued: n(0), Asked: 1, Answered: 1}}, "activator: 8 seen, 0 of them waiting "},
		{[]loadgen.Report{{Source: "activator", Asked: 2}}, "activator: no answer "},
		{[]loadgen.Report{{Source: "activator", Queued: n(4), Asked: 2, Answered: 1}}, "activator: 4 waiting (1 of 2 answer) "},
		{[]loadgen.Report{{Source: "vLLM", Served: n(8), Asked: 1, Answered: 1}, {Source: "front", Queued: n(4), Asked: 1, Answered: 1}}, "vLLM: serving 8 · front: 4 waiting "},
		{[]loadgen.Report{{Source: "a\x1b[31mb\u202e", Served: n(1), Asked: 1, Answered: 1}}, "serving 1 "},
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

func TestARateIsTakenOverTheLastSeconds(t *testing.T) {
	m, _, now := testModel(told(), 120, 36, Options{})
	for i := range 15 {
		*now = now.Add(time.Second)
		f := told()
		f.Now = f.Now.Add(time.Duration(i+1) * time.Second)
		f.Load.Totals.OK += 3 * (i + 1)
		f.Load.Active = true
		m.Update(FrameMsg{f})
	}
	if got := m.find("Requests").pane.(*requestsPane).answerRate(&m.s); got != "3/s" {
		t.Errorf("%s, want 3/s", got)
	}
	for _, active := range []bool{true, false} {
		for range 3 {
			*now = now.Add(time.Second)
			f := told()
			f.Now, f.Load.Active, f.Load.Latency.Sent.Count = *now, active, 72
			m.Update(FrameMsg{f})
		}
		if v := plainView(m); strings.Contains(v, "/s") != active {
			t.Errorf("more requests will be sent: %t; the screen:\n%s", active, v)
		}
	}
}
