package phase

import (
	"cmp"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/view"
)

// own is the time that the API server or the control plane gives for a change, by lightsout's
// clock; zero if there is none. The controller manager runs beside an API server. lightsout compares
// no clock of a node, as that of a machine that has just booted is often wrong: for the time that a
// kubelet wrote there is no such time.
func (t *Tracker) own(source time.Time) time.Time {
	if source.IsZero() {
		return source
	}
	return source.Add(-t.snapshot.Ahead())
}

// observe records in its row that the snapshot shows a phase. by is when the watches delivered it, source the
// time that its own object gives, zero if that is none of the control plane. The first time stands.
func (t *Tracker) observe(r *row, by, source time.Time) *row {
	if r.seen() {
		return r
	}
	r.when, r.source, r.before = t.snapshot.When(by, t.own(source)), source, false
	if !t.watched(by) {
		r.when = cluster.When{After: t.zero, By: by}.Dated(t.own(source))
	}
	r.explainBlind()
	return r
}

// watched reports whether somebody had looked at the cluster before that time: what was found by then
// may have become so at any time since zero.
func (t *Tracker) watched(at time.Time) bool {
	return !t.atZero.At.IsZero() || !t.began.IsZero() && at.After(t.began)
}

// Observe takes a new Snapshot, and that time has passed. It should be called for
// each Snapshot and once a second. Its cost follows the nodes that were
// switched off and the pods on them and of the deployment; once a second, all nodes.
func (t *Tracker) Observe(s *cluster.Snapshot, now time.Time) {
	t.forecastFirst()
	t.snapshot, t.now = s, now
	s.Blind() // somebody wants to know it
	t.observeAvailable(s)
	if t.zero.IsZero() {
		return
	}
	if t.atZero.At.IsZero() && t.began.IsZero() {
		// The first look after zero: the pods that were there at zero are taken to have served then.
		// Which others have gone since, nobody knows.
		t.began = now
		v := t.service()
		v.start(s, t.deployment, func(p *cluster.Pod) bool { return p.Node != "" && !p.Finished() && !p.Created.After(t.zero) })
		if v.pods != nil {
			v.forecastFirst(t)
		}
	}
	// With many nodes this runs once a second.
	changed := func(name string) bool { return s.Node(name) != t.nodes[name].last }
	if now.Sub(t.forecast) >= time.Second || len(t.names) <= 64 && slices.ContainsFunc(t.names, changed) {
		for _, name := range t.names {
			t.observeNode(t.nodes[name], s)
		}
		for _, n := range s.Nodes() {
			if old := t.booted[n.Name]; old == nil || outage.OtherBoot(old.Node(n.Name).BootID, n.BootID) {
				t.booted[n.Name] = s
			}
		}
		t.renewForecasts(s)
		t.forecast = now
	}
	t.observeService(s)
}

// observeAvailable counts the pods of the deployment that are available.
func (t *Tracker) observeAvailable(s *cluster.Snapshot) {
	d := s.Deployment(t.deployment)
	switch {
	case d == nil || s.Link.State != cluster.LinkLive:
	case !d.Gone.IsZero(): // deleted, and its pods with it
		t.available(0)
	default:
		t.available(d.Available)
	}
}

// Changed takes a change of the cluster.
func (t *Tracker) Changed(c cluster.Transition) {
	if c.Change == cluster.ChangeReplicas && c.Subject == (cluster.Ref{Kind: cluster.KindDeployment, Key: t.deployment}) && !c.When.By.Before(t.disrupted) {
		t.available(c.Available)
	}
}

// available counts how many pods of the deployment are available.
func (t *Tracker) available(n int) {
	if !t.disrupted.IsZero() && (t.lowest == nil || n < *t.lowest) {
		t.lowest = &n
	}
}

// Lowest is the least number of pods of the deployment that were available since the first drain or power-off,
// and when that was; nil if nobody saw it.
func (t *Tracker) Lowest() (pods *int, since time.Time) { return t.lowest, t.disrupted }

// observeNode finds the phases of a node that a Snapshot shows.
func (t *Tracker) observeNode(n *node, s *cluster.Snapshot) {
	x := s.Node(n.name)
	n.last = x
	if x == nil || !x.Gone.IsZero() {
		return
	}
	at, status := x.Changed, cmp.Or(x.StatusChanged, x.Changed)
	if at.Before(n.off()) {
		at = t.now
	}
	if status.Before(n.off()) {
		status = at
	}
	up := n.outage.At[outage.StepDown].IsZero()
	n.outage.Apply(outage.Fact{Kind: outage.Seen, At: at, Node: s.Boot(x), Ready: n.up()})
	if !n.outage.At[outage.StepBooted].IsZero() {
		t.returns(n, t.observe(n.rows.of(view.PhaseBooted), at, time.Time{}).when.By)
	}
	if up && !n.outage.At[outage.StepDown].IsZero() {
		observeDetection(t, n, status, s.NodeStatus(x, s.At).ShuttingDown)
	}
	if n.up() && n.outage.WasDown() {
		t.observe(n.rows.of(view.PhaseReady), status, time.Time{})
		n.well = s
	}
	for _, taint := range x.Taints {
		if cluster.Evicts(taint.Key + ":" + taint.Effect) {
			n.tainted = true
			t.observe(n.rows.of(view.PhaseTainted), at, taint.TimeAdded)
		}
	}
	if x.ReadyEndpoints == 0 && s.Access[cluster.KindEndpointSlice].Synced {
		t.observe(n.rows.of(view.PhaseEndpointsOut), at, time.Time{})
	}
	if n.tainted && !n.rows.seen(view.PhaseReady) && !n.rows.seen(view.PhaseEvicted) {
		observeEviction(t, n, s)
	}
}

// observeDetection records that a node is not Ready. A kubelet that shuts down reports it itself.
func observeDetection(t *Tracker, n *node, at time.Time, shutdown bool) {
	source := n.last.ReadySince
	if n.last.Ready == cluster.TriFalse { // the kubelet wrote it
		source = time.Time{}
	}
	if r := t.observe(n.rows.of(view.PhaseDetected), at, source); shutdown && r.when.By.Equal(at) {
		r.explain("the kubelet reported its own shutdown")
	}
}

// observeEviction finds in a Snapshot that the control plane deletes pods on a node since it went off,
// because of its taint. Where it does not report why, that may be the reason.
func observeEviction(t *Tracker, n *node, s *cluster.Snapshot) {
	for _, p := range s.PodsOn(n.name) {
		if p.Gone.IsZero() && !p.Deleting.IsZero() && !p.Deleting.Before(n.off().Add(-time.Second)) && (p.Evicted || !s.ReportsEvictions()) {
			at := cmp.Or(p.Changed, t.now) // it may have been deleted when lightsout saw it first
			t.observe(n.rows.of(view.PhaseEvicted), at, p.Deleting)
			return
		}
	}
}

// Observed is when a phase was observed; false when it was not.
func (t *Tracker) Observed(name, subject string) (time.Time, bool) {
	r := t.row(name, subject)
	if r == nil || !r.seen() {
		return time.Time{}, false
	}
	return r.when.By, true
}
