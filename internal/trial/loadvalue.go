package trial

import (
	"fmt"
	"math"
	"slices"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/trial/phase"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// ofOutage are the measures of a load that need requests after zero, duringOutage those that
// need them before everything has returned.
var (
	ofOutage     = map[string]bool{"error_window": true, "later_failures": true, "hung": true, "failed_after_detection": true}
	duringOutage = map[string]bool{"error_window": true, "hung": true}
)

// loadValues returns the values of a measure of a load: one for each error window, otherwise one.
func loadValues(x plan.Expectation, sum *record.Summary, l record.Load) []value {
	if ofOutage[x.Measure] {
		if why := unasked(x, sum, l); why != "" {
			return []value{unknown(notObserved + ": " + why)}
		}
	}
	switch x.Measure {
	case "error_window":
		return windows(x, sum, l)
	case "peak_served":
		return []value{peakValue(x, l.PeakServed, l.PeakServedUpTo, l)}
	case "peak_queued":
		return []value{peakValue(x, l.PeakQueued, l.PeakQueuedUpTo, l)}
	}
	n := loadMeasure(x.Measure, l)
	if n == nil {
		return nil
	}
	v := exactly(float64(*n), x.Got(float64(*n))).within(x)
	if x.Measure == "failed_after_detection" && detectionHidden(sum) { // requests between it and its observation do not count
		v.hi, v.got = math.Inf(1), v.got+", and a blind span hid when the nodes were detected"
	}
	if ofOutage[x.Measure] || x.Measure == "failed" {
		v = v.unsent(l, float64(l.Unsent))
	}
	return []value{v}
}

// unsent adds what may have happened to the clients whose requests lightsout did not send. A load with an
// error window shows what happened: requests that hang keep others from being sent.
func (v value) unsent(l record.Load, more float64) value {
	if l.ManyUnsent() && len(l.ErrorWindows) == 0 {
		v.hi += more
		v.got += fmt.Sprintf(", and lightsout did not send %d of the %s", l.Unsent, text.Count(l.Scheduled, "request that was due", "requests that were due"))
	}
	return v
}

// peakValue returns a peak. It may be larger where the servers held requests of others, and is
// unknown where no server reported it.
func peakValue(x plan.Expectation, least, upTo int, l record.Load) value {
	v := exactly(float64(least), x.Got(float64(least))).within(x)
	if upTo > 0 {
		v.hi = float64(upTo)
		v.got = fmt.Sprintf("%d to %d: the servers held requests of others as well, or the gauge measured another deployment", least, upTo)
	}
	if l.Basis == string(loadgen.BasisEstimated) {
		v.lo, v.hi, v.got = 0, math.Inf(1), v.got+", estimated: no server reported"
	}
	return v
}

// unasked is why the requests of a load don't show what a measure of the outage is about; empty
// if they do. That a burst has ended does not matter: what happened to its requests is what counts.
func unasked(x plan.Expectation, sum *record.Summary, l record.Load) string {
	switch {
	case x.Measure == "hung" && l.Hung != nil:
	case l.Unasked && l.Cancelled > 0:
		return "no request of this load succeeded or failed during the outage"
	case l.Unasked, duringOutage[x.Measure] && afterReturn(sum, l) && len(l.ErrorWindows) == 0 && l.Hung == nil:
		return "this load sent no request during the outage"
	case x.Measure == "failed_after_detection" && l.FailedAfterDetection == nil && detected(sum):
		return "no request of this load that was sent after the detection succeeded or failed"
	case x.Measure != "failed_after_detection" && endedEarly(sum, l):
		return fmt.Sprintf("the load ended at %.1f s, during the outage", *l.Ended)
	}
	return ""
}

// endedEarly reports whether a steady load ended, without a failure, before the return of an
// outage that had begun, or before its detection if nothing returned.
func endedEarly(sum *record.Summary, l record.Load) bool {
	if l.Ended == nil || !l.Steady || !l.NoneFailed() {
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
	if l.Started == nil || len(sum.Outages) == 0 {
		return false
	}
	offset := func(at time.Time) float64 { return at.Sub(sum.Zero).Seconds() }
	return !slices.ContainsFunc(sum.Outages, func(o loadgen.PowerOff) bool {
		later := l.Ended != nil && offset(o.Off) >= *l.Ended
		return !later && (o.Returned.IsZero() || offset(o.Returned) > *l.Started)
	})
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

// detectionHidden reports whether a blind span hid when a node was detected.
func detectionHidden(sum *record.Summary) bool {
	return slices.ContainsFunc(sum.Phases, func(p view.Phase) bool { return p.Name == view.PhaseDetected && p.HiddenFrom != nil })
}

// loadMeasure returns a count of a load; nil if it is unknown.
func loadMeasure(name string, l record.Load) *int {
	later, hung := 0, 0
	if l.LaterFailures != nil {
		later = l.LaterFailures.Failed
	}
	if l.Hung != nil {
		hung = l.Hung.Scheduled
	}
	return map[string]*int{
		"sent": &l.Sent, "ok": &l.OK, "failed": &l.Failed, "peak_streaming": &l.PeakStreaming,
		"failed_after_detection": l.FailedAfterDetection, "later_failures": &later, "hung": &hung,
	}[name]
}

// windows returns the length of each error window of a load or, if a forecast is wanted, when it
// ended. None is a window of 0 s. The last text also lists the failures outside all windows.
func windows(x plan.Expectation, sum *record.Summary, l record.Load) (out []value) {
	if sum.Zero.IsZero() {
		return nil
	}
	for _, w := range l.ErrorWindows {
		length := tenth(w.Length())
		v := exactly(length, fmt.Sprintf("%s, %s", x.Got(length), text.Count(w.Failed, "request", "requests"))).within(x)
		if x.Predicted {
			v.lo, v.hi = tenth(w.To), tenth(w.To)
		}
		out = append(out, v.end(x, sum))
	}
	if len(out) == 0 {
		v := exactly(0, "0 s, none failed").within(x).end(x, sum)
		out = []value{v.unsent(l, math.Inf(1))}
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
	return out
}

// end sets the forecast of the end of an error window as its bounds, if an expectation wants that.
func (v value) end(x plan.Expectation, sum *record.Summary) value {
	i := slices.IndexFunc(sum.Phases, func(p view.Phase) bool { return p.Name == view.PhaseErrors })
	switch {
	case !x.Predicted:
	case i >= 0 && sum.Phases[i].Predicted != nil:
		f := sum.Phases[i].Predicted
		v.want = [2]float64{tenth(f[0]), tenth(f[1])}
		if v.hi > 0 {
			v.got += fmt.Sprintf(", the last ended at %.1f s (forecast %.1f–%.1f s)", v.hi, f[0], f[1])
		}
	default:
		v.want, v.got = nothing, v.got+noForecast
	}
	return v
}
