package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
)

// Workload is how the pods of a deployment or StatefulSet fared in an outage.
type Workload struct {
	cluster.Ref
	// Lowest is the least number of available pods of the Of that it should have had, from the drain on that
	// led to the outage, if there was one, and Before how many were just before. From is when the first one lacked,
	// and AtEnd how many still did when the record ended; To is since when none did, if that is 0. After
	// is when none lacked last before From; zero: nobody knows. lacks are the times in which some did.
	Lowest, Of, AtEnd, Before int
	After, From, To           time.Time
	lacks                     []interval
	// missing is the sum of the times for which pods lacked, until counted: the end of the record at last. none is
	// for how long all of them did.
	missing, none time.Duration
	counted       time.Time
	// on are the nodes of its lost pods, one for each.
	on []NodeFacts
	// Hidden: lightsout did not see the cluster for a part of the outage, so Lowest may have been
	// lower.
	Hidden bool
	// Pending is how many pods had no node at once, the last ones of them until PendingTo; zero: when the record ended.
	// Why is why pods lacked for so long, as far as the record shows that, held the same without their nodes, and
	// reported what Kubernetes reported of it.
	Pending, pendingLast   int
	pendingFrom, PendingTo time.Time
	Why, held, reported    string
}

func (w *Workload) lacked() int { return w.Of - w.Lowest }

// lost is how many pods the outage took: what lacked before does not count.
func (w *Workload) lost() int { return max(w.Before-w.Lowest, 0) }

// already reports whether all that lacked had lacked before.
func (w *Workload) already() bool { return w.lost() == 0 && w.lacked() > 0 }

// count is how many pods, of those that a text tells, were available at the lowest.
func (w *Workload) count(of string) string {
	switch {
	case w.unseen():
		return "not seen"
	case w.already():
		return fmt.Sprintf("already %d of %s before", w.Before, of)
	case w.Before < w.Of:
		of += fmt.Sprintf(" (%d before)", w.Before)
	}
	said := fmt.Sprintf("%d of %s", w.Lowest, of)
	return map[bool]string{true: "at most "}[w.Hidden && w.Lowest > 0] + said // it may have been lower
}

// unseen reports whether pods may have lacked, and lightsout saw none that did.
func (w *Workload) unseen() bool { return w.Hidden && w.lacked() == 0 }

// lasted is for how many seconds pods lacked, as the offsets tell it; false: unknown.
func (w *Workload) lasted(r *record.Record) (s float64, known bool) {
	for _, l := range w.lacks {
		s += lasts(r, l.from, cmp.Or(l.to, w.counted))
	}
	return s, len(w.lacks) > 0 && !w.Hidden
}

// least stands before a length of time that may have been longer, as nobody saw it begin, or end.
func (w *Workload) least() string {
	if !w.From.IsZero() && w.After.IsZero() || w.AtEnd > 0 {
		return "at least "
	}
	return ""
}

// reading is a number of pods of a deployment from a time on; -1 is as before.
type reading struct {
	at                           time.Time
	available, replicas, pending int
}

// hiddenLeast is for how long lightsout must not have seen the cluster for more pods to have lacked.
const hiddenLeast = 5 * time.Second

// readingsOf are the readings of each workload that a record shows, in the order of time: of all deployments
// by the changes on the timeline and by the samples, of all workloads by their pods. The deployment of the record
// is read by its seconds if no change of it is known.
func readingsOf(r *record.Record, all *pods) map[cluster.Ref][]reading {
	own := cluster.Ref{Kind: cluster.KindDeployment, Key: r.Deployment()}
	readings := all.readings
	for i := range r.Events {
		if e := &r.Events[i]; e.Change == cluster.ChangeReplicas && e.Of > 0 {
			k := cluster.Ref{Kind: cluster.KindDeployment, Key: cluster.Key{Namespace: e.Namespace, Name: e.Subject}}
			readings[k] = append(readings[k], reading{e.When().By, e.N, e.Of, -1})
		}
	}
	counted := slices.ContainsFunc(readings[own], func(x reading) bool { return x.available >= 0 })
	for i := range r.Seconds {
		if x := &r.Seconds[i]; x.Available >= 0 && !counted {
			readings[own] = append(readings[own], reading{x.At, x.Available, -1, -1})
		}
	}
	readings[own] = append(readings[own], targetsOf(r)...)
	for at, d := range deploymentsShown(r) { // no event shows what lacked when the record began
		if (d.Key != own.Key || counted) && d.Gone.IsZero() {
			k := cluster.Ref{Kind: cluster.KindDeployment, Key: d.Key}
			readings[k] = append(readings[k], reading{at, d.Available, d.Replicas, -1})
		}
	}
	for _, all := range readings {
		slices.SortStableFunc(all, func(a, b reading) int { return a.at.Compare(b.at) })
	}
	return readings
}

// workloadsOf finds the workloads whose pods the record shows in an outage, the worst first: all that
// lost pods, and that of the record.
func workloadsOf(r *record.Record, f *Facts, all *pods, readings map[cluster.Ref][]reading) (out []Workload) {
	blind := unseenIn(r)
	hidden := slices.ContainsFunc(blind, func(s interval) bool {
		return f.meets(s) && (s.to.IsZero() || s.to.Sub(s.from) > hiddenLeast)
	})
	for k, list := range readings {
		w := Workload{Ref: k, Hidden: hidden}
		if w.read(list, f) && (k.Key == r.Deployment() && k.Kind == cluster.KindDeployment || w.lacked() > 0) {
			if slices.ContainsFunc(blind, func(s interval) bool { return s.from.Before(w.From) && s.to.After(w.After) }) {
				w.After = time.Time{}
			}
			w.lack(w.AtEnd, w.Of, lastSight(r), true) // as nobody saw it end
			w.held = w.because(r, f, all)
			w.Why = joined(where(w.on), w.held)
			out = append(out, w)
		}
	}
	slices.SortFunc(out, worse)
	return out
}

// worse orders workloads: first those of which the outage left no pod, by for how long; then by for how long how many
// pods lacked, then by the part of their pods that it left. What lacked before comes last.
func worse(a, b Workload) int {
	last := map[bool]int{true: 1}
	return cmp.Or(last[a.already()]-last[b.already()], cmp.Compare(b.none, a.none), cmp.Compare(b.missing, a.missing), a.Lowest*max(b.Before, 1)-b.Lowest*max(a.Before, 1), b.lacked()-a.lacked(), cmp.Compare(a.Ref.String(), b.Ref.String()))
}

// read follows the readings; false: they tell nothing of the outage. Pods that somebody scaled away
// do not lack, nor do those that somebody added meanwhile.
func (w *Workload) read(all []reading, f *Facts) (known bool) {
	want, available, pending, declared := 0, -1, -1, false
	w.Before = math.MaxInt
	begins := func(by time.Time) { // with what was so before
		if !known && want > 0 && available >= 0 && !by.Before(f.drained) {
			known = true
			w.lack(max(want-available, 0), want, f.drained, false)
		}
	}
	for _, x := range all {
		begins(x.at)
		before, late := x.at.Before(f.drained), x.at.After(f.over)
		switch {
		case x.replicas >= 0 && (before || !known):
			want = x.replicas
		case x.replicas >= 0:
			want = min(want, x.replicas)
		}
		if x.available >= 0 {
			available = x.available
		}
		if x.pending >= 0 {
			pending = x.pending
		}
		declared = declared || x.replicas > 0 && w.Kind == cluster.KindDeployment
		if before && !declared { // all that it had
			want = max(want, available)
		}
		if before {
			if available >= 0 {
				w.Before = available
				w.since(want-available, x.at)
			}
			continue
		}
		w.place(pending, x.at, late)
		if available >= 0 && (want > 0 || known) {
			known = true
			w.lack(max(want-available, 0), want, x.at, late)
		}
	}
	begins(f.over)
	w.Before = min(w.Before, w.Of)
	return known
}

// since notes that n pods lacked from a time on.
func (w *Workload) since(n int, at time.Time) {
	switch {
	case n <= 0:
		w.After, w.From = at, time.Time{}
	case w.From.IsZero():
		w.From = at
	}
}

// lack adds that n of so many pods lacked from a time on. After the outage a lack may end, and none
// begins.
func (w *Workload) lack(n, of int, at time.Time, late bool) {
	since, all := at.Sub(latest(w.counted, w.From)), time.Duration(w.AtEnd/max(w.Of, 1)) // 1: all of them
	w.missing, w.none, w.counted = w.missing+time.Duration(w.AtEnd)*since, w.none+all*since, at
	if late && w.AtEnd == 0 {
		return
	}
	if w.Of == 0 || n > w.lacked() && !late {
		w.Lowest, w.Of = of-n, of
	}
	if w.lacked() == 0 || w.From.IsZero() {
		w.since(n, at)
	}
	switch last := len(w.lacks) - 1; {
	case n > 0 && last < 0:
		w.lacks = []interval{{from: w.From}}
	case n > 0 && w.AtEnd == 0:
		w.lacks = append(w.lacks, interval{from: at})
	case n == 0 && w.AtEnd > 0:
		w.To, w.lacks[last].to = at, at
	}
	w.AtEnd = n
}

// place adds how many pods had no node from a time on.
func (w *Workload) place(pending int, at time.Time, late bool) {
	switch {
	case pending > w.Pending && !late:
		w.Pending, w.pendingFrom, w.PendingTo = pending, cmp.Or(w.pendingFrom, at), time.Time{}
	case pending != 0 || w.Pending == 0 || !w.PendingTo.IsZero():
	case at.Sub(w.pendingFrom) < time.Second: // each pod waits for the scheduler
		w.Pending, w.pendingFrom = 0, time.Time{}
	default:
		w.PendingTo = at
	}
	if pending > 0 {
		w.pendingLast = pending
	}
}

// targetsOf lists by the samples how many pods the deployment of the record should have from a time on:
// none once it was deleted.
func targetsOf(r *record.Record) (out []reading) {
	own := r.Deployment()
	add := func(at time.Time, replicas int) {
		if n := len(out); n == 0 || out[n-1].replicas != replicas {
			out = append(out, reading{at, -1, replicas, -1})
		}
	}
	for at, d := range deploymentsShown(r) { // a deleted one stays visible for a while
		switch {
		case d.Key != own:
		case !d.Gone.IsZero():
			add(d.Gone, 0)
		default:
			add(at, d.Replicas)
		}
	}
	return out
}
