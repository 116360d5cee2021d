package report

import (
	"fmt"
	"slices"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/loadgen"
)

// clientsOf describes the clients' errors in outage number i; in the whole record for -1.
func clientsOf(r *record.Record, all []outage, i int) string {
	total, meanwhile := sentIn(r, all, i)
	windows, others := failuresIn(r, all, i)
	inNoWindow := 0
	if i >= 0 {
		inNoWindow = partOf(r, all, i, failed{from: all[i].from, to: all[i].end(r)}).n
	}
	switch {
	case total == 0 && unanswered(r, all, i) == "":
		return "no requests were sent"
	case len(windows) > 0:
		said := "clients saw errors for " + errorTime(r, windows) + failedBefore(r, all, i)
		if n := failedIn(others); n > 0 {
			said += fmt.Sprintf(", and %s failed later", text.Count(n, "more request", "more requests"))
		}
		return listed(said, unanswered(r, all, i))
	case len(others) > 0:
		from, to := others[0].from, others[0].to
		for _, f := range others {
			from, to = earliest(from, f.from), latest(to, f.to)
		}
		return listed(fmt.Sprintf("%s failed between %s and %s", text.Count(failedIn(others), "request", "requests"), clock(from), clock(to)), unanswered(r, all, i))
	case unanswered(r, all, i) != "":
		return unanswered(r, all, i)
	case meanwhile == 0 && inFlightFailed(r, all, i) > 0:
		return text.Count(inFlightFailed(r, all, i), "request that was", "requests that were") + " in flight failed"
	case meanwhile == 0, noneAsked(r):
		return "no requests were sent meanwhile"
	case inNoWindow > 0:
		return text.Count(inNoWindow, "request", "requests") + " that clients sent meanwhile failed"
	case broken(r), stoodStill(r), severityUnknown(r), i > 0 && unanswered(r, all, 0) != "":
		return "no request is known to have failed"
	}
	return "no request failed"
}

// inFlightFailed counts the requests that were sent before a later outage and failed in it.
func inFlightFailed(r *record.Record, all []outage, i int) (n int) {
	for j := range r.Seconds {
		if x := &r.Seconds[j]; i > 0 && outageAt(all, x.At) == i {
			for _, earlier := range x.Earlier {
				n += earlier
			}
		}
	}
	return n
}

// severityUnknown reports whether a recorder could not tell what clients noticed.
func severityUnknown(r *record.Record) bool {
	u := summaryOf(r).Unplanned
	return u != nil && u.Severity == record.SeverityUnknown
}

// noneAsked reports whether a trial had loads, and none of their requests ended after zero.
func noneAsked(r *record.Record) bool {
	loads := summaryOf(r).Load
	return len(loads) > 0 && !slices.ContainsFunc(loads, func(l record.Load) bool { return !l.NoneAsked() })
}

// listed joins two parts, of which the second may be empty.
func listed(a, b string) string {
	if b == "" {
		return a
	}
	return a + ", and " + b
}

// unansweredLeast is for how long a request must have been in flight when the record ended
// for the opening to mention it.
const unansweredLeast = 10 * time.Second

// unanswered describes the requests that hung through outage number i until lightsout ended
// them, and those that had not ended when the record did.
func unanswered(r *record.Record, all []outage, i int) string {
	hung, open := 0, 0
	for _, l := range summaryOf(r).Load {
		if l.Hung != nil && i <= 0 {
			hung += l.Hung.Cancelled
		}
		if severityUnknown(r) && i <= 0 {
			open += l.InFlight
		}
	}
	if open > 0 { // the recorder has counted them
		return text.Count(open, "request", "requests") + " had not ended when the record did"
	}
	for j := range r.Seconds {
		x := &r.Seconds[j]
		during := i < 0 || x.At.Before(all[i].end(r)) && outageAt(all, x.At) == i
		if during && !x.At.Add(unansweredLeast).After(r.End) {
			open += x.Unresolved
		}
	}
	switch {
	case hung > 0:
		return text.Count(hung, "request", "requests") + " hung until lightsout ended " + text.Noun(hung, "it", "them")
	case open > 0:
		return text.Count(open, "request", "requests") + " had not ended when the record did"
	}
	return ""
}

// failedBefore describes the requests that failed before the first outage: it did not cause
// those.
func failedBefore(r *record.Record, all []outage, i int) string {
	if i != 0 {
		return ""
	}
	failed, ended := 0, 0
	for j := range r.Seconds {
		x := &r.Seconds[j]
		if x.At.Add(time.Second).After(all[0].from) {
			break
		}
		n := 0 // those that had failed by then
		for _, of := range x.FailedIn() {
			n += of
		}
		failed, ended = failed+n, ended+n+x.OK
	}
	if failed == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of the %s before had failed too)", failed, text.Count(ended, "request", "requests"))
}

// queuedIn describes the largest queue of the loads that began while nodes were down.
func queuedIn(r *record.Record, o *outage) string {
	var most record.Load
	for _, l := range summaryOf(r).Load {
		if l.Started == nil || l.PeakQueued <= most.PeakQueued || l.Scheduled > l.PeakServed+l.PeakQueued {
			continue // with more requests than those it is not a burst
		}
		if l.PeakServed > l.Scheduled || l.PeakQueued > l.Scheduled {
			continue // other loads have a share of the gauge
		}
		if at := secondsAfter(r, *l.Started); at.After(o.from) && at.Before(o.end(r)) {
			most = l
		}
	}
	if most.PeakQueued == 0 {
		return ""
	}
	return fmt.Sprintf("of %s %d were served at once and %d queued", text.Count(most.Scheduled, "request", "requests"), most.PeakServed, most.PeakQueued)
}

// errorTime is how long error windows are, without what they have in common.
func errorTime(r *record.Record, windows []failed) string {
	slices.SortFunc(windows, func(a, b failed) int { return a.from.Compare(b.from) })
	var sum time.Duration
	end, parts := time.Time{}, 0
	for _, w := range windows {
		if w.from.After(end) {
			end, parts = w.from, parts+1
		}
		sum += max(w.to.Sub(end), 0)
		end = latest(end, w.to)
	}
	said := lasted(sum)
	if slices.ContainsFunc(windows, func(w failed) bool { return w.about }) {
		said = "about " + inSeconds(sum)
	}
	if parts > 1 {
		said = fmt.Sprintf("%s in all, %d times", said, parts)
	}
	if stoodStill(r) || !slices.ContainsFunc(r.Seconds, func(x record.Second) bool { return x.OK > 0 && x.At.Add(time.Second).After(end) }) {
		return "at least " + said
	}
	return said
}

// lasted is a length of time as one says it.
func lasted(d time.Duration) string {
	switch {
	case d < 50*time.Millisecond:
		return "less than 0.1 s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return inSeconds(d)
}

// inSeconds is a length of time in whole seconds.
func inSeconds(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return text.Span(d)
}

// failed is a time in which n requests failed.
type failed struct {
	from, to time.Time
	n        int
	// about: the times are those of seconds.
	about bool
}

func failedIn(all []failed) (n int) {
	for _, f := range all {
		n += f.n
	}
	return n
}

// failuresIn finds the error windows of outage number i, and the other failures
// that belong to it: each to the last outage that had begun. Only a judged trial
// has error windows.
func failuresIn(r *record.Record, all []outage, i int) (windows, others []failed) {
	add := func(to *[]failed, f failed) {
		if f.n > 0 && outageAt(all, f.from) == i {
			*to = append(*to, f)
		}
	}
	if s := r.Summary; s != nil && !s.Zero.IsZero() {
		of := func(x record.Span) failed {
			return failed{from: secondsAfter(r, x.From), to: secondsAfter(r, x.To), n: x.Failed}
		}
		for _, l := range s.Load {
			for _, w := range l.ErrorWindows {
				whole := of(w)
				part := whole
				if outageAt(all, whole.from) < outageAt(all, whole.to) {
					part = partOf(r, all, i, whole)
					part.atZero(l, w, whole, outageAt(all, whole.from) == i)
				}
				add(&windows, part)
			}
			if l.LaterFailures != nil {
				add(&others, of(*l.LaterFailures))
			}
		}
		return windows, others
	}
	for i := range r.Runs {
		f := r.Runs[i].Failures
		add(&others, failed{from: f.First, to: f.Ended, n: f.N})
	}
	return nil, others
}

// atZero adds the failed requests that were in flight at zero to the part of an error window
// that belongs to the first outage: they were sent before the window begins.
func (f *failed) atZero(l record.Load, w record.Span, whole failed, first bool) {
	if !first || w.From > 0 || l.AtZero == nil || l.AtZero.Failed == 0 {
		return
	}
	if f.n == 0 {
		*f = whole
		f.n = 0
	}
	f.n += l.AtZero.Failed
}

// partOf is the part of an error window that belongs to outage number i, by the seconds in
// which requests failed: a window may last from one outage into the next. n is 0 if there is
// none.
func partOf(r *record.Record, all []outage, i int, w failed) failed {
	out := failed{about: true}
	for j := range r.Seconds {
		x := &r.Seconds[j]
		end := x.At.Add(time.Second)
		if n := x.FailedSum(); n > 0 && end.After(w.from) && x.At.Before(w.to) && outageAt(all, latest(x.At, w.from)) == i {
			if out.n == 0 {
				out.from = latest(x.At, w.from)
			}
			out.n, out.to = out.n+n, end
		}
		if out.n > 0 && len(x.FailedIn()) > 0 && outageAt(all, x.At) == i {
			out.to = earliest(end, w.to)
		}
	}
	return out
}

// sentIn counts the requests that were sent, and those during outage number i.
func sentIn(r *record.Record, all []outage, i int) (total, meanwhile int) {
	for j := range r.Seconds {
		x := &r.Seconds[j]
		total += x.Sent
		if i >= 0 && x.At.Add(time.Second).After(all[i].from) && x.At.Before(all[i].end(r)) {
			meanwhile += x.Sent
		}
	}
	for _, l := range summaryOf(r).Load {
		if l.AtZero != nil && i == 0 {
			meanwhile += l.AtZero.Scheduled
		}
	}
	if i < 0 {
		meanwhile = total
	}
	return total, meanwhile
}

// unsentShare: the opening names unsent requests if they are more than one in so many; a
// few may have been due when the load was stopped. The ledger has all.
const unsentShare = 20

// ManyUnsent reports whether so many requests were not sent that nobody knows what clients
// would have seen.
func ManyUnsent(c loadgen.Counts) bool { return c.Unsent*unsentShare > c.Scheduled }
