package trial

import (
	"strings"
	"testing"
	"time"

	"lightsout/internal/trial/phase"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"

	"lightsout/cluster"
)

// The expectation means what the phase means: what fails in a rollout, after the
// power-on, is another thing.
func TestTheErrorWindowOfALoadEndsWithThePowerOn(t *testing.T) {
	zero := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }
	r := &run{zero: zero, started: at(-60), tracker: phase.NewTracker(cluster.Key{})}
	r.tracker.Zero(zero, nil)
	r.tracker.Switched("k8s2", power.ActionOff, zero)
	fail := func(run int, sent float64) {
		r.tracker.Request(loadgen.Record{Run: run, Class: loadgen.ClassTotal, Scheduled: at(sent), Sent: at(sent), End: at(sent + 3)})
	}
	for _, sent := range []float64{-30, 2, 12, 32} {
		fail(1, sent)
	}
	fail(2, 90)
	r.tracker.Switched("k8s2", power.ActionOn, at(100))
	fail(1, 450) // the rollout
	sixty := 60.0
	for _, tc := range []struct {
		run       int
		max       *float64
		predicted bool
		got       string
		ok        bool
	}{
		{1, &sixty, false, "30 s, 3 requests", true},
		{2, &sixty, false, "0 s, 1 request", true},
		{3, &sixty, false, "0 s, none failed", true},
		{1, nil, true, "with no forecast", false},
	} {
		x := plan.Expectation{Measure: "error_window", Step: "a", Max: tc.max, Predicted: tc.predicted}
		if x.Phase() != view.PhaseErrors {
			t.Fatalf("it is about %q", x.Phase())
		}
		got, ok := meetWindow(x, r, r.tracker.Window(tc.run))
		if !strings.Contains(got, tc.got) || ok != tc.ok {
			t.Errorf("run %d: %q %v, want %q %v", tc.run, got, ok, tc.got, tc.ok)
		}
	}
}
