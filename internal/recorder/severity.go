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

// severity is what clients have noticed so far. Of a target that has never answered the recorder, no
// failure shows that.
func (o *incident) severity() (s record.Severity, why string) {
	failed := o.tracker.Requests().MostInRow()
	switch own := o.r.opt.Every > 0; {
	case len(o.tracker.Runs()) == 0:
		return record.SeverityUnknown, "lightsout sent no requests"
	case own && o.r.requests.first.IsZero():
		return record.SeverityUnknown, report.NeverAnswered
	case failed >= downLeast:
		return record.SeverityDown, ""
	case failed > 0:
		return record.SeverityDegraded, ""
	}
	if why = o.unasked(); why != "" {
		return record.SeverityUnknown, why
	}
	return record.SeverityUnnoticed, ""
}

// sentence says what clients notice; empty if nobody knows.
func (o *incident) sentence(s record.Severity, why string) string {
	switch {
	case s == record.SeverityDown, s == record.SeverityDegraded:
		return "clients see errors"
	case why == report.NeverAnswered:
		return why
	case len(o.tracker.Runs()) > 0:
		return "no request has failed so far"
	}
	return ""
}

// unasked is why the requests do not show that clients noticed nothing; empty if they do.
func (o *incident) unasked() string {
	var all loadgen.Counts
	hung := 0
	for _, run := range o.tracker.Runs() {
		x := o.tracker.Run(run)
		hung += x.Hung().Cancelled
		all.Add(x.Counts(0))
	}
	switch {
	case o.stoodStill(), all.ManyUnsent():
		return "lightsout did not send requests all the time"
	case o.found.RequestsFrom != nil:
		return "lightsout had forgotten requests"
	case o.waiting():
		return "requests had not ended"
	case hung > 0:
		return "requests hung until lightsout ended them"
	case all.OK == 0:
		return "too few requests were answered"
	}
	return ""
}

// stoodStill reports whether the recorder did not run, and sent no requests, for a part of the
// outage.
func (o *incident) stoodStill() bool {
	return slices.ContainsFunc(o.blind(o.r.opt.Now()), func(b record.Blind) bool { return b.StoodStill })
}

// blind lists the blind spans of the outage until now.
func (o *incident) blind(now time.Time) []record.Blind {
	offset := func(at time.Time) float64 { return at.Sub(o.zero).Seconds() }
	all := record.BlindOf(o.r.s.Snapshot(), offset, o.zero, now)
	if began := o.tracker.Began(); !began.IsZero() {
		all = slices.Insert(all, 0, record.Blind{To: offset(began), Why: "the recorder had not begun", StoodStill: true})
	}
	return all
}

// waiting reports whether requests have been in flight for so long that they may hang.
func (o *incident) waiting() bool {
	if o.r.opt.Load == nil {
		return false
	}
	run := o.r.opt.Load.Run()
	old := run.Totals.InFlight()
	for _, x := range run.Seconds {
		if o.r.opt.Now().Sub(x.At) < o.tracker.Requests().HangsAfter() {
			old -= x.Unresolved
		}
	}
	return old > 0
}
