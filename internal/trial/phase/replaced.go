package phase

import (
	"time"

	"lightsout/cluster"
)

// replacement returns the pod that served last, once the pods of the outage are replaced: each of
// them was deleted or has ended, and as many pods as before serve elsewhere. Pods that somebody has
// removed since need no replacement. Pods that somebody has added replace none: if not all pods
// serve that the deployment is to have, as many must be new as served on the nodes.
func (v *service) replacement(t *Tracker, s *cluster.Snapshot) (last *cluster.Pod) {
	if !v.followEnds(t, s) {
		v.allEnded = time.Time{}
		return nil
	}
	if v.allEnded.IsZero() {
		v.allEnded = s.At
	}
	serving, fresh, lost := 0, 0, v.lost(t)
	for _, p := range s.PodsOf(t.deployment) {
		if !p.Serving() || isDown(t, p.Node) {
			continue
		}
		serving++
		if _, old := v.pods[p.Key]; !old && !p.Created.Before(v.ended.Add(-endMargin)) {
			fresh++
		}
		if last == nil || p.Changed.After(last.Changed) {
			last = p
		}
	}
	fewer, all := 0, false
	if d := s.Deployment(t.deployment); d != nil && d.Gone.IsZero() {
		fewer, all = max(0, v.replicas-d.Replicas), serving >= d.Replicas
	}
	if serving < v.before-fewer || !all && fresh < lost-fewer {
		return nil
	}
	return last
}

// endMargin is how far the times of a pod that ended and of its replacement may differ by their
// clocks: cluster.Snapshot.Ahead does not know less than 5 s, and both have whole seconds.
const endMargin = 6 * time.Second

// followEnds finds when the first pod that served on a node of the outage was deleted, or may have
// ended. It reports whether all have.
func (v *service) followEnds(t *Tracker, s *cluster.Snapshot) bool {
	all := true
	for _, p := range s.PodsOf(t.deployment) {
		n := t.nodes[v.pods[p.Key]]
		switch {
		case n == nil, !isDown(t, n.name):
			continue
		case !ends(p):
			all = false
			continue
		}
		end := p.Deleting
		if end.IsZero() || n.graceful > 0 { // lightsout may see that it ended long afterwards
			end = n.off.Add(s.Ahead())
		}
		if v.ended.IsZero() || end.Before(v.ended) {
			v.ended = end
		}
	}
	return all
}

// ends reports whether a pod is being deleted, is gone or has ended: its ReplicaSet replaces it.
func ends(p *cluster.Pod) bool {
	return !p.Deleting.IsZero() || !p.Gone.IsZero() || p.Finished()
}
