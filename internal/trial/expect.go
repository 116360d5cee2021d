package trial

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"lightsout/internal/clock"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

const notObserved = "not observed"

// judgeExpectation compares an expectation with the observations in a summary. It uses nothing
// else, so every reader of the summary can repeat it. All values of the measure must lie within
// their bounds. One that certainly lies outside is a miss; otherwise the expectation is not observed.
func judgeExpectation(x plan.Expectation, sum *record.Summary) view.Expectation {
	out := view.Expectation{Name: x.Name(), Want: x.Want(), OK: true}
	values := measure(x, sum)
	if len(values) == 0 {
		values = []value{unknown(notObserved)}
	}
	var got []string
	missed := false
	for _, v := range values {
		out.OK, missed = out.OK && v.holds(), missed || v.misses()
		got = append(got, v.got)
	}
	out.Got, out.Unobserved = strings.Join(got, "; "), !out.OK && !missed
	return out
}

// measure returns the values of a measure; none if there is nothing to measure.
func measure(x plan.Expectation, sum *record.Summary) []value {
	switch {
	case x.Step != "":
		for _, l := range sum.Load {
			if l.Step == x.Step {
				return loadValues(x, sum, l)
			}
		}
		return nil
	case x.Phase() != "":
		return phaseValues(x, sum)
	}
	return trialValue(x, sum)
}

// trialValue returns a number of the whole trial.
func trialValue(x plan.Expectation, sum *record.Summary) []value {
	var n *int
	switch x.Measure {
	case "balanced":
		if len(sum.Load) > 0 { // otherwise there is nothing to account for
			n = new(map[bool]int{true: 1}[sum.Ledger.Balanced])
		}
	case "lowest_available":
		n = sum.LowestAvailable
	case "pending":
		if !cut(sum, never) || slices.ContainsFunc(sum.Outages, func(o loadgen.PowerOff) bool { return !cut(sum, offset(sum, o.On)) }) {
			n = sum.Pending
		}
	case "skew":
		if len(sum.Skew) > 0 && !cut(sum, never) {
			n = new(skew(sum.Skew))
		}
	case "skew_before_rollout":
		n = sum.SkewBeforeRollout
	}
	if n == nil {
		return nil
	}
	v := exactly(float64(*n), x.Got(float64(*n))).within(x)
	switch span := unseen(sum); {
	case x.Measure == "lowest_available" && cut(sum, never):
		v.lo, v.got = 0, v.got+cutShort
	case x.Measure == "lowest_available" && span > 0:
		v.lo, v.got = 0, fmt.Sprintf("%s, and nobody saw the pods for %.1f s", v.got, span)
	case x.Predicted && sum.PendingForecast == nil:
		v.want, v.got = nothing, v.got+noForecast
	case x.Predicted:
		f := sum.PendingForecast
		v.want, v.got = [2]float64{float64(f[0]), float64(f[1])}, fmt.Sprintf("%d (forecast %s)", *n, text.Range(*f))
	}
	return []value{v}
}

// unseen is how many seconds nobody saw the pods since the first drain or power-off.
func unseen(sum *record.Summary) (seconds float64) {
	for _, b := range sum.Blind {
		seconds += max(0, b.To-max(b.From, min(0, sum.Disrupted.Sub(sum.Zero).Seconds())))
	}
	return seconds
}

// cutShort ends the text of a value that was not observed until its end.
const cutShort = ", and the trial ended early"

// never is the offset of what has not come.
var never = math.Inf(1)

// offset is a time in seconds from zero; never for none.
func offset(sum *record.Summary, at time.Time) float64 {
	if at.IsZero() {
		return never
	}
	return at.Sub(sum.Zero).Seconds()
}

// cut reports whether a trial ended before its last step, and before the end of the span of a measure.
func cut(sum *record.Summary, end float64) bool {
	early, last := false, sum.Started
	for _, st := range sum.Steps {
		early, last = early || st.State == view.StepSkipped || st.State == view.StepCut, clock.Latest(last, st.Ended)
	}
	return early && end >= offset(sum, last)
}

// phaseValues returns when each row of the phase, or the one of the subject, came.
func phaseValues(x plan.Expectation, sum *record.Summary) (out []value) {
	for _, p := range sum.Phases {
		if p.Name == x.Phase() && (x.Subject == "" || p.Subject == x.Subject) {
			out = append(out, phaseValue(x, sum, p))
		}
	}
	return out
}

func phaseValue(x plan.Expectation, sum *record.Summary, p view.Phase) value {
	v := unknown(p.Subject + " " + notObserved).within(x)
	switch {
	case p.Observed != nil && p.HiddenFrom != nil:
		v.lo, v.hi = tenth(*p.HiddenFrom), tenth(*p.Observed)
		v.got = fmt.Sprintf("%s between %.1f s and %.1f s", p.Subject, v.lo, v.hi)
	case p.Observed != nil:
		v.lo, v.hi = tenth(*p.Observed), tenth(*p.Observed)
		v.got = fmt.Sprintf("%s at %.1f s", p.Subject, v.lo)
	case x.Predicted && p.Predicted == nil:
		x.Predicted = false // nothing to compare with
	default:
		v.lo = watchedUntil(sum)
	}
	v = v.forecast(x, p)
	if p.Note != "" {
		v.got += ", " + p.Note
	}
	return v
}

// watchedUntil is until when a phase that was not observed certainly had not come: the end of the
// trial, or the first blind span.
func watchedUntil(sum *record.Summary) float64 {
	if sum.Zero.IsZero() || sum.Ended.IsZero() {
		return math.Inf(-1)
	}
	until := sum.Ended.Sub(sum.Zero).Seconds()
	for _, b := range sum.Blind {
		if b.To > 0 {
			until = min(until, b.From)
		}
	}
	return until
}
