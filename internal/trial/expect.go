package trial

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/trial/phase"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

const notObserved = "not observed"

// JudgeExpectation compares an expectation with the observations in a summary. It uses nothing
// else, so every reader of the summary can repeat it.
func JudgeExpectation(x plan.Expectation, sum *record.Summary) view.Expectation {
	out := view.Expectation{Name: x.Name(), Want: x.Want()}
	number := func(v *int) {
		if v != nil {
			out.Got, out.OK = x.Got(float64(*v)), x.Holds(float64(*v))
		}
	}
	switch x.Kind() {
	case plan.OfLoad:
		for _, l := range sum.Load {
			switch {
			case l.Step != x.Step:
			case ofOutage[x.Measure] && unasked(x, sum, l) != "":
				out.Got, out.OK, out.Unobserved = notObserved+": "+unasked(x, sum, l), false, true
			case x.Measure == "failed_after_detection" && l.FailedAfterDetection == nil && detected(sum):
				out.Got, out.Unobserved = notObserved+": no request of this load that was sent after the detection succeeded or failed", true
			case x.Phase() == view.PhaseErrors:
				out.Got, out.OK, out.Unobserved = judgeWindows(x, sum, l)
			default:
				number(loadMeasure(x.Measure, l))
				judgePeak(x, l, &out)
				judgeAfterDetection(x, sum, &out)
			}
			judgeUnsent(x, l, &out)
			judgeUnanswered(x, sum, l, &out)
		}
	case plan.OfPhase:
		out.Got, out.OK, out.Unobserved = meetPhase(x, sum.Phases)
	case plan.OfLedger:
		switch {
		case len(sum.Load) == 0: // nothing to account for
		case sum.Ledger.Balanced:
			out.Got, out.OK = "balanced", x.Holds(1)
		default:
			out.Got, out.OK = "not balanced", x.Holds(0)
		}
	case plan.OfTrial:
		switch {
		case x.Measure == "lowest_available":
			number(sum.LowestAvailable)
			judgeLowest(x, sum, &out)
		case x.Measure == "pending" && x.Predicted && sum.Pending != nil && sum.PendingForecast != nil:
			f := sum.PendingForecast
			out.Got, out.OK = fmt.Sprintf("%d (forecast %s)", *sum.Pending, spread(*f)), *sum.Pending >= f[0] && *sum.Pending <= f[1]
		case x.Measure == "pending" && !x.Predicted:
			number(sum.Pending)
		case x.Measure == "skew" && len(sum.Skew) > 0:
			n := skew(sum.Skew)
			number(&n)
		case x.Measure == "skew_before_rollout":
			number(sum.SkewBeforeRollout)
		}
	}
	if out.Got == "" {
		out.Got, out.Unobserved = notObserved, true
	}
	return out
}

// ofOutage are the measures of a load that need requests after zero, duringOutage those that
// need them before everything has returned.
var (
	ofOutage     = map[string]bool{"error_window": true, "later_failures": true, "hung": true, "failed_after_detection": true}
	duringOutage = map[string]bool{"error_window": true, "hung": true}
)

// unasked is why the requests of a load don't show what a measure of the outage is about; empty
// if they do. That a burst has ended does not matter: what happened to its requests is what counts.
func unasked(x plan.Expectation, sum *record.Summary, l record.Load) string {
	switch {
	case x.Measure == "hung" && l.SomeHung():
	case l.NoneAsked() && l.Cancelled > 0:
		return "no request of this load succeeded or failed during the outage"
	case l.NoneAsked(), duringOutage[x.Measure] && afterReturn(sum, l) && len(l.ErrorWindows) == 0 && l.Hung == nil:
		return "this load sent no request during the outage"
	case x.Measure != "failed_after_detection" && endedEarly(sum, l):
		return fmt.Sprintf("the load ended at %.1f s, during the outage", *l.Ended)
	}
	return ""
}

// endedEarly reports whether a steady load ended, without a failure, before the return of an
// outage that had begun, or before its detection if nothing returned.
func endedEarly(sum *record.Summary, l record.Load) bool {
	if l.Ended == nil || l.Steady == nil || !*l.Steady || !l.NoneFailed() {
		return false
	}
	ended := sum.Zero.Add(time.Duration(*l.Ended * float64(time.Second)))
	return slices.ContainsFunc(sum.Outages, func(o loadgen.PowerOff) bool {
		over := o.Returned
		if over.IsZero() {
			over = o.Detected
		}
		return !o.Off.After(ended) && (over.IsZero() || ended.Before(over))
	})
}

// afterReturn reports whether a load began only when all nodes and pods of each outage before its
// end had returned.
func afterReturn(sum *record.Summary, l record.Load) bool {
	if l.Started == nil || !slices.ContainsFunc(sum.Outages, func(o loadgen.PowerOff) bool { return !o.Returned.IsZero() }) {
		return afterLastReturn(sum, l)
	}
	offset := func(at time.Time) float64 { return at.Sub(sum.Zero).Seconds() }
	return !slices.ContainsFunc(sum.Outages, func(o loadgen.PowerOff) bool {
		later := l.Ended != nil && offset(o.Off) >= *l.Ended
		return !later && (o.Returned.IsZero() || offset(o.Returned) > *l.Started)
	})
}

// afterLastReturn reports the same of the last outage: records of early versions have no more.
func afterLastReturn(sum *record.Summary, l record.Load) bool {
	back := false
	for _, p := range sum.Phases {
		if p.Name != view.PhaseReady && p.Name != view.PhaseRestored {
			continue
		}
		if p.Observed == nil || l.Started == nil || *p.Observed > *l.Started {
			return false
		}
		back = true
	}
	return back
}

// detected reports whether every node that went off was detected.
func detected(sum *record.Summary) (all bool) {
	for _, p := range sum.Phases {
		if p.Name == view.PhaseDetected && p.Observed == nil {
			return false
		}
		all = all || p.Name == view.PhaseDetected
	}
	return all
}

// judgePeak does not accept a peak that no server reported, and judges one that may be larger
// only if that does not matter.
func judgePeak(x plan.Expectation, l record.Load, out *view.Expectation) {
	least, upTo := l.PeakServed, l.PeakServedUpTo
	switch x.Measure {
	case "peak_served":
	case "peak_queued":
		least, upTo = l.PeakQueued, l.PeakQueuedUpTo
	default:
		return
	}
	if l.Basis == string(loadgen.BasisEstimated) {
		out.Got, out.OK = out.Got+", estimated: no server reported", false
	}
	if upTo == 0 {
		return
	}
	out.Got = fmt.Sprintf("%d to %d: the servers held requests of others as well, or the gauge measured another deployment", least, upTo)
	short, over := x.Min != nil && float64(least) < *x.Min, x.Max != nil && float64(upTo) > *x.Max
	switch {
	case x.Min != nil && float64(upTo) < *x.Min, x.Max != nil && float64(least) > *x.Max:
		out.OK = false
	case short, over:
		out.OK, out.Unobserved = false, true
	}
}

// judgeAfterDetection does not accept that few requests failed after the detection if a blind
// span hid when that was: those between it and its observation are not counted.
func judgeAfterDetection(x plan.Expectation, sum *record.Summary, out *view.Expectation) {
	if x.Measure == "failed_after_detection" && out.OK && x.Max != nil && detectionHidden(sum) {
		out.Got, out.OK, out.Unobserved = out.Got+", and a blind span hid when the nodes were detected", false, true
	}
}

// judgeUnsent does not accept that nothing happened to the clients in an outage if lightsout did not
// send many of their requests. A load with an error window shows what happened: requests that hang
// keep others from being sent.
func judgeUnsent(x plan.Expectation, l record.Load, out *view.Expectation) {
	if out.OK && (ofOutage[x.Measure] || x.Measure == "failed") && (x.Max != nil || x.Predicted) && l.ManyUnsent() && len(l.ErrorWindows) == 0 {
		out.Got += fmt.Sprintf(", and lightsout did not send %d of the %s", l.Unsent, text.Count(l.Scheduled, "request that was due", "requests that were due"))
		out.OK, out.Unobserved = false, true
	}
}

// judgeUnanswered does not accept that no request failed or hung in an outage if the service may
// have stopped to answer without a failure. judgeWindows does that for error_window.
func judgeUnanswered(x plan.Expectation, sum *record.Summary, l record.Load, out *view.Expectation) {
	counts := ofOutage[x.Measure] && x.Phase() != view.PhaseErrors || x.Measure == "failed"
	if out.OK && counts && x.Max != nil && !sum.Zero.IsZero() && l.NotAnswered() {
		out.Got, out.OK, out.Unobserved = out.Got+"; "+notAnswered, false, true
	}
}

// detectionHidden reports whether a blind span hid when a node was detected. Summaries of early
// versions, which lack since when, are judged as then.
func detectionHidden(sum *record.Summary) bool {
	return slices.ContainsFunc(sum.Phases, func(p view.Phase) bool { return p.Name == view.PhaseDetected && p.HiddenFrom != nil })
}

// judgeLowest does not accept that there were enough pods if nobody saw them for a while.
// After a stall of some seconds the watches deliver the changes: it can only hide pods that
// were unavailable for less than that.
func judgeLowest(x plan.Expectation, sum *record.Summary, out *view.Expectation) {
	if span := unseen(sum); out.OK && x.Min != nil && span > 0 {
		out.Got, out.OK, out.Unobserved = fmt.Sprintf("%s, and nobody saw the pods for %.1f s", out.Got, span), false, true
	}
}

// unseen is how many seconds after zero nobody saw the pods.
func unseen(sum *record.Summary) (seconds float64) {
	for _, b := range sum.Blind {
		if !b.Stalled {
			seconds += max(0, b.To-max(0, b.From))
		}
	}
	return seconds
}

// spread formats a forecast of a number: "3" or "3–4".
func spread(f [2]int) string {
	if f[0] == f[1] {
		return strconv.Itoa(f[0])
	}
	return fmt.Sprintf("%d–%d", f[0], f[1])
}

// loadMeasure returns a count of a load; nil if it is unknown.
func loadMeasure(name string, l record.Load) *int {
	var later, hung int
	if l.LaterFailures != nil {
		later = l.LaterFailures.Failed
	}
	if l.Hung != nil {
		hung = l.Hung.Scheduled
	}
	hung += l.CountHungWhileOff()
	return map[string]*int{
		"sent": &l.Sent, "ok": &l.OK, "failed": &l.Failed, "peak_served": &l.PeakServed, "peak_queued": &l.PeakQueued,
		"peak_streaming":         &l.PeakStreaming,
		"failed_after_detection": l.FailedAfterDetection, "later_failures": &later, "hung": &hung,
	}[name]
}

// judgeWindows checks that each error window of a load is within bounds, or ends inside
// the phase's forecast. The text also lists the failures outside all windows.
// It is empty if there was no outage. unobserved: the bounds hold so far, but no request
// showed that the last window was over.
func judgeWindows(x plan.Expectation, sum *record.Summary, l record.Load) (got string, ok, unobserved bool) {
	if sum.Zero.IsZero() {
		return "", false, false
	}
	windows := l.ErrorWindows
	var parts []string
	if ok = true; len(windows) == 0 {
		windows, parts = []record.Span{{}}, []string{"0 s, none failed"}
	}
	forecast := predicted(sum.Phases, view.PhaseErrors)
	unaffected := slices.ContainsFunc(sum.Phases, func(p view.Phase) bool { return p.Name == view.PhaseErrors && p.Unaffected })
	for _, w := range windows {
		if len(l.ErrorWindows) > 0 {
			parts = append(parts, fmt.Sprintf("%s, %s", x.Got(w.Length()), text.Count(w.Failed, "request", "requests")))
		}
		switch n := len(parts) - 1; {
		case !x.Predicted:
			ok = ok && x.Holds(w.Length())
		case forecast == nil && unaffected && len(l.ErrorWindows) == 0:
			parts[n] += "; the forecast expected none"
		case forecast == nil && unaffected:
			parts[n], ok = parts[n]+", and the forecast expected none", false
		case forecast == nil:
			parts[n], ok = parts[n]+", with no forecast", false
		case w.Failed > 0:
			parts[n] += fmt.Sprintf(", the last ended at %.1f s (forecast %.1f–%.1f s)", w.To, forecast[0], forecast[1])
			ok = ok && w.To >= forecast[0] && w.To <= forecast[1]
		}
	}
	if l.AtZero != nil && l.AtZero.Failed+l.AtZero.Cancelled > 0 {
		parts = append(parts, phase.AtZeroText(*l.AtZero))
	}
	if s := l.LaterFailures; s != nil {
		parts = append(parts, fmt.Sprintf("%d failed later, from %.1f s to %.1f s", s.Failed, s.From, s.To))
	}
	if l.NotRecovered() {
		parts = append(parts, "no request succeeded after the last failed one")
	}
	if l.NotAnswered() {
		parts = append(parts, notAnswered)
	}
	unknown := l.NotRecovered() || l.NotAnswered()
	return strings.Join(parts, "; "), ok && !unknown, ok && unknown
}

// notAnswered is why nobody knows whether the service worked in the end, whether requests failed or not.
const notAnswered = "lightsout ended requests that still got bytes after a long time, and none sent since succeeded"

// predicted returns the forecast of the only row of a phase; nil if there is none.
func predicted(phases []view.Phase, name string) *[2]float64 {
	for _, p := range phases {
		if p.Name == name {
			return p.Predicted
		}
	}
	return nil
}

// meetPhase wants every row of the phase, or the one of the subject, in bounds. The text
// is empty if there is no row. unobserved: rows that nobody observed are all that is missing.
func meetPhase(x plan.Expectation, phases []view.Phase) (got string, ok, unobserved bool) {
	var parts []string
	ok = true
	for _, p := range phases {
		if !concerns(x, p) {
			continue
		}
		if x.Predicted && p.Predicted == nil && p.Unaffected {
			parts = append(parts, p.Subject+unaffected(p.Name))
			continue
		}
		text := p.Subject + " " + notObserved
		switch met, known := meetRow(x, p); {
		case p.Observed == nil:
			unobserved = true
		case x.Predicted && p.Predicted == nil:
			ok = false
			text = whenSeen(p) + ", with no forecast"
		default:
			ok, unobserved = ok && (met || !known), unobserved || !known
			text = whenSeen(p)
			if x.Predicted {
				text += fmt.Sprintf(" (forecast %.1f–%.1f s)", p.Predicted[0], p.Predicted[1])
			}
		}
		if p.Note != "" {
			text += ", " + p.Note
		}
		parts = append(parts, text)
	}
	ok = ok && len(parts) > 0
	return strings.Join(parts, "; "), ok && !unobserved, ok && unobserved
}

// unaffected explains that a phase did not come, as the forecast expected.
func unaffected(name string) string {
	if name == view.PhaseEvicted {
		return ": no pod on it was subject to eviction, and the forecast expected none"
	}
	return ": no pod of it was on the nodes, and the forecast expected no replacement"
}

// concerns reports whether an expectation is about this row of a phase.
func concerns(x plan.Expectation, p view.Phase) bool {
	return x.Kind() == plan.OfPhase && p.Name == x.Phase() && (x.Subject == "" || p.Subject == x.Subject)
}

// meetRow reports whether an observed row of a phase is in bounds. known is false if a blind
// span hid that.
func meetRow(x plan.Expectation, p view.Phase) (met, known bool) {
	switch {
	case p.Observed == nil:
		return false, false
	case x.Predicted && p.Hidden && (p.HiddenFrom == nil || p.Inside == nil):
		return false, false
	case x.Predicted:
		return p.Inside != nil && *p.Inside, true
	}
	first, last := *p.Observed, *p.Observed
	switch {
	case p.HiddenFrom != nil:
		first = *p.HiddenFrom
	case p.Hidden: // in a record of an early version
		first = math.Inf(-1)
	}
	met = x.Holds(first) && x.Holds(last)
	return met, met || x.Min != nil && last < *x.Min || x.Max != nil && first > *x.Max
}

// whenSeen describes when an observed phase was seen, or in which time a blind span hid it.
func whenSeen(p view.Phase) string {
	if p.HiddenFrom != nil {
		return fmt.Sprintf("%s between %.1f s and %.1f s", p.Subject, *p.HiddenFrom, *p.Observed)
	}
	return fmt.Sprintf("%s at %.1f s", p.Subject, *p.Observed)
}
