package trial

import (
	"slices"
	"time"
)

const (
	// afterwards is how long the record of an outage without a trial goes on when everything is
	// back.
	afterwards = 30 * time.Second
	// unpromptedMost bounds it after the last switch.
	unpromptedMost = 6 * time.Hour
)

// settled reports whether the record of an outage without a trial ends: everything has been
// back for a while, or it is too long.
func settled(r *run, now time.Time) bool {
	switch {
	case r.switched.IsZero():
		return false
	case !isWhole(r):
		r.whole = time.Time{}
	case r.whole.IsZero():
		r.whole = now
	}
	return !r.whole.IsZero() && now.Sub(r.whole) >= afterwards || now.Sub(r.switched) > unpromptedMost
}

// isWhole reports whether the nodes and all pods of the deployment are back, no machine is
// being switched, and every burst has ended.
func isWhole(r *run) bool {
	away := func(n *nodeRun) bool {
		return r.s.Machine(n.name).Busy != "" || r.s.LeftOff(n.name) || !isBack(r, n.name)
	}
	if slices.ContainsFunc(r.nodes, away) {
		return false
	}
	if d := r.s.Snapshot().Deployment(r.deployment); d != nil && d.Available < d.Replicas {
		return false
	}
	return !slices.ContainsFunc(r.loads, func(l *loadRun) bool { return l.burst && !r.s.AtRest(l.number) })
}
