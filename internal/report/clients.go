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
	failures := failuresOf(r)
	windows, others := failuresIn(r, all, failures, i)
	ends := endsOf(failures, all, i, r)
	waited := unanswered(r, all, i)
	switch {
	case total == 0 && waited == "":
		return "no requests were sent"
	case severityUnknown(r) && len(windows)+len(others) > 0:
		return NeverAnswered
	case len(windows) > 0:
		said := "clients saw errors for " + errorTime(r, windows) + failedBefore(r, all, i)
		if n := failedIn(others); n > 0 {
			said += fmt.Sprintf(", and %s failed later", text.Count(n, "more request", "more requests"))
		}
		return listed(said, waited)
	case len(others) > 0:
		from, to := others[0].from, others[0].to
		for _, f := range others {
			from, to = earliest(from, f.from), latest(to, f.to)
		}
		return listed(leastOf(r)+fmt.Sprintf("%s failed between %s and %s", text.Count(failedIn(others), "request", "requests"), clock(from), clock(to)), waited)
	case waited != "":
		return waited
	case ends.before > 0:
		return leastOf(r) + ends.around()
	case ends.inFlight > 0 && ends.sent == 0:
		return leastOf(r) + text.Count(ends.inFlight, "request that was", "requests that were") + " in flight failed"
	case meanwhile == 0, noneAsked(r) && summaryOf(r).Ledger.Cancelled == 0:
		return "no requests were sent meanwhile"
	case ends.inFlight > 0:
		return leastOf(r) + fmt.Sprintf("%s failed, %d of them in flight before", text.Count(ends.inFlight+ends.sent, "request", "requests"), ends.inFlight)
	case ends.sent > 0:
		return leastOf(r) + text.Count(ends.sent, "request", "requests") + " that clients sent meanwhile failed"
	case ends.later > 0:
		return text.Count(ends.later, "request", "requests") + " that clients sent meanwhile failed in a later outage"
	case broken(r), stoodStill(r), severityUnknown(r), noneAsked(r), notAnswered(r), mayHang(r, all, i):
		return "no request is known to have failed"
	}
	return noneFailed
}

// noneFailed is how clientsOf describes requests that were all ok.
const noneFailed = "no request failed"

// NeverAnswered describes the requests of a recorder to a target that has never answered it.
const NeverAnswered = "no request has ever succeeded"

// leastOf qualifies the number of requests that failed: the record of a program that was killed
// lacks those that it had not written.
func leastOf(r *record.Record) string {
	if broken(r) {
		return "at least "
	}
	return ""
}

// severityUnknown reports whether a recorder could not tell what clients noticed.
func severityUnknown(r *record.Record) bool {
	u := summaryOf(r).Unplanned
	return u != nil && u.Severity == record.SeverityUnknown
}

// noneAsked reports whether a trial had loads, and none of their requests succeeded or failed
// after zero.
func noneAsked(r *record.Record) bool {
	loads := summaryOf(r).Load
	return len(loads) > 0 && !slices.ContainsFunc(loads, func(l record.Load) bool { return !l.Unasked })
}

// notAnswered reports whether a load ended without an answer, although no request of it failed.
func notAnswered(r *record.Record) bool {
	return slices.ContainsFunc(summaryOf(r).Load, func(l record.Load) bool { return l.Unanswered })
}

// listed joins two parts, of which the second may be empty.
func listed(a, b string) string {
	if b == "" {
		return a
	}
	return a + ", and " + b
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
		if l.Started == nil || l.PeakQueued <= most.PeakQueued || !alone(r, l) {
			continue
		}
		if l.Scheduled != l.PeakServed+l.PeakQueued || l.PeakServedUpTo+l.PeakQueuedUpTo > 0 {
			continue // not a burst, or its largest values are of several moments or other clients
		}
		if at := secondsAfter(r, *l.Started); at.After(o.from) && at.Before(o.end(r)) {
			most = l
		}
	}
	if most.PeakQueued == 0 {
		return ""
	}
	said := fmt.Sprintf("of %s %d were served at once and %d queued", text.Count(most.Scheduled, "request", "requests"), most.PeakServed, most.PeakQueued)
	if most.Basis == string(loadgen.BasisEstimated) { // no server reported them
		return "by an estimate, " + said
	}
	return said
}

// alone reports whether no other load ran at the same time: the gauge counts the requests of all.
func alone(r *record.Record, l record.Load) bool {
	during := func(o record.Load) bool {
		return o.Started != nil && (l.Ended == nil || *o.Started < *l.Ended) && (o.Ended == nil || *l.Started < *o.Ended)
	}
	others := 0
	for _, o := range summaryOf(r).Load {
		if during(o) {
			others++
		}
	}
	return others <= 1 // itself
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
