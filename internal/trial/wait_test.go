package trial

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/trial/phase"
	"lightsout/internal/trial/plan"
	"lightsout/power"
)

// A wait that ends while lightsout sees nothing proves nothing: the trial is not observed.
func TestAWaitThatEndsBlindIsNotObserved(t *testing.T) {
	for state, blind := range map[cluster.LinkState]bool{cluster.LinkLive: false, cluster.LinkDisconnected: true} {
		now := zero
		r := &run{t: &Runner{opt: Options{Now: func() time.Time { return now }}}, tracker: phase.NewTracker(cluster.Key{}), nodes: []*nodeRun{{name: "k8s2"}}}
		r.tracker.Zero(zero, nil)
		r.tracker.Switched("k8s2", power.ActionOff, zero)
		poll := (steps{r}).Wait(&plan.Wait{For: plan.WaitRestored, Within: 25 * time.Second})
		now = at(10)
		r.tracker.Observe(cluster.NewSnapshot(cluster.Contents{At: now, Link: cluster.Link{State: state, LastContact: at(2)}}), now)
		now = at(26)
		if done, _, err := poll(now); !done || err == nil || !strings.Contains(err.Error(), "not seen within") {
			t.Errorf("%v: %v", done, err)
		}
		if (len(r.unsteady) > 0) != blind {
			t.Errorf("%v: %q", state, r.unsteady)
		}
	}
}
