package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// Clients is what lightsout's requests met in one outage.
type Clients struct {
	// Sent counts the requests that were sent in it. Failed are those that failed in it, or later
	// and before the next outage; First and Last are the bounds of the seconds in which they did,
	// and First is no earlier than the outage.
	Sent, Failed int
	ByClass      map[loadgen.Class]int
	First, Last  time.Time
	last         loadgen.ByClass // those that failed in the last of these seconds
	// Windows are the error windows that began in it;
	// ErrorTime is their length in seconds, without what they have in common.
	Windows   []record.Span
	ErrorTime float64
	// InWindows counts the requests that failed in them, and Outside those that failed outside of them.
	InWindows, Outside int
	// Hung counts the requests that lightsout or a time limit ended. Of several outages the last one has them all.
	Hung int
	// Prior counts the requests that failed before the first outage, and Before those since the drain that led to it began.
	Prior, Before int
	Known         Known
	// unsent is, the time from the outage's beginning in which lightsout had no request on its way, if the
	// lost pods had left their Services before it ended; else empty.
	unsent string
}

// asked reports whether a request was on its way before the lost pods had left their Services.
func (c Clients) asked() bool { return c.Sent > 0 && c.unsent == "" }

// Known is how far a record accounts for the requests of an outage.
type Known int

// How far it does.
const (
	KnownPartly Known = iota // others may have failed, of which nobody knows
	KnownAll                 // no request that clients may have sent is unaccounted for
	KnownLeast               // there may be more failures, or they lasted longer
	KnownNever               // no request of a recorder has ever succeeded
)

// clientsOf counts the requests of outage number i: a failure belongs to the last outage that had
// begun when it happened.
func clientsOf(r *record.Record, all []Facts, i int) Clients {
	c := Clients{ByClass: map[loadgen.Class]int{}}
	f := &all[i]
	before := i == 0 && (len(f.Nodes) > 0 || r.Unplanned())
	first := f.over
	for j := range r.Seconds {
		x := &r.Seconds[j]
		end := x.At.Add(time.Second)
		if end.After(f.From) && x.At.Before(f.over) {
			c.Sent += x.Sent
			if x.Sent+x.Served+x.Queued+x.Unknown > 0 || x.FailedSum() > 0 {
				first = earliest(first, latest(x.At, f.From))
			}
		}
		failed := x.FailedIn()
		delete(failed, loadgen.ClassLocal) // nobody knows what clients would have seen
		switch {
		case len(failed) == 0:
		case before && !end.After(f.began):
			c.Prior += failed.Sum()
			if end.After(f.drained) {
				c.Before += failed.Sum()
			}
		case outageAt(all, end.Add(-1)) == i:
			c.First, c.Last, c.last, c.Failed = cmp.Or(c.First, latest(x.At, f.began)), end, failed, c.Failed+failed.Sum()
			for class, n := range failed {
				c.ByClass[class] += n
			}
		}
	}
	if out, seen := lastSeen(summaryOf(r).Phases, view.PhaseEndpointsOut); seen && outageAt(all, secondsAfter(r, out)) == i && first.After(secondsAfter(r, out)) {
		c.unsent = "from " + clock(f.From) + " to " + clock(first) + " UTC"
	}
	c.count(r, all, i)
	if l := summaryOf(r).Ledger; len(all) == 1 && r.Unplanned() && f.over.Equal(r.End) && l.Scheduled > 0 { // it has all since zero
		c.Sent = l.Scheduled - l.NotSent()
	}
	for _, l := range summaryOf(r).Load {
		c.Hung += l.HungUntilEnded() * map[bool]int{true: 1}[i == len(all)-1]
	}
	open := len(c.Windows) > 0 && (stoodStill(r) || slices.ContainsFunc(summaryOf(r).Load, func(l record.Load) bool { return l.Unrecovered }))
	switch {
	case severityUnknown(r) && c.Failed > 0:
		c.Known = KnownNever
	case broken(r) || open:
		c.Known = KnownLeast
	case !stoodStill(r) && !summaryOf(r).Ledger.ManyUnsent() && summaryOf(r).Ledger.Cancelled == 0 && !severityUnknown(r) && !summaryOf(r).Unasked() && !slices.ContainsFunc(summaryOf(r).Load, func(l record.Load) bool { return l.Hung != nil }):
		c.Known = KnownAll
	}
	return c
}

// count adds the error windows of outage number i.
func (c *Clients) count(r *record.Record, all []Facts, i int) {
	other := func(s record.Span) bool {
		return outageAt(all, secondsAfter(r, s.From)) != i || secondsAfter(r, s.To).Before(all[i].began)
	}
	if r.Summary == nil || r.Summary.Zero.IsZero() {
		return // only a trial with a zero has them
	}
	for _, l := range r.Summary.Load {
		c.Windows = append(c.Windows, slices.DeleteFunc(slices.Clone(l.ErrorWindows), other)...)
		if l.LaterFailures != nil && !other(*l.LaterFailures) {
			c.Outside += l.LaterFailures.Failed
		}
		before := l.Before * map[bool]int{true: 1}[i == 0]
		c.Before, c.Failed, c.ByClass[loadgen.ClassConnectTimeout] = c.Before+before, c.Failed-before, c.ByClass[loadgen.ClassConnectTimeout]-before
	}
	slices.SortFunc(c.Windows, func(a, b record.Span) int { return cmp.Compare(a.From, b.From) })
	end := math.Inf(-1)
	for _, w := range c.Windows {
		c.ErrorTime, c.InWindows, end = c.ErrorTime+max(apart(max(end, w.From), w.To), 0), c.InWindows+w.Failed, max(end, w.To)
	}
	c.Failed = cmp.Or(c.InWindows+c.Outside, c.Failed)
}

// severityUnknown reports whether a recorder could not tell what clients noticed.
func severityUnknown(r *record.Record) bool {
	u := summaryOf(r).Unplanned
	return u != nil && u.Severity == record.SeverityUnknown
}
