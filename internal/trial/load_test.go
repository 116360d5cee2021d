package trial

import (
	"testing"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/trial/plan"
	"lightsout/loadgen"
)

// After power-on, earlier requests hold half of the slots, perhaps unknown to the
// gauge: derived numbers do not count as served.
func TestAPeakCountsOnlyServedRequestsThatServersReport(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	sixteen := 16.0
	want := plan.Expectation{Measure: "peak_served", Step: "again", Min: &sixteen, Max: &sixteen}
	gauge := func(basis loadgen.Basis, served, heard int) loadgen.Gauge {
		return loadgen.Gauge{At: at.Add(time.Second), Basis: basis, Served: served, Heard: heard, Outstanding: 16}
	}
	for _, tt := range []struct {
		what   string
		gauges []loadgen.Gauge
		peak   int
		ok     bool
	}{
		{"derived, then reported", []loadgen.Gauge{gauge(loadgen.BasisPartial, 16, 0), gauge(loadgen.BasisPartial, 16, 8), gauge(loadgen.BasisMeasured, 8, 8)}, 8, false},
		{"told", []loadgen.Gauge{gauge(loadgen.BasisPartial, 16, 5), gauge(loadgen.BasisMeasured, 16, 16)}, 16, true},
		{"estimated", []loadgen.Gauge{gauge(loadgen.BasisEstimated, 16, 0)}, 16, false},
	} {
		l := &loadRun{step: "again", started: at}
		r := &run{loads: []*loadRun{l}}
		for _, g := range tt.gauges {
			r.gauge(g)
		}
		sum := &record.Summary{Load: []record.Load{{Step: "again", PeakServed: l.served, Basis: string(l.basis)}}}
		if got := JudgeExpectation(want, sum); l.served != tt.peak || got.OK != tt.ok {
			t.Errorf("%s: peak %d (%s), %+v", tt.what, l.served, l.basis, got)
		}
	}
}
