package cluster

import (
	"time"

	"lightsout/internal/clock"
)

// Silent reports whether a node's heartbeat is overdue at now, and for how long
// there has been none (0 if that is unknown): the node's Ready
// condition is Unknown, or the renewal of its Lease is late by our own clock.
// While lightsout cannot see heartbeats, because the API server is away or Leases are not
// being watched, no further node turns silent. A node that is gone, or nil, is not silent.
func (s *Snapshot) Silent(n *Node, now time.Time) (silentFor time.Duration, silent bool) {
	if n == nil || !n.Gone.IsZero() {
		return 0, false
	}
	_, heard := n.Heartbeat()
	if heard.IsZero() && n.Ready == TriUnknown {
		heard = n.ReadySince
	}
	if !heard.IsZero() {
		silentFor = max(0, clock.Age(now, heard))
	}
	if n.Ready == TriUnknown || n.Overdue {
		return silentFor, true
	}
	at, ok := overdueAt(n, s.HeartbeatsSince)
	if !ok {
		return silentFor, false
	}
	slept := clock.Age(now, heard) - now.Sub(heard)
	return silentFor, seeingUntil(s, now).Add(slept).After(at)
}

// seeingUntil is the latest moment up to now for which a missing heartbeat means
// something.
func seeingUntil(s *Snapshot, now time.Time) time.Time {
	complete := s.Link.LastContact // up to when all heartbeats have been delivered
	if s.traffic != nil {
		complete = s.traffic.complete.get()
	}
	return clock.Earliest(now, clock.Earliest(complete, s.HeartbeatsUntil))
}

// PodLost reports whether the pod's node is lost: not Ready and silent, or deleted.
// Nobody can tell whether such a pod still runs.
func (s *Snapshot) PodLost(p *Pod, now time.Time) bool {
	return p.Deleting.IsZero() && s.PodUnheard(p, now)
}

// PodUnheard reports whether nobody can tell whether a pod that has not ended runs, also one
// that is being deleted: see PodLost.
func (s *Snapshot) PodUnheard(p *Pod, now time.Time) bool {
	if !p.Gone.IsZero() || p.Node == "" || p.Finished() {
		return false
	}
	n := s.Node(p.Node)
	if n == nil {
		return s.Access[KindNode].Synced
	}
	_, silent := s.Silent(n, now)
	return !n.Gone.IsZero() || silent && n.Ready != TriTrue
}
