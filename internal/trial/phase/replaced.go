package phase

import (
	"slices"
	"time"

	"lightsout/cluster"
)

// replacement returns the pod that served last, once the pods of the outage are replaced: each of
// them was deleted or has ended, and as many pods as before serve elsewhere, or as many as the
// deployment is to have if somebody has scaled it down.
func (v *service) replacement(t *Tracker, s *cluster.Snapshot) (last *cluster.Pod) {
	if !v.ended(t, s) {
		v.allEnded = time.Time{}
		return nil
	}
	if v.allEnded.IsZero() {
		v.allEnded = s.At
	}
	serving, want := 0, v.before
	for _, p := range s.PodsOf(t.deployment) {
		if !p.Serving() || isDown(t, p.Node) {
			continue
		}
		serving++
		if last == nil || p.Changed.After(last.Changed) {
			last = p
		}
	}
	if d := s.Deployment(t.deployment); d != nil && d.Gone.IsZero() {
		want = min(want, d.Replicas)
	}
	if serving < want {
		return nil
	}
	return last
}

// ended reports whether all pods that served on the nodes of the outage were deleted or have ended.
func (v *service) ended(t *Tracker, s *cluster.Snapshot) bool {
	return !slices.ContainsFunc(s.PodsOf(t.deployment), func(p *cluster.Pod) bool { return isDown(t, v.pods[p.Key]) && !ends(p) })
}

// ends reports whether a pod is being deleted, is gone or has ended: its ReplicaSet replaces it.
func ends(p *cluster.Pod) bool {
	return !p.Deleting.IsZero() || !p.Gone.IsZero() || p.Finished()
}
