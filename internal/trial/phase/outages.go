package phase

import (
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/clock"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// Outages returns the power-off requests so far by their time, as the outages of the nodes are now.
// The first one is zero, with or without a node.
func (t *Tracker) Outages() (out loadgen.PowerOffs) {
	if t.zero.IsZero() {
		return nil
	}
	returned := map[*service]time.Time{}
	for i, w := range slices.Backward(t.waves) {
		returned[w] = t.returnedAt(i)
		if returned[w].IsZero() && i+1 < len(t.waves) { // it ends with the next one
			returned[w] = returned[t.waves[i+1]]
		}
	}
	for _, n := range t.all {
		out = append(out, loadgen.PowerOff{Off: n.off(), Detected: n.rows.at(view.PhaseDetected), On: n.on(), Returned: returned[n.wave]})
	}
	if len(out) == 0 {
		out = loadgen.PowerOffs{{}}
	}
	slices.SortStableFunc(out, func(a, b loadgen.PowerOff) int { return a.Off.Compare(b.Off) })
	out[0].Off = t.zero
	return out
}

// Returning reports whether a machine was asked to power on, or has booted before that.
func (t *Tracker) Returning() bool {
	return slices.ContainsFunc(t.all, func(n *node) bool { return !n.on().IsZero() })
}

// back reports whether a node that was asked to return is back: it was seen Ready again or, if nobody
// saw it go down, is Ready.
func (n *node) back() bool { return n.rows.seen(view.PhaseReady) || n.up() && !n.outage.WasDown() }

// Back reports whether a node whose machine was powered on is back, as far as the newest snapshot shows.
func (t *Tracker) Back(name string) bool {
	if n := t.nodes[name]; n != nil && n.outage.WasDown() {
		return n.back()
	}
	x := t.snapshot.Node(name)
	return x != nil && t.snapshot.Link.State == cluster.LinkLive && x.Ready == cluster.TriTrue
}

// returnedAt is when all nodes that were off in a wave were Ready again and the deployment had all its
// pods; zero if they were not before the next one.
func (t *Tracker) returnedAt(wave int) (last time.Time) {
	later, looked := t.waves[wave+1:], map[string]bool{}
	for _, n := range slices.Backward(t.all) {
		if slices.Contains(later, n.wave) || looked[n.name] {
			continue
		}
		looked[n.name] = true
		at := n.rows.at(view.PhaseReady)
		if at.IsZero() && (n.wave == t.waves[wave] || !n.back()) {
			return time.Time{}
		}
		last = clock.Latest(last, at)
	}
	restored := t.waves[wave].rows[view.PhaseRestored]
	switch {
	case t.deployment == (cluster.Key{}), restored == nil, restored.seen() && last.After(restored.when.By):
		return last
	}
	return restored.when.By
}
