package cluster

import (
	"sync/atomic"
	"time"

	"lightsout/internal/clock"
)

// overdueShare of a Lease's duration without a renewal is silence. A kubelet
// renews after 0.25 of it with 4 % jitter (pkg/kubelet/kubelet.go), so at 0.4
// one renewal is missing and more than half an interval late.
const overdueShare = 0.4

const (
	// renewShare and renewJitter say how often a kubelet renews its Lease.
	renewShare  = 0.25
	renewJitter = 1.04
	// catchUp is for how long after a watch was taken up again its events may
	// be about what happened before.
	catchUp = 2 * time.Second
	// briefBreak of the watch delays no renewal by as much as makes it overdue: the
	// clocks of silence go on.
	briefBreak = 500 * time.Millisecond
)

// heartbeat is the state of a node's Lease. It is not part of the Snapshots, and all
// Nodes of one name share it: a renewal that changes nothing else makes neither a new
// Node nor a new Snapshot.
type heartbeat struct {
	newest atomic.Pointer[renewal] // for several goroutines

	// The rest is the owner's of the state.
	lease
	// behind is seen - renewed of a renewal that was delivered live: the
	// difference between the node's clock and ours.
	behind time.Duration
	// late: the renewal in the first list was overdue already, and had not been held up by an API server that
	// answered nobody.
	late bool
}

// renewal is one renewal of a Lease: by the node's clock, and when it was
// delivered by ours. received: the watch has delivered a renewal of this Lease live, so
// lightsout knows how far the node's clock is off.
type renewal struct {
	renewed, seen time.Time
	received      bool
}

// Heartbeat is the newest renewal of the node's Lease as of this moment:
// renewed by the node's own clock, seen when the watch delivered it by ours.
// Both are zero when leases can't be read.
func (n *Node) Heartbeat() (renewed, seen time.Time) {
	if n.beat != nil {
		if r := n.beat.newest.Load(); r != nil {
			return r.renewed, r.seen
		}
	}
	return n.Renewed, n.RenewSeen
}

// HeartbeatReceived reports whether the watch has delivered a renewal of the node's Lease
// live. Until then Heartbeat trusts the node's clock: a node that died with a clock that
// was ahead looks alive. A Node of a record has received what it holds.
func (n *Node) HeartbeatReceived() bool {
	if n.beat == nil {
		return !n.RenewSeen.IsZero()
	}
	r := n.beat.newest.Load()
	return r != nil && r.received
}

// RenewEvery is the longest regular pause between two heartbeats of the node, 0
// when its Lease has not been seen.
func (n *Node) RenewEvery() time.Duration {
	return time.Duration(renewShare * renewJitter * float64(n.LeaseDuration))
}

// overdueAt is when the node's silence may be concluded if no renewal comes.
func overdueAt(n *Node, watchedSince time.Time) (time.Time, bool) {
	_, from := n.Heartbeat()
	if from.IsZero() || n.LeaseDuration <= 0 {
		return time.Time{}, false
	}
	return clock.Latest(from, watchedSince).Add(time.Duration(overdueShare * float64(n.LeaseDuration))), true
}

// late reports whether a renewal that is so old by now is overdue.
func (l *lease) late(age time.Duration) bool {
	return age > time.Duration(overdueShare*float64(l.duration))
}

// HeartbeatLate reports whether the node's last heartbeat is older than 0.4 of its Lease's
// duration, even if lightsout could not receive one. It is false for a node without a
// Lease.
func (n *Node) HeartbeatLate(now time.Time) bool {
	_, seen := n.Heartbeat()
	l := lease{duration: n.LeaseDuration}
	return !seen.IsZero() && n.LeaseDuration > 0 && l.late(clock.Age(now, seen))
}

// into takes the newest renewal over into a Node that is being made.
func (h *heartbeat) into(n *Node) {
	if h != nil {
		n.beat, n.LeaseDuration, n.Overdue = h, h.duration, n.Overdue || h.late
		n.Renewed, n.RenewSeen = n.Heartbeat()
	}
}

func (l *lease) id() Key { return Key{Name: l.node} }

func (l *lease) put(s *state, seen time.Time, _ bool) { s.setLease(l, seen, false) }

func (l *lease) drop(s *state, _ time.Time) { delete(s.leases, l.node) }

// setLease takes a renewal. One that changes no word costs one check of the node.
func (s *state) setLease(l *lease, seen time.Time, listed bool) {
	r := s.leases[l.node]
	switch {
	case l.renewed.IsZero(): // it contains no heartbeat
		return
	case r == nil:
		// Until a renewal is delivered live, the node's clock is taken to be the server's.
		r = &heartbeat{behind: -s.w.client.traffic.ahead()}
		s.leases[l.node] = r
	case r.renewed.Equal(l.renewed) && r.duration == l.duration:
		return
	}
	before := r.newest.Load()
	first, at := before == nil, seen
	received := !first && before.received
	if listed || s.heartbeatsFrom.IsZero() || seen.Sub(s.heartbeatsFrom) < catchUp || !within(s.sight.spans, seen, time.Time{}).Exact() {
		// It may have been renewed some time ago, or have waited while lightsout was blind: by the
		// node's clock, less what that is known to be off.
		if ago := at.Sub(l.renewed.Add(r.behind)); ago > 0 {
			at = at.Add(-ago) // on our clock, whatever it is set to later
		}
	} else {
		received = received || !r.renewed.Equal(l.renewed)
		r.behind = at.Sub(l.renewed)
	}
	r.lease = *l
	n := s.node(l.node)
	silence := time.Duration(0)
	if before != nil {
		silence = seen.Sub(before.seen)
	}
	r.newest.Store(&renewal{l.renewed, at, received})
	r.late = first && l.late(seen.Sub(at)) && (s.answersFrom.IsZero() || l.late(seen.Sub(s.answersFrom)))
	if n == nil || !n.Gone.IsZero() {
		return
	}
	back := n.Overdue && !l.late(seen.Sub(at))
	if !back && !r.late && n.beat == r && n.LeaseDuration == l.duration {
		return
	}
	x := *n
	r.into(&x)
	if back {
		x.Overdue, x.Changed = false, seen
		s.transit(Transition{Subject: nodeRef(n), Change: ChangeHeartbeat, From: heartbeatOverdue, To: heartbeatOnTime, Was: HealthBad, Is: HealthGood,
			Why: "after " + Span(silence) + " of silence", When: At(seen)})
	}
	s.t.nodes.set(&x)
	s.awaitHeartbeat(&x)
	s.dirty = true
}

// checkBy schedules a check of the heartbeats for a moment.
func (s *state) checkBy(at time.Time) {
	if at.Before(s.nextCheck) {
		s.nextCheck = at
	}
}

// awaitHeartbeat schedules a check of the heartbeats for when the node's is overdue.
func (s *state) awaitHeartbeat(n *Node) {
	if at, ok := overdueAt(n, s.heartbeatsFrom); ok && !n.Overdue {
		s.checkBy(at)
	}
}

// resetHeartbeatClocks restarts the clocks of silence: a heartbeat that lightsout could
// not have received is not missing.
func (s *state) resetHeartbeatClocks(now time.Time) {
	s.heartbeatsFrom, s.nextCheck, s.dirty = now, now, true
}

// checkHeartbeats finds the nodes whose heartbeat is overdue. It checks all nodes when
// the first one is due, which is seldom: most have been renewed since the last check,
// and are due seconds later.
func (s *state) checkHeartbeats(now time.Time) {
	if s.nextCheck.After(now) {
		return
	}
	s.nextCheck = now.Add(time.Hour)
	if s.link.State != LinkLive || !s.heartbeatsTo.IsZero() {
		return // the next heartbeats trigger a check
	}
	complete := s.w.client.traffic.complete.get()
	var late []*Node
	s.t.nodes.each(func(n *Node) bool {
		switch at, ok := overdueAt(n, s.heartbeatsFrom); {
		case !ok || n.Overdue || !n.Gone.IsZero():
		case at.After(now):
			s.checkBy(at)
		case complete.Before(at):
			// Is it the node that is silent, or the line?
			s.w.checkLink(heartbeatLine)
			s.checkBy(now.Add(250 * time.Millisecond))
		default:
			late = append(late, n)
		}
		return true
	})
	for _, n := range late {
		s.setOverdue(n, now)
	}
}

// setOverdue concludes that a node's heartbeat is missing.
func (s *state) setOverdue(n *Node, now time.Time) {
	at, _ := overdueAt(n, s.heartbeatsFrom)
	x := *n
	x.Renewed, x.RenewSeen = n.Heartbeat()
	x.Overdue, x.Changed = true, now
	s.t.nodes.set(&x)
	s.dirty = true
	s.transit(Transition{Subject: nodeRef(n), Change: ChangeHeartbeat, From: heartbeatOnTime, To: heartbeatOverdue, Was: HealthGood, Is: HealthBad,
		Why: "no heartbeat for " + Span(now.Sub(x.RenewSeen)), SourceTime: at, When: At(now)})
}
