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
		{[]loadgen.Report{{Source: "activator", Held: n(12), Asked: 1, Answered: 1}}, "activator: 12 seen "},
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

func TestHowLongAnswersTakeIsOnTheScreen(t *testing.T) {
	f := told()
	f.Load.Latency = loadgen.Latency{Sent: loadgen.Quantiles{Count: 72, P50: 9100 * time.Millisecond, P99: 19 * time.Second, Max: 19200 * time.Millisecond},
		FirstToken: loadgen.Quantiles{Count: 72, P50: 120 * time.Millisecond}}
	m, _, _ := testModel(f, 120, 36, Options{})
	if v := plainView(m); !strings.Contains(v, "p50 9.1 s · p99 19.0 s · slowest 19.2 s · first token p50 120 ms") {
		t.Errorf("it is not there:\n%s", v)
	}
}

func TestARateIsTakenOverTheLastSeconds(t *testing.T) {
	m, _, now := testModel(told(), 120, 36, Options{})
	for i := range 15 {
		*now = now.Add(time.Second)
		f := told()
		f.Now = f.Now.Add(time.Duration(i+1) * time.Second)
		f.Load.Totals.OK += 3 * (i + 1)
		m.Update(FrameMsg{f})
	}
	if got := m.find("Requests").pane.(*requestsPane).okRate(); got < 2.9 || got > 3.1 {
		t.Errorf("%.2f a second, want 3", got)
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

// Where nobody can tell queued requests from those at pods that are gone, the pane shows
// neither as a guess.
func TestTheScreenShowsUnknownRequests(t *testing.T) {
	f := outage()
	f.Load.Gauge = loadgen.Gauge{Capacity: 8, Target: 8, Limited: true, Served: 1, Heard: 1, Unknown: 2, Outstanding: 3, Basis: loadgen.BasisMeasured, Source: "queue-proxy"}
	f.Load.Totals.Failed, f.Load.LastError = nil, ""
	for i := range f.Load.Seconds {
		s := &f.Load.Seconds[i]
		s.Served, s.Queued, s.Stalled, s.OnDead, s.Unknown = 1, 0, 0, 0, 2
	}
	for _, o := range []Options{{}, {ASCII: true}} {
		m, _, _ := testModel(f, 120, 36, o)
		out := plainView(m)
		for _, text := range []string{"serving 1 of 8", "queued 0", "unknown 2", "2 wait beside 7 free slots"} {
			if !strings.Contains(out, text) {
				t.Errorf("%q is not on the screen:\n%s", text, out)
			}
		}
	}
}

// Behind Knative's activator a request may wait up to 20 s for a pod that is gone while
// slots are free: the screen explains that.
func TestTheScreenExplainsARequestThatWaitsBesideFreeSlots(t *testing.T) {
	f := outage()
	for _, tt := range []struct {
		queued int
		basis  loadgen.Basis
		said   bool
	}{{2, loadgen.BasisMeasured, true}, {0, loadgen.BasisMeasured, false}, {2, loadgen.BasisPartial, false}} {
		f.Load.Gauge = loadgen.Gauge{Capacity: 8, Target: 16, Limited: true, Served: 1, Heard: 1, Queued: tt.queued, Outstanding: 1 + tt.queued, Basis: tt.basis, Source: "queue-proxy"}
		f.Load.Totals.Failed, f.Load.LastError = nil, ""
		m, _, _ := testModel(f, 120, 36, Options{})
		if said := strings.Contains(plainView(m), "2 wait beside 7 free slots"); said != tt.said {
			t.Errorf("%d queued, %s: said %v\n%s", tt.queued, tt.basis, said, plainView(m))
		}
	}
}
