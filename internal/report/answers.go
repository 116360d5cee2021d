package report

import (
	"fmt"
	"time"

	"lightsout/internal/record"
)

// answersOf tells how fast the answers came, for each start of the generator.
func answersOf(r *record.Record) section {
	t := section{ID: "answers", Title: "How fast it answered"}
	t.columns("load")
	t.figures("ok", "ok a second", "p50", "p95", "p99", "slowest", "first token p50", "first token p95", "first token p99", "tokens a second")
	for i := range r.Runs {
		x := &r.Runs[i]
		if x.Totals.OK == 0 || x.Took.Max == 0 {
			continue
		}
		first := []any{none, none, none, none}
		span := x.End.Sub(x.Begin).Seconds()
		if x.FirstToken.Max > 0 {
			first = []any{took(x.FirstToken.P50), took(x.FirstToken.P95), took(x.FirstToken.P99), rate(x.Tokens, span)}
		}
		t.row(append([]any{stepOf(r, x), x.Totals.OK, rate(x.Totals.OK, span),
			took(x.Took.P50), took(x.Took.P95), took(x.Took.P99), took(x.Took.Max)}, first...)...)
	}
	if len(t.Rows) == 0 {
		return section{}
	}
	t.say(plain, "Of the requests that are ok, from the moment at which they were due: waiting in a queue counts.")
	t.trim("first token p50", "first token p95", "first token p99", "tokens a second")
	return t
}

// stepOf names a start of the generator after the step of the plan that it
// belongs to: the last one that had begun.
func stepOf(r *record.Record, x *record.LoadRun) string {
	name := fmt.Sprintf("%d (%s)", x.Number, x.Shape)
	if r.Summary == nil {
		return name
	}
	begun := x.Begin.Sub(base(r)).Seconds() + 0.5
	for _, l := range r.Summary.Load {
		if l.Started != nil && *l.Started <= begun {
			name = l.Step
		}
	}
	return name
}

func rate(n int, seconds float64) string {
	if seconds <= 0 {
		return none
	}
	return fmt.Sprintf("%.1f", float64(n)/seconds)
}

// took writes how long something took, with two or three digits.
func took(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/1e6)
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
