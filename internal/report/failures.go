package report

import (
	"fmt"
	"slices"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/loadgen"
)

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

// failure counts the requests that were sent in one second and failed in the same or a later
// one. sent is zero if the record does not contain that second.
type failure struct {
	sent, failed time.Time
	n            int
}

// failuresOf lists the failures of a record. Seconds only count how many requests of earlier
// seconds failed in them: of each class those that were sent first count as the first to fail.
func failuresOf(r *record.Record) (out []failure) {
	waiting := map[loadgen.Class][]failure{}
	for j := range r.Seconds {
		x := &r.Seconds[j]
		for c, n := range x.Earlier {
			var ended []failure
			ended, waiting[c] = first(waiting[c], n, x.At)
			out = append(out, ended...)
		}
		for c, n := range x.Failed {
			if now := n - x.Later[c]; now > 0 {
				out = append(out, failure{sent: x.At, failed: x.At, n: now})
			}
			if later := x.Later[c]; later > 0 {
				waiting[c] = append(waiting[c], failure{sent: x.At, n: later})
			}
		}
	}
	for _, all := range waiting {
		for _, f := range all { // the record does not show when
			f.failed = r.Seconds[len(r.Seconds)-1].At
			out = append(out, f)
		}
	}
	return out
}

// first takes the first n of the requests that wait: they failed in the second at.
func first(waiting []failure, n int, at time.Time) (ended, rest []failure) {
	for n > 0 && len(waiting) > 0 {
		f := waiting[0]
		f.n, f.failed = min(f.n, n), at
		ended, n = append(ended, f), n-f.n
		waiting[0].n -= f.n
		if waiting[0].n == 0 {
			waiting = waiting[1:]
		}
	}
	if n > 0 {
		ended = append(ended, failure{failed: at, n: n})
	}
	return ended, waiting
}

// outage is the outage in which the requests failed.
func (f failure) outage(all []outage) int { return outageAt(all, f.failed.Add(time.Second-1)) }

// counts is when requests that were in flight when an outage began count from.
func (f failure) counts(o outage) time.Time { return earliest(o.from, f.failed) }

// endings counts the failed requests of an outage by when they were sent and failed: sent in it,
// in flight when it began and failed in it, or sent in it and failed in a later outage. before
// counts those that failed just before lightsout noticed it: it may have begun by then.
type endings struct{ sent, inFlight, later, before int }

// around describes failures of which some happened just before lightsout noticed the outage.
func (e endings) around() string {
	const when = "in the seconds before lightsout noticed the outage"
	all := e.before + e.inFlight + e.sent
	if all == e.before {
		return text.Count(all, "request", "requests") + " failed " + when
	}
	return fmt.Sprintf("%d requests failed, %d of them %s", all, e.before, when)
}

// endsOf counts the failures of outage number i.
func endsOf(failures []failure, all []outage, i int, r *record.Record) (out endings) {
	if i < 0 {
		return out
	}
	end := all[i].end(r)
	for _, f := range failures {
		meanwhile := f.sent.Add(time.Second).After(all[i].from) && f.sent.Before(end)
		switch at := f.outage(all); {
		case meanwhile && at == i:
			out.sent += f.n
		case meanwhile && at > i:
			out.later += f.n
		case at == i && !f.failed.Add(time.Second).After(all[i].from) && f.failed.Add(time.Second).After(all[i].began()):
			out.before += f.n
		case at == i && f.sent.Before(all[i].from) && f.failed.Add(time.Second).After(all[i].began()) && f.failed.Before(end):
			out.inFlight += f.n
		}
	}
	return out
}

// failuresIn finds the error windows of outage number i, and the other failures that belong to
// it. Only a judged trial has error windows. Failures belong to the last outage that had begun
// when they happened.
func failuresIn(r *record.Record, all []outage, failures []failure, i int) (windows, others []failed) {
	s := r.Summary
	if s == nil || s.Zero.IsZero() {
		for j := range r.Runs {
			f := r.Runs[j].Failures
			others = append(others, failed{from: f.First, to: f.Ended, n: f.N})
		}
		return nil, othersIn(all, failures, others, nil, i)
	}
	of := func(x record.Span) failed {
		return failed{from: secondsAfter(r, x.From), to: secondsAfter(r, x.To), n: x.Failed}
	}
	var whole []failed
	for _, l := range s.Load {
		for _, x := range l.ErrorWindows {
			w := of(x)
			whole = append(whole, w)
			if part := partOf(all, failures, w, x.From <= 0, i); part.n > 0 {
				windows = append(windows, part)
			}
		}
		if l.LaterFailures != nil {
			others = append(others, of(*l.LaterFailures))
		}
	}
	return windows, othersIn(all, failures, others, whole, i)
}

// across reports whether a window lasts from one outage into another.
func (f failed) across(all []outage) bool { return outageAt(all, f.from) < outageAt(all, f.to) }

// has reports whether failures are of the window. zero: it begins with the clock, at which the
// requests that were in flight begin to count.
func (f failed) has(x failure, zero bool) bool {
	in := x.failed.Add(time.Second).After(f.from) && !x.failed.After(f.to)
	return in && (zero || x.sent.IsZero() || x.sent.Add(time.Second).After(f.from))
}

// partOf is the part of an error window that belongs to outage number i; n is 0 if there is
// none. A window may last from one outage into the next: then requests belong to the outage in
// which they failed. Those that were in flight at zero count from zero, so they belong to the
// first one.
func partOf(all []outage, failures []failure, w failed, zero bool, i int) failed {
	out, found := failed{about: true}, false
	for _, f := range failures {
		if !w.across(all) || !w.has(f, zero) {
			continue
		}
		found = true
		at, from := f.outage(all), latest(f.sent, w.from)
		if zero && !f.sent.Add(time.Second).After(w.from) {
			at = outageAt(all, w.from)
		} else {
			from = latest(from, f.counts(all[at]))
		}
		if at != i {
			continue
		}
		if out.n == 0 || from.Before(out.from) {
			out.from = from
		}
		out.n, out.to = out.n+f.n, latest(out.to, earliest(f.failed.Add(time.Second), w.to))
	}
	switch {
	case found:
		return out
	case outageAt(all, w.from) == i:
		return w
	}
	return failed{}
}

// othersIn finds the failures outside error windows that belong to outage number i. spans may
// last over several outages: if the failures within are no others, each belongs to the outage in
// which it failed, else a span to the one in which it begins.
func othersIn(all []outage, failures []failure, spans, windows []failed, i int) (out []failed) {
	parts, across, n := make([]failed, len(all)), false, 0
	for _, f := range failures {
		of := func(w failed) bool { return w.has(f, true) }
		if at := f.outage(all); at >= 0 && !slices.ContainsFunc(windows, of) && slices.ContainsFunc(spans, of) {
			p, from := &parts[at], latest(f.sent, f.counts(all[at]))
			if p.n == 0 || from.Before(p.from) {
				p.from = from
			}
			p.n, p.to, n = p.n+f.n, latest(p.to, f.failed.Add(time.Second)), n+f.n
		}
	}
	for _, s := range spans {
		across = across || s.across(all)
		if s.n > 0 && outageAt(all, s.from) == i {
			out = append(out, s)
		}
	}
	switch {
	case !across || n != failedIn(spans):
		return out
	case parts[i].n == 0:
		return nil
	}
	return []failed{parts[i]}
}
