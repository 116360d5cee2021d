package report

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// Facts is what a report tells of one outage: what was down, for how long and for whom.
type Facts struct {
	// Nodes went down, in the order of time; empty: the outage had other signs.
	// unheard were NotReady only because the API server answered nobody.
	Nodes, unheard []NodeFacts
	// From is when the first one went down, or was asked to. To is when the last of those that
	// were down with it was back; zero: it was not when the record ended.
	From, To time.Time
	Clients  Clients
	// Workloads are those of which the record shows the pods, the worst first.
	Workloads []Workload
	pods      *pods
	// drained is when the drain that led to it began; without one, From. began is the earliest time at which the
	// outage may have begun; over is To, or the end of the record.
	drained, began, over time.Time
}

// factsOf finds the outages of a record, in the order of time. If no node went down, the facts
// without nodes are those of the whole record.
func factsOf(r *record.Record) []Facts {
	var out []Facts
	for _, n := range nodesOf(r) {
		if last := len(out) - 1; last >= 0 && (out[last].To.IsZero() || !n.From.After(out[last].To)) {
			out[last].add(n)
			continue
		}
		out = append(out, Facts{Nodes: []NodeFacts{n}, From: n.From, To: n.To, drained: n.drained, began: n.Began()})
	}
	if len(out) == 0 {
		out = wholeRecord(r)
	}
	pods := podsIn(r)
	readings := readingsOf(r, pods)
	for i := range out {
		out[i].over, out[i].pods = cmp.Or(out[i].To, r.End), pods
		pods.evict(r, out[i].Nodes)
		out[i].unheard = slices.DeleteFunc(unheard(r), func(n NodeFacts) bool { return !out[i].meets(interval{n.From, n.To}) })
		out[i].Clients = clientsOf(r, out, i)
		out[i].Workloads = workloadsOf(r, &out[i], pods, readings)
	}
	return out
}

// nodesIn are the nodes of all outages.
func nodesIn(all []Facts) []NodeFacts {
	return slices.Concat(text.Each(all, func(f Facts) []NodeFacts { return f.Nodes })...)
}

// wholeRecord are the facts of a record as one outage without nodes from its zero on; one that nobody planned cannot have
// begun before.
func wholeRecord(r *record.Record) []Facts {
	began := map[bool]time.Time{true: r.Zero, false: r.Start}[r.Unplanned()]
	return []Facts{{From: base(r), To: r.End, over: r.End, began: began, drained: began}}
}

func (f *Facts) add(n NodeFacts) {
	f.Nodes, f.drained = append(f.Nodes, n), earliest(f.drained, n.drained)
	if n.To.IsZero() || f.To.IsZero() {
		f.To = time.Time{}
	} else {
		f.To = latest(f.To, n.To)
	}
}

// outageAt is the last outage that had begun at t, else the first.
func outageAt(all []Facts, t time.Time) (at int) {
	for i := range all {
		if !all[i].began.After(t) {
			at = i
		}
	}
	return at
}

// interval is a time in which something was so, as that lightsout did not see the cluster; to is zero if it lasted to the end
// of the record.
type interval struct{ from, to time.Time }

// meets reports whether an interval has a part of the outage.
func (f *Facts) meets(s interval) bool {
	return s.from.Before(f.over) && (s.to.IsZero() || s.to.After(f.From))
}

// apiLost lists by the timeline when the API server did not answer: each time from its last answer on, if the recorder knows
// that, else from when it was missed.
func apiLost(r *record.Record) (out []interval) {
	for i := range r.Events {
		e := &r.Events[i]
		if e.Code != view.CodeAPILost && e.Sign != view.SignAPI {
			continue
		}
		s := interval{from: e.At, to: apiAnswers(r, e.At)}
		if last := len(out) - 1; last >= 0 && out[last].to.Equal(s.to) {
			out[last].from = earliest(out[last].from, s.from)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// apiAnswers is when the API server answered again after a time; zero if it did not.
func apiAnswers(r *record.Record, from time.Time) time.Time {
	for i := range r.Events {
		if e := &r.Events[i]; e.Code == view.CodeAPIAnswers && e.Seen.After(from) {
			return e.Seen
		}
	}
	return time.Time{}
}

// unseenIn lists the spans in which lightsout did not see the cluster.
func unseenIn(r *record.Record) []interval {
	return append(apiLost(r), text.Each(summaryOf(r).Blind, func(b record.Blind) interval { return interval{secondsAfter(r, b.From), secondsAfter(r, b.To)} })...)
}

// stoodStill reports whether lightsout did not run, and sent no requests, for a part of
// the record.
func stoodStill(r *record.Record) bool {
	return slices.ContainsFunc(summaryOf(r).Blind, func(b record.Blind) bool { return b.StoodStill })
}

// broken reports whether the program ended before its record did.
func broken(r *record.Record) bool { return r.Summary == nil && len(r.Torn) > 0 }

func latest(times ...time.Time) time.Time   { return slices.MaxFunc(times, time.Time.Compare) }
func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }

// base is the moment that offsets count from: zero, or the record's start when
// there is no zero.
func base(r *record.Record) time.Time { return cmp.Or(r.Zero, r.Start) }

// secondsAfter is so many seconds after the record's base.
func secondsAfter(r *record.Record, s float64) time.Time {
	return base(r).Add(time.Duration(s * float64(time.Second)))
}

// shown are objects of the cluster as the samples of a record show them, with the time.
func shown[T any](r *record.Record, of func(*record.Cluster) []*T) iter.Seq2[time.Time, *T] {
	return func(yield func(time.Time, *T) bool) {
		for i := range r.Samples {
			if r.Samples[i].Cluster == nil {
				continue
			}
			for _, x := range of(r.Samples[i].Cluster) {
				if x != nil && !yield(r.Samples[i].At, x) {
					return
				}
			}
		}
	}
}

func nodesShown(r *record.Record) iter.Seq2[time.Time, *cluster.Node] {
	return shown(r, func(c *record.Cluster) []*cluster.Node { return c.Nodes })
}

func deploymentsShown(r *record.Record) iter.Seq2[time.Time, *cluster.Deployment] {
	return shown(r, func(c *record.Cluster) []*cluster.Deployment { return c.Deployments })
}

// summaryOf is the summary of a record, an empty one where there is none.
func summaryOf(r *record.Record) *record.Summary { return cmp.Or(r.Summary, &record.Summary{}) }
