package trial

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/trial/phase"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// ofOutage are the measures of a load that need requests after zero.
var ofOutage = map[string]bool{"error_window": true, "later_failures": true, "hung": true, "failed_after_detection": true}

// loadValues returns the values of a measure of a load: one for each error window, otherwise one.
func loadValues(x plan.Expectation, sum *record.Summary, l record.Load) []value {
	if why := unasked(x, sum, l); why != "" {
		return []value{unknown(notObserved + ": " + why)}
	}
	switch x.Measure {
	case "error_window":
		return windows(x, sum, l)
	case "peak_served", "peak_queued":
		if l.Basis == string(loadgen.BasisEstimated) {
			got := text.Range(loadMeasure(x.Measure, l))
			return []value{unknown(got + ", estimated: no server reported it, or others used the servers")}
		}
	}
	n := loadMeasure(x.Measure, l)
	v := value{float64(n[0]), float64(n[1]), everything, text.Range(n)}.within(x)
	hidden := func(p view.Phase) bool { return p.Name == view.PhaseDetected && p.HiddenFrom != nil }
	if x.Measure == "failed_after_detection" && slices.ContainsFunc(sum.Phases, hidden) { // requests between it and its observation do not count
		v.hi, v.got = math.Inf(1), v.got+", and a blind span hid when the nodes were detected"
	}
	if ofOutage[x.Measure] || x.Measure == "failed" {
		v = v.unsent(l, float64(l.NotSent()))
	}
	return []value{v.cutShort(sum, l)}
}

// cutShort adds what the load would still have shown if the trial had not ended early.
func (v value) cutShort(sum *record.Summary, l record.Load) value {
	if cut(sum, *cmp.Or(l.Ended, &never)) {
		v.hi, v.got = math.Inf(1), v.got+cutShort
	}
	return v
}

// unsent adds what may have happened to the clients whose requests lightsout did not send. A load with an
// error window shows what happened: requests that hang keep others from being sent.
func (v value) unsent(l record.Load, more float64) value {
	if l.ManyUnsent() && len(l.ErrorWindows) == 0 {
		v.hi += more
		v.got += fmt.Sprintf(", and lightsout did not send %d of the %s", l.NotSent(), text.Count(l.Scheduled, "request that was due", "requests that were due"))
	}
	return v
}

// unasked is why the requests of a load don't show what a measure of the outage is about; empty
// if they do. That a burst has ended does not matter: what happened to its requests is what counts.
func unasked(x plan.Expectation, sum *record.Summary, l record.Load) string {
	switch {
	case !ofOutage[x.Measure], x.Measure == "hung" && l.Hung != nil:
	case l.Unasked:
		return "no request of this load succeeded or failed during the outage"
	case x.Measure == "failed_after_detection":
		if l.FailedAfterDetection == nil {
			return "a node was not detected, or no request of this load that was sent after the detection succeeded or failed"
		}
	case l.NoneFailed() && !covers(sum, l):
		return "this load did not go on through the outage"
	}
	return ""
}

// covers reports whether a load sent requests during an outage, and if it is steady, until the return,
// or the detection if nothing returned, of each that had begun.
func covers(sum *record.Summary, l record.Load) (some bool) {
	started, ended := *cmp.Or(l.Started, new(math.Inf(-1))), *cmp.Or(l.Ended, &never)
	for _, o := range sum.Outages {
		switch over := cmp.Or(o.Returned, o.Detected); {
		case started >= offset(sum, o.Returned) || ended <= offset(sum, o.Off): // not in this one
		case l.Steady && ended < offset(sum, over):
			return false
		default:
			some = true
		}
	}
	return some || len(sum.Outages) == 0
}

// loadMeasure returns a count of a load, at least and at most.
func loadMeasure(name string, l record.Load) [2]int {
	counts := map[string]int{
		"sent": l.Sent, "ok": l.OK, "failed": l.Failed,
		"peak_served": l.PeakServed, "peak_queued": l.PeakQueued, "peak_streaming": l.PeakStreaming,
		"later_failures": cmp.Or(l.LaterFailures, &record.Span{}).Failed, "hung": cmp.Or(l.Hung, &loadgen.Counts{}).Scheduled,
	}
	if name == "failed_after_detection" {
		return *l.FailedAfterDetection
	}
	return [2]int{counts[name], counts[name]}
}

// windows returns the length of each error window of a load or, if a forecast is wanted, when it
// ended. None is a window of 0 s. The last text also lists the failures outside all windows.
func windows(x plan.Expectation, sum *record.Summary, l record.Load) (out []value) {
	if sum.Zero.IsZero() {
		return nil
	}
	var errors view.Phase // of all loads; only its forecast is wanted
	if i := slices.IndexFunc(sum.Phases, func(p view.Phase) bool { return p.Name == view.PhaseErrors }); i >= 0 {
		errors = sum.Phases[i]
		errors.Inside = nil
	}
	for _, w := range l.ErrorWindows {
		length := tenth(w.Length())
		v := exactly(length, fmt.Sprintf("%s, %s", x.Got(length), text.Count(w.Failed, "request", "requests"))).within(x)
		if x.Predicted {
			v.lo, v.hi = tenth(w.To), tenth(w.To)
			v.got += fmt.Sprintf(", the last ended at %.1f s", v.hi)
		}
		out = append(out, v.forecast(x, errors))
	}
	if len(out) == 0 {
		got := "0 s, none failed"
		if x.Predicted && errors.Predicted == nil {
			x.Predicted, got = false, got+", and no failure was forecast"
		}
		out = []value{exactly(0, got).within(x).forecast(x, errors).unsent(l, math.Inf(1))}
	}
	last := &out[len(out)-1]
	if l.AtZero != nil && l.AtZero.Failed+l.AtZero.Cancelled > 0 {
		last.got += "; " + phase.AtZeroText(*l.AtZero)
	}
	if s := l.LaterFailures; s != nil {
		last.got += fmt.Sprintf("; %d failed later, from %.1f s to %.1f s", s.Failed, s.From, s.To)
	}
	if l.Unrecovered {
		last.hi, last.got = math.Inf(1), last.got+"; no 10 s of success followed"
	}
	*last = last.cutShort(sum, l)
	return out
}
