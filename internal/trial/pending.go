package trial

import (
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/trial/phase"
	"lightsout/internal/view"
)

// pendingPods is the number of pods without a node, up to the first power-on request.
type pendingPods struct {
	n *int
	// settled is that number shortly after the power-on; nil: nobody has counted.
	settled *int
	// counted is when lightsout counted them last, and due when it last had to.
	counted, due time.Time
	// compared is when lightsout counted them last after the power-on, to find out whether a
	// stall had hidden pods from it; changed: there were others.
	compared time.Time
	changed  bool
}

// count counts them in a snapshot. It is called with each one.
func (p *pendingPods) count(r *run, s *cluster.Snapshot) {
	live := s.Link.State == cluster.LinkLive
	if on := firstPowerOn(r); !on.IsZero() {
		if live && p.n != nil {
			p.settle(r, s, on)
			p.compare(r, s)
		}
		return
	}
	p.due = r.now()
	if live {
		n := forecast.Unscheduled(s)
		p.n, p.counted = &n, p.due
	}
}

// settles is how long after the power-on the ReplicaSets may still create pods that replace
// evicted ones, and the scheduler may still find nodes for them. No machine boots as fast.
const settles = 2 * time.Second

// settle counts the pods once more until those of the power-on have settled.
func (p *pendingPods) settle(r *run, s *cluster.Snapshot, on time.Time) {
	back := func(n *nodeRun) bool {
		_, ready := r.tracker.Observed(view.PhaseReady, n.name)
		return ready
	}
	if s.At.Sub(on) <= settles && !slices.ContainsFunc(r.nodes, back) {
		n := forecast.Unscheduled(s)
		p.settled = &n
	}
}

// compare compares the number with the first snapshot after a stall that lasted at the
// power-on, and those in which its changes may still arrive.
func (p *pendingPods) compare(r *run, s *cluster.Snapshot) {
	for _, b := range p.unseen(r) {
		if b.Stalled && s.At.After(b.To) && (p.compared.Before(b.To) || s.At.Before(b.Delivered())) {
			p.compared = s.At
			p.changed = p.changed || forecast.Unscheduled(s) != *p.n
		}
	}
}

// unseen lists the blind spans between the last count and the first power-on request.
func (p *pendingPods) unseen(r *run) []phase.Blind {
	due := firstPowerOn(r)
	if due.IsZero() {
		due = p.due
	}
	return slices.DeleteFunc(r.tracker.Blind(), func(b phase.Blind) bool {
		return b.From.After(due) || !b.To.IsZero() && !b.To.After(p.counted)
	})
}

// seen returns the number once it has settled; nil if a blind span hid it. A stall did not if the
// watches delivered no other number after it.
func (p *pendingPods) seen(r *run) *int {
	hid := func(b phase.Blind) bool { return !b.Stalled || p.changed || p.compared.Before(b.To) }
	unseen := p.unseen(r)
	switch {
	case slices.ContainsFunc(unseen, hid):
		return nil
	case len(unseen) == 0 && p.settled != nil:
		return p.settled
	}
	return p.n
}

// firstPowerOn is when the driver was first asked to power a machine on; zero before.
func firstPowerOn(r *run) time.Time { return r.tracker.Outages().FirstOn() }
