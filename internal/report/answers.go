package report

import (
	"fmt"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/loadgen"
)

// answersOf lists the latency of the answers, for each run of the generator.
func answersOf(r *record.Record) section {
	t := section{ID: "answers", Title: "Latency"}.columns("load", "#ok", "#ok a second", "#p50", "#p95", "#p99", "#slowest", "#first token p50", "#first token p95", "#first token p99", "#tokens a second")
	for i := range r.Runs {
		x := &r.Runs[i]
		if x.Totals.OK == 0 || x.Latency.Max == 0 {
			continue
		}
		t.row(stepOf(r, x), x.Totals.OK, rate(x.OKPerSecond()), took(x.Latency.P50), took(x.Latency.P95), took(x.Latency.P99), took(x.Latency.Max),
			took(x.FirstToken.P50), took(x.FirstToken.P95), took(x.FirstToken.P99), rate(x.TokensPerSecond()))
	}
	if len(t.Rows) > 0 {
		t.say(plain, "Successful requests, measured from when each was due: the time in a queue counts. Times to the first token start when a request was sent.")
	}
	return t
}

// stepOf names a run of the generator after its step of the plan.
func stepOf(r *record.Record, x *loadgen.Result) string {
	for _, l := range summaryOf(r).Load {
		if l.Run == x.Number {
			return l.Step
		}
	}
	return fmt.Sprintf("%d (%s)", x.Number, x.Spec.Shape)
}

func rate(perSecond float64) string {
	return given(max(perSecond, 0), func(f float64) string { return fmt.Sprintf("%.1f", f) })
}

// took writes how long something took; 0 is a dash.
func took(d time.Duration) string { return given(d, text.Took) }
