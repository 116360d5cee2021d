package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
)

// Workload is how the pods of a deployment fared in an outage.
type Workload struct {
	Deployment cluster.Key
	// Lowest is the least number of available pods of the Of that it should have had. From is when
	// the first one lacked, and AtEnd how many still did when the record ended; To is since when
	// none did, if that is 0.
	Lowest, Of, AtEnd int
	From, To          time.Time
	// Hidden: lightsout did not see the cluster for a part of the outage, so Lowest may have been
	// lower.
	Hidden bool
	// Pending is how many pods had no node at once, until PendingTo; zero: when the record ended.
	// Why is what Kubernetes reported last of pods that it could not create or place.
	Pending   int
	PendingTo time.Time
	Why       string
}

func (w *Workload) lacked() int { return w.Of - w.Lowest }

// unseen reports whether pods may have lacked, and lightsout saw none that did.
func (w *Workload) unseen() bool { return w.Hidden && w.lacked() == 0 }

// reading is a number of pods of a deployment from a time on; -1 is as before.
type reading struct {
	at                           time.Time
	available, replicas, pending int
}

// hiddenLeast is for how long lightsout must not have seen the cluster for more pods to have lacked.
const hiddenLeast = 5 * time.Second

// readingsOf are the readings of each deployment that a record shows, in the order of time: of the
// deployment of the record by its seconds and its samples, of all by the changes on the timeline.
func readingsOf(r *record.Record) map[cluster.Key][]reading {
	own := r.Deployment()
	readings := map[cluster.Key][]reading{own: ownReadings(r, own)}
	for i := range r.Events {
		if e := &r.Events[i]; e.Change == cluster.ChangeReplicas && e.Of > 0 {
			k := cluster.Key{Namespace: e.Namespace, Name: e.Subject}
			readings[k] = append(readings[k], reading{happened(*e), e.N, e.Of, -1})
		}
	}
	for _, all := range readings {
		slices.SortStableFunc(all, func(a, b reading) int { return a.at.Compare(b.at) })
	}
	return readings
}

// workloadsOf finds the workloads whose pods the record shows in an outage, the worst first: that of
// the record, and others if they lost pods.
func workloadsOf(r *record.Record, f *Facts, readings map[cluster.Key][]reading) (out []Workload) {
	hidden := slices.ContainsFunc(unseenIn(r), func(s unseen) bool {
		return s.from.Before(f.over) && (s.to.IsZero() || s.to.After(f.From) && s.to.Sub(s.from) > hiddenLeast)
	})
	for k, all := range readings {
		w := Workload{Deployment: k, Hidden: hidden}
		if w.read(all, f) && (k == r.Deployment() || w.lacked() > 0) {
			w.Why = cmp.Or(whyNot(r, k, f.From, latest(w.To, f.over)), notReplaced(summaryOf(r).Phases, k))
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b Workload) int {
		return cmp.Or(b.lacked()-a.lacked(), cmp.Compare(a.Deployment.String(), b.Deployment.String()))
	})
	return out
}

// read follows the readings; false: they tell nothing of the outage. Pods that somebody scaled away
// do not lack, nor do those that somebody added meanwhile.
func (w *Workload) read(all []reading, f *Facts) (known bool) {
	want, available := 0, -1
	for _, x := range all {
		before, late := x.at.Before(f.From), x.at.After(f.over)
		switch {
		case x.replicas >= 0 && (before || !known):
			want = x.replicas
		case x.replicas >= 0:
			want = min(want, x.replicas)
		}
		if x.available >= 0 {
			available = x.available
		}
		if want == 0 && before {
			want = max(available, 0)
		}
		if before {
			w.since(want-available, x.at)
			continue
		}
		w.place(x, late)
		if available >= 0 && (want > 0 || known) {
			known = true
			w.lack(max(want-available, 0), want, x.at, late)
		}
	}
	return known
}

// since notes that n pods lacked from a time on, before the outage: what a drain evicts lacks when
// the machine goes off, too.
func (w *Workload) since(n int, at time.Time) {
	switch {
	case n <= 0:
		w.From = time.Time{}
	case w.From.IsZero():
		w.From = at
	}
}

// lack adds that n of so many pods lacked from a time on. After the outage a lack may end, and none
// begins.
func (w *Workload) lack(n, of int, at time.Time, late bool) {
	if late && w.AtEnd == 0 {
		return
	}
	if w.Of == 0 || n > w.lacked() && !late {
		w.Lowest, w.Of = of-n, of
	}
	if w.lacked() == 0 || w.From.IsZero() {
		w.since(n, at)
	}
	if n == 0 && w.AtEnd > 0 {
		w.To = at
	}
	w.AtEnd = n
}

// place adds how many pods had no node from a time on.
func (w *Workload) place(x reading, late bool) {
	switch {
	case x.pending > w.Pending && !late:
		w.Pending, w.PendingTo = x.pending, time.Time{}
	case x.pending == 0 && w.Pending > 0 && w.PendingTo.IsZero():
		w.PendingTo = x.at
	}
}

// ownReadings are those of the record's deployment by its seconds and its samples.
func ownReadings(r *record.Record, own cluster.Key) (out []reading) {
	for i := range r.Seconds {
		if x := &r.Seconds[i]; x.Available >= 0 {
			out = append(out, reading{x.At, x.Available, -1, -1})
		}
	}
	for _, t := range targetsOf(r) {
		out = append(out, reading{t.at, -1, t.replicas, -1})
	}
	waiting := map[cluster.Key]struct{}{}
	for i := range r.Samples {
		x := &r.Samples[i]
		if x.Key {
			clear(waiting)
		}
		if x.Cluster != nil {
			keepWaiting(waiting, x.Cluster, own)
		}
		if !x.More {
			out = append(out, reading{x.At, -1, -1, len(waiting)})
		}
	}
	return out
}

// keepWaiting keeps the pods of a deployment that have no node.
func keepWaiting(waiting map[cluster.Key]struct{}, c *record.Cluster, deployment cluster.Key) {
	for _, k := range c.GonePods {
		delete(waiting, k)
	}
	for _, p := range c.Pods {
		if p == nil {
			continue
		}
		delete(waiting, p.Key)
		if p.Node == "" && p.Phase == "Pending" && p.Gone.IsZero() && p.Deleting.IsZero() && p.Namespace == deployment.Namespace && p.Deployment == deployment.Name {
			waiting[p.Key] = struct{}{}
		}
	}
}

// target is how many pods the deployment should have from a time on; gone: it was deleted then.
type target struct {
	at       time.Time
	replicas int
	gone     bool
}

// targetsOf lists by the samples how many pods the deployment of the record should have.
func targetsOf(r *record.Record) (out []target) {
	own := r.Deployment()
	add := func(t target) {
		if n := len(out); n == 0 || out[n-1].replicas != t.replicas || out[n-1].gone != t.gone {
			out = append(out, t)
		}
	}
	for i := range r.Samples {
		x := &r.Samples[i]
		if x.Cluster == nil {
			continue
		}
		for _, d := range x.Cluster.Deployments { // a deleted one stays visible for a while
			switch {
			case d == nil || d.Key != own:
			case !d.Gone.IsZero():
				add(target{at: d.Gone, gone: true})
			default:
				add(target{at: x.At, replicas: d.Replicas})
			}
		}
		if slices.Contains(x.Cluster.GoneDeployments, own) {
			add(target{at: x.At, gone: true})
		}
	}
	return out
}

// notPlaced are the reasons of Kubernetes' events about pods that are not created, placed or started.
var notPlaced = []string{"FailedScheduling", "FailedCreate", attachFailed}

// whyNot is what Kubernetes reported last in a time about pods of a deployment that did not start.
func whyNot(r *record.Record, of cluster.Key, from, to time.Time) (why string) {
	for i := range r.Events {
		e := &r.Events[i]
		if e.Change == cluster.ChangeEvent && slices.Contains(notPlaced, e.To) && e.Namespace == of.Namespace && !e.When().By.Before(from) && !e.Seen.After(to) &&
			(e.Subject == of.Name || strings.HasPrefix(e.Subject, of.Name+"-")) {
			why = e.To + ": " + e.Why
		}
	}
	return why
}

// notReplaced is why the forecast expected that a deployment's pods would not be replaced; empty if
// they were, or may have been.
func notReplaced(phases []view.Phase, of cluster.Key) string {
	for _, p := range phases {
		if p.Name == view.PhaseReplaced && p.Subject == of.String() && p.Observed == nil && p.Predicted == nil && p.Note != "" {
			return "not replaced: " + p.Note
		}
	}
	return ""
}
