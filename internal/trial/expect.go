package trial

import (
	"fmt"
	"strings"

	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

const notObserved = "not observed"

// meet compares an expectation with what was seen.
func meet(x plan.Expectation, sum *record.Summary, r *run) view.Expectation {
	out := view.Expectation{Name: x.Name(), Want: x.Want(), Got: notObserved}
	number := func(v float64) {
		out.Got, out.OK = x.Got(v), x.Holds(v)
	}
	switch x.Kind() {
	case plan.OfLoad:
		for i, l := range sum.Load {
			if l.Step != x.Step {
				continue
			}
			if x.Phase() == view.PhaseErrors {
				out.Got, out.OK = meetWindow(x, r, r.tracker.Window(r.loads[i].number))
			} else if n := loadMeasure(x.Measure, l); n != nil {
				number(float64(*n))
			}
		}
	case plan.OfPhase:
		out.Got, out.OK = meetPhase(x, sum.Phases)
	case plan.OfLedger:
		v := 0.0
		out.Got = "not balanced"
		if sum.Ledger.Balanced && len(sum.Load) > 0 {
			v, out.Got = 1, "balanced"
		}
		out.OK = x.Holds(v)
	case plan.OfTrial:
		switch {
		case x.Measure == "lowest_available" && r.lowest != nil:
			number(float64(*r.lowest))
		case x.Measure == "skew" && len(sum.Skew) > 0:
			number(float64(skew(sum.Skew)))
		case x.Measure == "skew_before_rollout" && r.skewRollout != nil:
			number(float64(*r.skewRollout))
		}
	}
	return out
}

// loadMeasure is a count of a load; nil when it is not known.
func loadMeasure(name string, l record.Load) *int {
	return map[string]*int{
		"sent": &l.Sent, "ok": &l.OK, "failed": &l.Failed, "peak_served": &l.PeakServed, "peak_queued": &l.PeakQueued,
		"failed_after_detection": l.FailedAfterDetection,
	}[name]
}

// meetWindow wants the error window of a load in bounds, or its end inside the
// forecast of the phase. What fails after the power-on, as in a rollout, is not
// of it.
func meetWindow(x plan.Expectation, r *run, w loadgen.Failures) (got string, ok bool) {
	if r.zero.IsZero() {
		return notObserved, false
	}
	length := w.Last.Sub(w.First).Seconds()
	if got = fmt.Sprintf("%s, %s", x.Got(length), text.Count(w.N, "request", "requests")); w.N == 0 {
		got = "0 s, none failed"
	}
	if !x.Predicted {
		return got, x.Holds(length)
	}
	forecast := predicted(r.tracker.Table(), view.PhaseErrors)
	switch {
	case forecast == nil:
		return got + ", with no forecast", false
	case w.N == 0:
		return got, true
	}
	end := r.offset(w.Last)
	return fmt.Sprintf("%s, the last at %.1f s (forecast %.1f–%.1f s)", got, end, forecast[0], forecast[1]), end >= forecast[0] && end <= forecast[1]
}

// predicted is the forecast of the only row of a phase; nil when there is none.
func predicted(phases []view.Phase, name string) *[2]float64 {
	for _, p := range phases {
		if p.Name == name {
			return p.Predicted
		}
	}
	return nil
}

// meetPhase wants every row of the phase, or the one of the subject, in bounds.
func meetPhase(x plan.Expectation, phases []view.Phase) (got string, ok bool) {
	var parts []string
	ok = true
	for _, p := range phases {
		if p.Name != x.Phase() || x.Subject != "" && p.Subject != x.Subject {
			continue
		}
		text := p.Subject + " " + notObserved
		switch {
		case p.Observed == nil:
			ok = false
		case x.Predicted && p.Predicted == nil:
			ok = false
			text = fmt.Sprintf("%s at %.1f s, with no forecast", p.Subject, *p.Observed)
		case x.Predicted:
			ok = ok && p.Inside != nil && *p.Inside
			text = fmt.Sprintf("%s at %.1f s (forecast %.1f–%.1f s)", p.Subject, *p.Observed, p.Predicted[0], p.Predicted[1])
		default:
			ok = ok && x.Holds(*p.Observed)
			text = fmt.Sprintf("%s at %.1f s", p.Subject, *p.Observed)
		}
		if p.Note != "" {
			text += ", " + p.Note
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return notObserved, false
	}
	return strings.Join(parts, "; "), ok
}
