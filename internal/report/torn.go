package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// base is the moment that offsets count from: zero, or the record's start when
// there is no zero.
func base(r *record.Record) time.Time {
	if !r.Zero.IsZero() {
		return r.Zero
	}
	return r.Start
}

// secondsAfter is so many seconds after the record's base.
func secondsAfter(r *record.Record, s float64) time.Time {
	return base(r).Add(time.Duration(s * float64(time.Second)))
}

// summaryOf is the summary of a record, an empty one where there is none.
func summaryOf(r *record.Record) *record.Summary { return cmp.Or(r.Summary, &record.Summary{}) }

// offAtEnd names the nodes whose machines were off when the record ends.
func offAtEnd(r *record.Record) []string {
	var out []string
	for _, l := range r.Lanes {
		if slices.ContainsFunc(l.Spans, func(s view.NodeSpan) bool { return s.Kind == view.SpanOff && !s.To.Before(r.End) }) {
			out = append(out, l.Node)
		}
	}
	return out
}

// runsOf counts the requests of each start of the generator, for a record
// without a summary.
func runsOf(r *record.Record) section {
	t := section{ID: "load", Title: "Load", Nothing: cell{Text: "No request had ended."}}
	t.columns("load")
	t.figures("ended", "ok", "failed")
	t.columns("of these", "else")
	t.figures("failed from – to")
	at := func(t time.Time) *float64 {
		if t.IsZero() {
			return nil
		}
		s := t.Sub(base(r)).Seconds()
		return &s
	}
	for _, x := range r.Runs {
		n := x.Totals.Counts()
		t.row(fmt.Sprintf("%d (%s)", x.Number, x.Spec.Shape), n.Scheduled, n.OK, n.Failed, classes(n.FailedByClass),
			otherwise(n.Cancelled, 0, n.Unsent), window(at(x.Failures.First), at(x.Failures.Ended)))
	}
	t.trim("of these", "else", "failed from – to")
	return t
}

// endedOf counts the requests of a record without a summary.
func endedOf(r *record.Record) section {
	t := section{ID: "ledger", Title: "Ledger"}
	var n loadgen.Counts
	for i := range r.Runs {
		n.Add(r.Runs[i].Totals.Counts())
	}
	t.say(plain, fmt.Sprintf("%d ended = %d ok + %d failed + %d cancelled + %d unsent.", n.Scheduled, n.OK, n.Failed, n.Cancelled, n.Unsent))
	t.say(warning, "Requests that were in flight when the program ended are not in it.")
	return t
}
