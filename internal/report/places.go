package report

import (
	"fmt"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/text"
)

// unplacedLeast is how long pods must be without a node before the opening names them: the
// scheduler takes a moment for any pod.
const unplacedLeast = 5 * time.Second

// podsOf describes the pods of the deployment that the record is about: how many had no
// node, or were not available, and until when.
func podsOf(r *record.Record, o *outage) string {
	want := wanted(r, o.from)
	if want == 0 {
		return ""
	}
	pods := text.Count(want, "pod", "pods")
	if d := summaryOf(r).Deployment; d != "" {
		pods += " of " + clean(d)
	}
	lack := unavailable(r, o, want)
	if none := unplaced(r, o); none.most > 0 && none.until(r).Sub(none.from) >= unplacedLeast && none.most >= lack.most {
		switch n := fmt.Sprintf("%d of %s", none.most, pods); {
		case none.lasts:
			return n + " still had no place " + atEnd(r)
		case unseenAt(r, none.to):
			return atLeast + n + " had no place, and all had one when lightsout saw them again at " + clock(none.to)
		case none.hidden(r, o):
			return atLeast + n + " had no place until " + clock(none.to)
		default:
			return n + " had no place until " + clock(none.to)
		}
	}
	seen := lack.most
	if s := summaryOf(r); recorded(r) && scaledDown(r, []outage{*o}).text == "" && s.LowestAvailable != nil && len(outagesOf(r)) <= 1 {
		lack.most = max(lack.most, want-*s.LowestAvailable) // between two of the seconds
	}
	switch {
	case lack.unknown:
		return ""
	case lack.most <= 0 && blind(r, o):
		return fmt.Sprintf("Kubernetes counted all %s as available whenever lightsout saw them", pods)
	case lack.most <= 0 && fewerLater(r, want):
		return fmt.Sprintf("Kubernetes counted all %s as available until the outage was over", pods)
	case lack.most <= 0:
		return allAvailable(r, o, want, pods)
	case seen == 0 && blind(r, o):
		return fmt.Sprintf("at least %d of %s were not available, and lightsout cannot tell for how long", lack.most, pods)
	case seen == 0:
		return fmt.Sprintf("%d of %s were not available for a moment", lack.most, pods)
	}
	return lacked(r, o, &lack, seen, pods)
}

// allAvailable describes an outage in which no pod was missing.
func allAvailable(r *record.Record, o *outage, want int, pods string) string {
	switch grew := scaledUp(r, []outage{*o}).text != ""; {
	case grew && scaledBelow(r, o, want):
		return "" // the sentences about the changes tell which pods were missing
	case grew:
		return fmt.Sprintf("Kubernetes counted at least %s as available", pods)
	}
	return fmt.Sprintf("Kubernetes counted all %s as available", pods)
}

// fewerLater reports whether a trial saw fewer pods available than these, although none were
// missing during its only outage.
func fewerLater(r *record.Record, want int) bool {
	s := summaryOf(r)
	all := outagesOf(r)
	return !recorded(r) && s.LowestAvailable != nil && *s.LowestAvailable < want && len(all) == 1 && scaledDown(r, all).text == ""
}

// atLeast stands before a number of pods that may have been higher while lightsout did not see
// the cluster.
const atLeast = "at least "

// lacked describes how long pods were not available; seen is how many at most at the end of a
// second.
func lacked(r *record.Record, o *outage, lack *lack, seen int, pods string) string {
	n := fmt.Sprintf("%d of %s", lack.most, pods)
	fewer := lack.most > seen && lack.to.Sub(lack.from) > fewerLeast || !lack.fewer.IsZero() && lack.to.Sub(lack.fewer) > fewerLeast
	last := lack.at(r.End)
	switch {
	case lack.lasts && last < lack.most:
		return fmt.Sprintf("up to %s were not available, and %d still were not %s", n, last, atEnd(r))
	case lack.lasts:
		return n + " were still not available " + atEnd(r)
	case unseenAt(r, lack.to):
		return atLeast + n + " were not available, and all were when lightsout saw them again at " + clock(lack.to)
	case lack.hidden(r, o) && fewer:
		return atLeast + n + " were not available, the last until " + clock(lack.to)
	case lack.hidden(r, o):
		return atLeast + n + " were not available until " + clock(lack.to)
	case fewer:
		return "up to " + n + " were not available, the last until " + clock(lack.to)
	}
	return n + " were not available until " + clock(lack.to)
}

// hidden reports whether lightsout may not have seen that more pods lacked it during the outage:
// in a span, longer than fewerLeast, before and after which not as many lacked it.
func (l *lack) hidden(r *record.Record, o *outage) bool {
	return slices.ContainsFunc(unseenIn(r), func(s apiSilence) bool {
		open := s.to.IsZero()
		if !s.from.Before(o.end(r)) || !open && (!s.to.After(o.from) || s.to.Sub(s.from) <= fewerLeast) {
			return false
		}
		n := l.at(s.from)
		return n == 0 || open || n != l.at(s.to.Add(seesAgain))
	})
}

// at is how many pods lacked it at that time.
func (l *lack) at(t time.Time) (n int) {
	for _, s := range l.counts {
		if s.at.After(t) {
			break
		}
		n = s.n
	}
	return n
}

// unseenIn lists the spans in which lightsout did not see the cluster.
func unseenIn(r *record.Record) []apiSilence {
	out := apiLost(r)
	for _, b := range summaryOf(r).Blind {
		out = append(out, apiSilence{secondsAfter(r, b.From), secondsAfter(r, b.To)})
	}
	return out
}

// seesAgain is how long after such a span the watches may deliver what happened in it. A span
// begins with the last answer, which had shown the cluster as it was.
const seesAgain = time.Second

// unseenAt reports whether lightsout did not see the cluster at that time, or saw only then the
// changes of such a span.
func unseenAt(r *record.Record, at time.Time) bool {
	return slices.ContainsFunc(unseenIn(r), func(s apiSilence) bool { return s.hides(at) })
}

// hides reports whether the span hid what happened until that time.
func (s apiSilence) hides(at time.Time) bool {
	return at.After(s.from.Add(seesAgain)) && (s.to.IsZero() || !at.After(s.to.Add(seesAgain)))
}

// fewerLeast is for how long fewer pods must have been unavailable than at the worst moment
// for the opening to make the difference.
const fewerLeast = 5 * time.Second

// blind reports whether lightsout did not see the cluster during a part of the outage, by the
// summary or, as the record of a killed program has none, by the timeline.
func blind(r *record.Record, o *outage) bool {
	lost := slices.ContainsFunc(apiLost(r), func(s apiSilence) bool {
		return s.from.Before(o.end(r)) && (s.to.IsZero() || s.to.After(o.from))
	})
	return lost || slices.ContainsFunc(summaryOf(r).Blind, func(b record.Blind) bool {
		return secondsAfter(r, b.From).Before(o.end(r)) && secondsAfter(r, b.To).After(o.from)
	})
}

// lack is a time in which pods lacked something: most is how many at once.
type lack struct {
	most     int
	from, to time.Time
	// fewer is since when it is fewer than most.
	fewer   time.Time
	lasts   bool // when the record ended
	unknown bool // nothing is known of it
	counts  []counted
}

// counted is how many pods lacked something from a time on.
type counted struct {
	at time.Time
	n  int
}

// until is when the last pods had it again, or when the record ended.
func (l *lack) until(r *record.Record) time.Time {
	if l.lasts {
		return r.End
	}
	return l.to
}

// extend adds that n pods lacked it at a time. Calls come in the order of time. After until,
// the end of the outage, a lack may end and none begins. It reports whether nothing more can
// change.
func (l *lack) extend(n int, at, until time.Time) bool {
	over := at.After(until)
	if last := len(l.counts) - 1; last < 0 || l.counts[last].n != n {
		l.counts = append(l.counts, counted{at, n})
	}
	switch {
	case n == 0 && l.lasts:
		l.to, l.lasts = at, false
	case n > 0 && (l.lasts || !over):
		if l.from.IsZero() {
			l.from = at
		}
		l.lasts = true
		if !over {
			l.most = max(l.most, n)
		}
		if n == l.most {
			l.fewer = time.Time{}
		} else if l.fewer.IsZero() {
			l.fewer = at
		}
	}
	return over && !l.lasts
}

// unavailable finds by the seconds of the load, and by the changes between them, how many pods
// were not available of those that the deployment should have had from the start of the
// outage until then.
func unavailable(r *record.Record, o *outage, want int) lack {
	l := lack{unknown: true}
	targets := targetsOf(r)
	for _, x := range availableIn(r, o.from) {
		l.unknown = false
		for len(targets) > 0 && targets[0].at.Before(x.at.Add(time.Second)) {
			if targets[0].at.After(o.from) {
				want = min(want, targets[0].replicas)
			}
			targets = targets[1:]
		}
		if x.replicas >= 0 {
			want = min(want, x.replicas)
		}
		if l.extend(max(want-x.available, 0), x.at, o.end(r)) {
			break
		}
	}
	return l
}

// availability is how many pods of the deployment were available from a time on, and how many
// it should have had; negative: unknown.
type availability struct {
	at                  time.Time
	available, replicas int
}

// availableIn lists the availability of the deployment of the record from a time on: the seconds,
// and each change on the timeline. Within a second pods may go and come back. The last one may be
// the deletion of the deployment, which should have no pods then.
func availableIn(r *record.Record, from time.Time) (out []availability) {
	for i := range r.Seconds {
		if x := &r.Seconds[i]; x.Available >= 0 && !x.At.Before(from) {
			out = append(out, availability{x.At, x.Available, -1})
		}
	}
	deployment := r.Deployment()
	for i := range r.Events {
		e := &r.Events[i]
		if e.Change != cluster.ChangeReplicas || deployment.Name == "" || (cluster.Key{Namespace: e.Namespace, Name: e.Subject}) != deployment {
			continue
		}
		if x := (availability{happened(*e), e.N, e.Of}); x.replicas > 0 && !x.at.Before(from) { // 0: it should have none, or the event lacks it
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b availability) int { return a.at.Compare(b.at) })
	if gone := deletedAt(r, from); !gone.IsZero() && len(out) > 0 {
		out = slices.DeleteFunc(out, func(x availability) bool { return !x.at.Before(gone) })
		out = append(out, availability{at: gone})
	}
	return out
}

// unplaced finds by the samples how many pods of the deployment had no node.
func unplaced(r *record.Record, o *outage) lack {
	var l lack
	deployment, waiting := r.Deployment(), map[cluster.Key]struct{}{}
	for i := range r.Samples {
		x := &r.Samples[i]
		if x.Key {
			clear(waiting)
		}
		if x.Cluster != nil {
			wait(waiting, x.Cluster, deployment)
		}
		if !x.More && !x.At.Before(o.from) && l.extend(len(waiting), x.At, o.end(r)) {
			break
		}
	}
	return l
}

// wait keeps the pods of a deployment that have no node.
func wait(waiting map[cluster.Key]struct{}, c *record.Cluster, deployment cluster.Key) {
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

// replicas is how many pods the deployment should have at a time, by the samples.
func replicas(r *record.Record, at time.Time) (n int, known bool) {
	if len(r.Samples) == 0 || r.Samples[0].At.After(at) {
		return 0, false
	}
	cursor := record.Cursor{Record: r}
	f := cursor.To(at).Frame(at)
	if f.Snapshot == nil {
		return 0, false
	}
	d := f.Snapshot.Deployment(r.Deployment())
	if d == nil {
		return 0, false
	}
	return d.Replicas, true
}

// wanted is how many pods the deployment should have at a time, by the samples, or
// how many it had; 0: unknown.
func wanted(r *record.Record, at time.Time) int {
	moments := []time.Time{at}
	if recorded(r) {
		moments = append(moments, r.End) // the recorder may have begun later
	}
	for _, at := range moments {
		if n, known := replicas(r, at); known {
			return n
		}
	}
	most := 0
	for i := range r.Seconds {
		if x := &r.Seconds[i]; !x.At.After(at) {
			most = max(x.Available, 0)
		}
	}
	return most
}
