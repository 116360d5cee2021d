package cli

import (
	"strings"
	"testing"

	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// Each step of the plan has its caption, which claims nothing that is still to come: the numbers of a result are
// those that were seen since the step was announced.
func TestCaptionsAnnounceBeforeAndStateAfter(t *testing.T) {
	for scenario, script := range demoScripts {
		p, err := plan.Open(scenario)
		if err != nil || len(script.steps) != len(p.Steps) {
			t.Errorf("%s: %v, %d captions for %d steps", scenario, err, len(script.steps), len(p.Steps))
		}
		for _, s := range script.steps {
			if strings.Contains(s.before, "{") || s.before == "" {
				t.Errorf("%s: %q", scenario, s.before)
			}
		}
	}
	seen := func(served, queued, failed int) *view.Frame {
		var f view.Frame
		f.Load.Gauge = loadgen.Gauge{Served: served, Queued: queued}
		f.Load.Totals.Failed = loadgen.ByClass{loadgen.ClassRefused: failed}
		return &f
	}
	l := demoLoad{failedBefore: 2}
	for _, f := range []*view.Frame{seen(8, 4, 2), seen(4, 0, 3), seen(0, 0, 3)} {
		l.see(f)
	}
	const want = "8 of 12 served at once, 4 queued until a pod was free, 1 failed."
	if got := l.result(demoScripts["mdx"].steps[5].after); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
