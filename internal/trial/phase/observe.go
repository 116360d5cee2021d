package phase

import (
	"cmp"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// Transition records a change of the cluster; it must receive every transition, in
// order.
func (t *Tracker) Transition(tr cluster.Transition) {
	if t.zero.IsZero() {
		return
	}
	t.forecastFirst()
	switch tr.Subject.Kind {
	case cluster.KindNode:
		if n := t.nodes[tr.Subject.Name]; n != nil && !tr.Seen.Before(n.off) {
			nodeChanged(t, n, tr)
		}
	case cluster.KindPod:
		if tr.Change == cluster.ChangeStatus && tr.To == cluster.WordTerminating && t.snapshot != nil {
			podDeleted(t, t.snapshot.Pod(tr.Subject.Key), tr)
		}
	}
}

// podDeleted records the eviction of a pod that is being deleted. The newest snapshot may be older.
func podDeleted(t *Tracker, p *cluster.Pod, tr cluster.Transition) {
	if p == nil {
		return
	}
	n := t.nodes[p.Node]
	if n != nil && evicting(t, n) && (tr.Cause == cluster.CauseEvicted || n.evicts(p, tr.SourceTime, t.snapshot)) {
		t.observe(view.PhaseEvicted, n.name, tr.Seen, stamp{at: tr.SourceTime}, true)
	}
}

func nodeChanged(t *Tracker, n *node, tr cluster.Transition) {
	switch tr.Change {
	case cluster.ChangeStatus:
		switch {
		case cluster.IsNotReady(tr.To):
			if n.wasDown || t.rows.seen(view.PhaseBooted, n.name) {
				return // a kubelet that has just started reports it itself
			}
			t.observe(view.PhaseDetected, n.name, tr.Seen, stamp{tr.SourceTime, tr.Cause == cluster.CauseShutdown}, true)
			if tr.Cause == cluster.CauseShutdown {
				t.rows.of(view.PhaseDetected, n.name).explain("the kubelet reported its own shutdown")
			}
		case tr.To == cluster.WordReady && returning(t, n):
			t.observe(view.PhaseReady, n.name, tr.Seen, stamp{tr.SourceTime, true}, true)
		}
	case cluster.ChangeBoot:
		t.observe(view.PhaseBooted, n.name, tr.Seen, stamp{}, true)
	case cluster.ChangeTaint:
		if lost(tr.To) {
			n.taintedAt(tr.SourceTime)
			t.observe(view.PhaseTainted, n.name, tr.Seen, stamp{at: tr.SourceTime}, true)
		}
	case cluster.ChangeEndpoints:
		if tr.To == "0" {
			t.observe(view.PhaseEndpointsOut, n.name, tr.Seen, stamp{}, true)
		}
	}
}

// lost reports whether it is the taint by which the pods of a node that is down are evicted.
func lost(taint string) bool {
	return taint == "node.kubernetes.io/unreachable:NoExecute" || taint == "node.kubernetes.io/not-ready:NoExecute"
}

// taintedAt records that the node has such a taint. Evictions count from the first one, also if
// another replaces it (processPodOnNode in pkg/controller/tainteviction/taint_eviction.go).
func (n *node) taintedAt(at time.Time) {
	if !n.tainted {
		n.tainted, n.taint = true, at
	}
}

// evicts reports whether the control plane has deleted a pod at that time because of the node's
// taint. Where it does not report that, it may have: a scale-down or a rollout, unlike an eviction,
// need not wait for as long as the pod tolerates the taint. Both times have whole seconds.
func (n *node) evicts(p *cluster.Pod, deleted time.Time, s *cluster.Snapshot) bool {
	if p.Evicted || s.ReportsEvictions() {
		return p.Evicted
	}
	if deleted.IsZero() || n.taint.IsZero() || otherTaint(s.Node(n.name)) {
		return true
	}
	for _, wait := range []time.Duration{p.UnreachableFor, p.NotReadyFor} {
		if wait >= 0 && !deleted.Before(n.taint.Truncate(time.Second).Add(wait-time.Second)) {
			return true
		}
	}
	return false
}

// otherTaint reports whether a node has a further taint by which pods are evicted.
func otherTaint(x *cluster.Node) bool {
	return x != nil && slices.ContainsFunc(x.Taints, func(t cluster.Taint) bool {
		return t.Effect == "NoExecute" && !lost(t.Key+":"+t.Effect)
	})
}

// evicting reports whether a pod that is deleted on the node is deleted because
// the node goes down.
func evicting(t *Tracker, n *node) bool {
	return (n.tainted || n.deleted) && !t.rows.seen(view.PhaseReady, n.name)
}

// returning reports whether the node is on its way back: it was found not Ready,
// or has booted.
func returning(t *Tracker, n *node) bool {
	return n.wasDown || t.rows.seen(view.PhaseDetected, n.name) || t.rows.seen(view.PhaseBooted, n.name)
}

// sameEvent is how much later a transition may be than the snapshot that showed it first.
// A later one is another event: a node that boots is tainted a second time.
const sameEvent = 2 * time.Second

// stamp is the time that an object of the cluster gives for a change; zero if none.
type stamp struct {
	at time.Time
	// byNode: the node's kubelet wrote it, by the node's clock.
	byNode bool
}

// here is the stamp by lightsout's own clock; zero if that is unknown. What Snapshot.Ahead
// compares is the clock of the API server. The controller manager writes with nearly the same
// one: it runs beside an API server. lightsout compares no clock of a node: that of a machine
// that has just booted is often wrong.
func (s stamp) here(t *Tracker) time.Time {
	switch {
	case s.at.IsZero() || s.byNode:
		return time.Time{}
	case t.snapshot == nil:
		return s.at
	}
	return s.at.Add(-t.snapshot.Ahead())
}

// observe records when a phase was seen. The first time stands, except that the exact
// time of a transition replaces that of a snapshot. After a blind span the source's own
// time is better.
func (t *Tracker) observe(name, subject string, seen time.Time, source stamp, exact bool) {
	r := t.rows.of(name, subject)
	if !r.observed.IsZero() && (r.exact || !exact || seen.Sub(r.observed) > sameEvent) {
		return
	}
	r.observed, r.source, r.happened, r.exact, r.seen = seen, source.at, source.here(t), exact, true
	r.coarse, r.before, r.hiddenFrom = false, false, time.Time{}
	date(t, r)
}

// date dates a phase that a blind span hid by its source's own time, if that is known.
func date(t *Tracker, r *row) {
	span, how := t.blind.hid(r.observed, r.happened)
	switch how {
	case unhidden:
		return
	case dated:
		r.observed, r.coarse = r.happened, true
	case undated:
		r.hiddenFrom = t.blind.beginning(span)
	}
	r.explain("seen after a blind span of " + text.Span(span.To.Sub(span.From)))
}

// Stalled records that the API server's answer to a question asked at from came only at to,
// on the connection of the watches: changes seen in this time may have happened earlier.
func (t *Tracker) Stalled(from, to time.Time) {
	t.blind.add(Blind{From: from, To: to, Why: "the API server's answer took " + text.Span(to.Sub(from)), Stalled: true})
	for _, r := range t.rows {
		if r.seen && !r.coarse && !r.hidden() {
			date(t, r)
		}
	}
}

// Observe takes a new Snapshot, and that time has passed. It should be called for
// each Snapshot and once a second. Its cost follows the nodes that were
// switched off and the pods on them and of the deployment.
func (t *Tracker) Observe(s *cluster.Snapshot, now time.Time) {
	t.forecastFirst()
	t.snapshot = s
	t.forecastFirst() // if this is the first
	t.blind.observe(s.Link, now)
	if t.zero.IsZero() {
		return
	}
	// With many nodes this check runs once a second; the transitions have the exact
	// times.
	if due := now.Sub(t.forecast) >= time.Second; due || changed(t, s) && len(t.names) <= 64 {
		for _, name := range t.names {
			t.observeNode(t.nodes[name], s)
		}
		t.renewForecasts(s)
		t.forecast = now
	}
	t.observeService(s)
}

// changed reports whether a node of the trial is another one than before.
func changed(t *Tracker, s *cluster.Snapshot) bool {
	return slices.ContainsFunc(t.names, func(name string) bool { return s.Node(name) != t.nodes[name].last })
}

// observeNode finds events in a Snapshot that the transitions may not have reported yet. A Snapshot
// may also be older than a transition.
func (t *Tracker) observeNode(n *node, s *cluster.Snapshot) {
	x := s.Node(n.name)
	gone := x == nil || !x.Gone.IsZero()
	n.deleted = gone && (n.last != nil || n.deleted)
	n.last = x
	if gone {
		if n.deleted {
			observeEvictionOnce(t, n, s)
		}
		return
	}
	at := x.Changed
	if at.Before(n.off) {
		at = s.At
	}
	boot := s.Boot(x).ID
	n.boot = cmp.Or(n.boot, boot)
	booted := outage.OtherBoot(n.boot, boot)
	if booted {
		t.observe(view.PhaseBooted, n.name, at, stamp{}, false)
	}
	if x.Ready != cluster.TriTrue && !booted && !n.wasDown {
		t.observe(view.PhaseDetected, n.name, at, stamp{x.ReadySince, x.Ready == cluster.TriFalse}, false)
	}
	if x.Ready == cluster.TriTrue && returning(t, n) && !s.At.Before(t.rows.of(view.PhaseDetected, n.name).observed) {
		t.observe(view.PhaseReady, n.name, at, stamp{x.ReadySince, true}, false)
	}
	for _, taint := range x.Taints {
		if lost(taint.Key + ":" + taint.Effect) {
			n.taintedAt(taint.TimeAdded)
			t.observe(view.PhaseTainted, n.name, at, stamp{at: taint.TimeAdded}, false)
		}
	}
	if x.ReadyEndpoints == 0 && s.Access[cluster.KindEndpointSlice].Synced {
		t.observe(view.PhaseEndpointsOut, n.name, at, stamp{}, false)
	}
	observeEvictionOnce(t, n, s)
}

// observeEvictionOnce looks for the eviction of the pods on a node until it has found it.
func observeEvictionOnce(t *Tracker, n *node, s *cluster.Snapshot) {
	if evicting(t, n) && !t.rows.seen(view.PhaseEvicted, n.name) {
		observeEviction(t, n, s)
	}
}

// observeEviction finds in a Snapshot that pods on a node are being deleted. Those deleted before
// the node went off may have been evicted too, if it was noticed late.
func observeEviction(t *Tracker, n *node, s *cluster.Snapshot) {
	earlier := false
	for _, p := range s.PodsOn(n.name) {
		switch {
		case n.collects(p):
			t.observe(view.PhaseEvicted, n.name, p.Changed, stamp{}, false)
			return
		case !p.Gone.IsZero() || p.Deleting.IsZero():
		case p.Deleting.Before(n.off.Add(-time.Second)):
			earlier = true
		case !n.evicts(p, p.Deleting, s):
		default:
			t.observe(view.PhaseEvicted, n.name, p.Changed, stamp{at: p.Deleting}, false)
			return
		}
	}
	t.rows.of(view.PhaseEvicted, n.name).before = earlier
}

// Observed is when a phase was observed; false when it was not.
func (t *Tracker) Observed(name, subject string) (time.Time, bool) {
	r := t.rows[rowKey{name, subject}]
	if r == nil || r.observed.IsZero() {
		return time.Time{}, false
	}
	return r.observed, true
}
