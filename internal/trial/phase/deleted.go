package phase

import (
	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/view"
)

// wasDeleted is the reason why the tracker forecasts no phase of a node.
func (n *node) wasDeleted() string { return "the Node object of " + n.name + " was deleted" }

// forecastDeleted withdraws the forecasts of a node whose Node object was deleted: nobody marks it
// any more. The control plane deletes the pods that are left on it (pkg/controller/podgc).
func forecastDeleted(t *Tracker, n *node) {
	for _, o := range outlooks {
		r := t.rows.of(o.name, n.name)
		if r.seen() || returned(t, n) {
			continue
		}
		r.predicted, r.why = forecast.Interval{}, n.wasDeleted()
		r.never = o.name != view.PhaseEvicted || toCollect(t, n.name) == 0
	}
}

// toCollect is the number of pods on a node without a Node object that the control plane has yet
// to delete: all that are left.
func toCollect(t *Tracker, name string) (pods int) {
	for _, p := range t.snapshot.PodsOn(name) {
		if !ends(p) {
			pods++
		}
	}
	return pods
}

// collects reports whether the control plane deletes a pod because the Node object was deleted. It
// gives the pod no time to end, so nobody sees it Terminating.
func (n *node) collects(p *cluster.Pod) bool {
	return n.deleted && p.Evicted && p.Deleting.IsZero()
}

// deletedNode explains, if the Node object of a node of the trial was deleted, that this one does
// not return before it is registered again; empty if none was.
func deletedNode(t *Tracker) string {
	for _, name := range t.names {
		if n := t.nodes[name]; n.deleted {
			return n.wasDeleted()
		}
	}
	return ""
}
