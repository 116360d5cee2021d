package phase

import (
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/view"
)

// service is the deployment that the trial is about, in one wave of outages.
type service struct {
	rows rows
	// pods has the node of each of its pods that served when the outage began; nil: it is unknown.
	pods map[cluster.Key]string
	// most is the longest that its pods took to start.
	most   time.Duration
	learnt bool
	// lost is how many of pods are on the nodes of the outage; 0: there is nothing to replace.
	lost int
	// room is the reason why the replacements do not fit; empty if they do.
	room string
	// full: the replacements certainly do not fit.
	full bool
}

func (v *service) start(s *cluster.Snapshot, dep cluster.Key, served func(*cluster.Pod) bool) {
	d := s.Deployment(dep)
	if d == nil {
		return
	}
	v.pods = map[cluster.Key]string{}
	for _, p := range s.PodsOf(dep) {
		if served(p) {
			v.pods[p.Key] = p.Node
		}
	}
	v.most, v.learnt = forecast.StartTime(s, dep)
}

// forecastFirst works out the first forecast of the replacements.
func (v *service) forecastFirst(t *Tracker) {
	v.room, v.full = "", false
	h := forecast.Outage(t.snapshot, t.down(), t.off, t.zero).Hits()
	if w := h.Place.Of(t.deployment); h.Unread != "" {
		v.room = h.Unread
	} else if n := w.Homeless(); n.High > 0 {
		v.room, v.full = forecast.NoNode(n)+" until the nodes return", n.Low > 0
	} else if !slices.ContainsFunc(t.down(), func(name string) bool { return t.nodes[name].graceful > 0 }) {
		v.room = h.Delayed(t.deployment)
	}
	v.lost = 0
	for _, node := range v.pods {
		if isDown(t, node) {
			v.lost++
		}
	}
	r := &row{}
	v.rows[view.PhaseReplaced] = r
	switch {
	case v.lost == 0 && t.atZero.At.IsZero():
		r.explain("nobody saw which of its pods served on the nodes")
		return
	case v.lost == 0:
		r.when, r.before, r.notes = cluster.At(t.zero), true, []string{"none of its pods served on the nodes"}
		return
	}
	r.predicted, r.why = v.replaced(t)
	r.first, r.never = r.predicted, v.never(t)
}

// never reports whether the pods are certain not to be replaced: no node has room, or
// one of the nodes that are down keeps pods of the deployment that do not end.
func (v *service) never(t *Tracker) bool {
	return v.full || slices.ContainsFunc(t.down(), func(name string) bool {
		_, never := t.Why(view.PhaseEvicted, name)
		return never && v.keeps(t, name) && t.nodes[name].graceful == 0
	})
}

// replaced forecasts when the pods on the nodes are available elsewhere: after the last
// node's eviction and the start time of a pod.
func (v *service) replaced(t *Tracker) (i forecast.Interval, why string) {
	if v.room != "" {
		return i, v.room
	}
	if !v.learnt {
		return i, "the start time of its pods is unknown"
	}
	for _, name := range t.down() {
		if !v.has(t, name) {
			continue
		}
		r := t.nodes[name].rows.of(view.PhaseEvicted)
		e := r.seenOr()
		// Pods that end with a graceful shutdown are replaced at once.
		if n := t.nodes[name]; n.graceful > 0 {
			if e.IsZero() {
				e.To = n.off().Add(n.graceful)
			}
			e.From = n.off()
		}
		if e.IsZero() {
			return forecast.Interval{}, r.why
		}
		i = i.Latest(e)
	}
	if i.IsZero() {
		return i, ""
	}
	// A pod may start quicker than any that was seen, but not before it is made.
	// Both times of a pod have whole seconds.
	i.To = i.To.Add(v.most + 2*time.Second)
	return i, ""
}

// has reports whether a pod of the deployment is on the node.
func (v *service) has(t *Tracker, name string) bool {
	return slices.ContainsFunc(t.snapshot.PodsOf(t.deployment), func(p *cluster.Pod) bool { return p.Node == name })
}

// keeps reports whether a pod of the deployment on the node does not end.
func (v *service) keeps(t *Tracker, name string) bool {
	return slices.ContainsFunc(t.snapshot.PodsOf(t.deployment), func(p *cluster.Pod) bool { return p.Node == name && !ends(p) })
}

// backOff is the longest that the scheduler lets a pod wait that had no node
// (podMaxBackoffSeconds).
const backOff = 10 * time.Second

func (v *service) renewForecasts(t *Tracker, s *cluster.Snapshot) {
	if v.pods == nil || len(t.names) == 0 {
		return
	}
	v.renewReplaced(t, s.Deployment(t.deployment))
	r := v.rows.of(view.PhaseRestored)
	if !r.seen() {
		r.why, r.never = notRestored(s.Deployment(t.deployment))
		if r.why != "" {
			r.predicted = forecast.Interval{}
			return
		}
	}
	if r.seen() && !r.predicted.IsZero() || !v.learnt {
		return
	}
	var last forecast.Interval
	for _, name := range t.names {
		n := t.nodes[name]
		i := n.rows.of(view.PhaseReady).seenOr()
		if i.IsZero() && (isDown(t, name) || !n.back()) {
			r.predicted = forecast.Interval{}
			return
		}
		last = last.Latest(i)
	}
	r.predicted = forecast.Interval{From: last.From, To: last.To.Add(2*s.Settings.MonitorPeriod.Value + backOff + v.most + time.Second)}
}

// renewReplaced renews the forecast of the replacements.
func (v *service) renewReplaced(t *Tracker, d *cluster.Deployment) {
	r := v.rows.of(view.PhaseReplaced)
	if r.seen() || v.lost == 0 {
		return
	}
	var i forecast.Interval
	why, never := notRestored(d)
	switch {
	case why != "":
	case slices.ContainsFunc(t.down(), func(name string) bool { return t.nodes[name].returned() }):
		return
	default:
		i, why = v.replaced(t)
		never = v.never(t)
	}
	if why != "" || !i.IsZero() {
		r.predicted, r.why, r.never = i, why, never
	}
}

// notRestored explains why a deployment does not have all its pods again; empty if it may. never:
// it can't.
func notRestored(d *cluster.Deployment) (why string, never bool) {
	switch {
	case d == nil, !d.Gone.IsZero():
		return "the deployment is deleted", true
	case d.Replicas == 0: // somebody, or an autoscaler, may scale it up
		return "the deployment is scaled to 0 pods", false
	}
	return "", false
}

// observeService recognises the phases of the deployment.
func (t *Tracker) observeService(s *cluster.Snapshot) {
	if len(t.names) == 0 {
		return
	}
	v := t.service()
	if v.pods != nil && v.lost > 0 && v.isReplaced(t, s) {
		t.observe(v.rows.of(view.PhaseReplaced), t.now, time.Time{})
	}
	if !t.isRestored(s) {
		return
	}
	all := s.Deployment(t.deployment).Changed
	at := all
	for _, name := range t.names {
		at = slices.MaxFunc([]time.Time{at, t.nodes[name].rows.at(view.PhaseReady)}, time.Time.Compare)
	}
	if r := t.observe(v.rows.of(view.PhaseRestored), at, time.Time{}); at.Sub(all) > time.Second {
		r.explain("all its pods were available before, and then the nodes Ready too")
	}
}

// isReplaced reports whether the pods of the outage are replaced: each of them was deleted or has
// ended, and as many pods as before serve elsewhere, or as many as the deployment is to have if
// somebody has scaled it down.
func (v *service) isReplaced(t *Tracker, s *cluster.Snapshot) bool {
	serving, want := 0, len(v.pods)
	for _, p := range s.PodsOf(t.deployment) {
		if isDown(t, v.pods[p.Key]) && !ends(p) {
			return false
		}
		if p.Serving() && !isDown(t, p.Node) {
			serving++
		}
	}
	if d := s.Deployment(t.deployment); d != nil && d.Gone.IsZero() {
		want = min(want, d.Replicas)
	}
	return serving > 0 && serving >= want
}

// ends reports whether a pod is being deleted, is gone or has ended: its ReplicaSet replaces it.
func ends(p *cluster.Pod) bool {
	return !p.Deleting.IsZero() || !p.Gone.IsZero() || p.Finished()
}

// isRestored reports whether the deployment has all its pods, and every node has returned.
func (t *Tracker) isRestored(s *cluster.Snapshot) bool {
	d := s.Deployment(t.deployment)
	if d == nil || !d.Gone.IsZero() || d.Available < d.Replicas || d.Replicas == 0 {
		return false
	}
	return !slices.ContainsFunc(t.names, func(name string) bool {
		n := t.nodes[name]
		return !n.up() || isDown(t, name) && !n.rows.seen(view.PhaseReady)
	})
}
