package recorder

import (
	"slices"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/loadgen"
)

// downLeast is how many requests in a row fail while the service is down.
const downLeast = 3

// inRow is how many requests failed in a row, at most, in the order in which they were sent: one
// that hangs fails among later ones that are ok.
func (o *incident) inRow() (most int) {
	failed := 0
	for _, x := range o.tracker.Requests().Rows() {
		failed += x.Span.N
		if x.OK > 0 {
			failed, most = 0, max(most, min(1, x.Span.N))
		}
		most = max(most, failed)
	}
	return most
}

// sentence says what clients notice; empty if nobody knows. Of a target that has never answered
// the recorder, no failure shows that.
func (o *incident) sentence() string {
	switch failed := o.inRow() > 0; {
	case failed && o.answered():
		return "clients see errors"
	case failed:
		return report.NeverAnswered
	case len(o.tracker.Runs()) > 0:
		return "no request has failed so far"
	}
	return ""
}

// answered reports whether the target has answered the recorder, or the requests are an operator's.
func (o *incident) answered() bool { return o.r.opt.Every == 0 || !o.r.requests.first.IsZero() }

// severity is what clients have noticed so far.
func (o *incident) severity() record.Severity {
	failed := o.inRow()
	switch {
	case len(o.tracker.Runs()) == 0 || !o.answered():
		return record.SeverityUnknown
	case failed >= downLeast:
		return record.SeverityDown
	case failed > 0:
		return record.SeverityDegraded
	case o.found.RequestsFrom != nil, o.stoodStill(), o.waiting(), o.unasked():
		return record.SeverityUnknown
	}
	return record.SeverityUnnoticed
}

// stoodStill reports whether the recorder did not run, and sent no requests, for a part of the
// outage.
func (o *incident) stoodStill() bool {
	return slices.ContainsFunc(o.blind(o.r.opt.Now()), func(b record.Blind) bool { return b.StoodStill })
}

// blind lists the blind spans of the outage until now.
func (o *incident) blind(now time.Time) []record.Blind {
	return record.BlindOf(o.r.s.Snapshot(), func(at time.Time) float64 { return at.Sub(o.zero).Seconds() }, o.zero, now)
}

// waitsLeast is the least time that a request must have been in flight for nobody to know
// whether it hangs.
const waitsLeast = 10 * time.Second

// waiting reports whether requests have been in flight for much longer than others took.
func (o *incident) waiting() bool {
	if o.r.opt.Load == nil {
		return false
	}
	run := o.r.opt.Load.Run()
	old := run.Totals.InFlight()
	for _, x := range run.Seconds {
		if o.r.opt.Now().Sub(x.At) < max(waitsLeast, 2*o.slowest) {
			old -= x.Unresolved
		}
	}
	return old > 0
}

// unasked reports whether the requests that have ended since zero do not show what clients
// noticed: none was ok, many were not sent, or some hung until the operator ended them.
func (o *incident) unasked() bool {
	var all loadgen.Counts
	for _, run := range o.tracker.Runs() {
		x := o.tracker.Run(run)
		if x.Hung().Cancelled > 0 {
			return true
		}
		all.Add(x.Counts(0))
	}
	return all.OK == 0 || all.ManyUnsent()
}
