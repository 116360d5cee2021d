package trial

import (
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/trial/phase"
	"lightsout/internal/view"
)

// settles is how long after the power-on the ReplicaSets may still create pods that replace
// evicted ones, and the scheduler may still find nodes for them. No machine boots as fast.
const settles = 2 * time.Second

// countPending counts the pods without a node in a snapshot, until those of the first power-on have
// settled.
func countPending(r *run, s *cluster.Snapshot) {
	back := func(n *nodeRun) bool {
		_, ready := r.tracker.Observed(view.PhaseReady, n.name)
		return ready
	}
	on := firstPowerOn(r)
	if on.IsZero() || s.At.Sub(on) <= settles && !slices.ContainsFunc(r.nodes, back) {
		n := forecast.Unscheduled(s)
		r.pending = &n
	}
}

// pendingSeen is that number; nil if a blind span hid it.
func pendingSeen(r *run) *int {
	on := firstPowerOn(r)
	if on.IsZero() {
		on = r.ended
	}
	hid := func(b phase.Blind) bool { return !b.From.After(on) && (b.To.IsZero() || b.To.After(on)) }
	if slices.ContainsFunc(r.tracker.Blind(), hid) {
		return nil
	}
	return r.pending
}

// firstPowerOn is when the driver was first asked to power a machine on; zero before.
func firstPowerOn(r *run) time.Time { return r.tracker.Outages().FirstOn() }
