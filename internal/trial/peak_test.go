package trial

import (
	"testing"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/trial/plan"
	"lightsout/loadgen"
)

// The servers count requests of other clients as well: what may be theirs proves no peak.
func TestAPeakThatOtherClientsMayHaveServedIsNotObserved(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	own := func(n int) loadgen.Gauge {
		return loadgen.Gauge{Served: n, Heard: n, Streaming: n, Queued: 12 - n, Outstanding: 12, Basis: loadgen.BasisMeasured}
	}
	shared := func(flowing int) loadgen.Gauge {
		return loadgen.Gauge{Served: 8, Queued: 4, Heard: flowing, Streaming: flowing, Others: 8, ServedUpTo: 8, Outstanding: 12, Basis: loadgen.BasisEstimated}
	}
	silent := own(8) // it seems to be ours, and no byte of it comes
	silent.Streaming = 0
	many := func(n int, g loadgen.Gauge) (out []loadgen.Gauge) {
		for range n {
			out = append(out, g)
		}
		return out
	}
	then := func(parts ...[]loadgen.Gauge) (out []loadgen.Gauge) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	lag := shared(8)
	for name, c := range map[string]struct {
		gauges              []loadgen.Gauge // one a second
		least, upTo, queued int
	}{
		"alone":                               {many(20, own(8)), 8, 0, 0},
		"shared all the time":                 {many(20, shared(2)), 2, 8, 10},
		"the averages show others only later": {then(many(2, silent), many(20, shared(2))), 2, 8, 12},
		"bytes prove the peak":                {then(many(5, shared(2)), many(20, own(8))), 8, 0, 10},
		"averages that lag for a second":      {then(many(2, own(8)), many(1, lag), many(2, own(8))), 8, 0, 0},
		"one answer is missing now and then":  {then(many(3, shared(2)), many(1, silent), many(3, shared(2)), many(1, silent), many(3, shared(2))), 2, 8, 12},
	} {
		var p peak
		for i, g := range c.gauges {
			g.At = at.Add(time.Duration(i) * time.Second)
			p.take(g)
			p.take(g) // a frame shows it again
		}
		if served, _, upTo, queued := p.result(); served != c.least || moreThan(upTo, served) != c.upTo || queued != c.queued {
			t.Errorf("%s: %d, up to %d, and up to %d queued", name, served, upTo, queued)
		}
	}
}

func TestAnExpectationOfAnUncertainPeak(t *testing.T) {
	t.Parallel()
	f := func(v float64) *float64 { return &v }
	l := record.Load{Step: "more", PeakServed: 2, PeakServedUpTo: 8, PeakQueued: 4, PeakQueuedUpTo: 10, Basis: "partly"}
	for name, c := range map[string]struct {
		measure        string
		min, max       *float64
		ok, unobserved bool
	}{
		"perhaps too few served":  {"peak_served", f(8), nil, false, true},
		"certainly enough served": {"peak_served", f(2), nil, true, false},
		"certainly too few":       {"peak_served", f(9), nil, false, false},
		"perhaps too many queued": {"peak_queued", nil, f(4), false, true},
		"certainly too many":      {"peak_queued", nil, f(3), false, false},
		"certainly not too many":  {"peak_queued", nil, f(10), true, false},
		"exactly four queued":     {"peak_queued", f(4), f(4), false, true},
	} {
		x := plan.Expectation{Measure: c.measure, Step: "more", Min: c.min, Max: c.max}
		got := JudgeExpectation(x, &record.Summary{Load: []record.Load{l}})
		if got.OK != c.ok || got.Unobserved != c.unobserved {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
