package trial

import (
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// What the servers do not report, or what may be requests of others or of another deployment, proves
// no peak; arriving bytes do.
func TestAPeakIsOfTheRequestsOfTheLoad(t *testing.T) {
	t.Parallel()
	web, other := cluster.Key{Namespace: "default", Name: "web"}, cluster.Key{Namespace: "shop", Name: "db"}
	gauge := func(basis loadgen.Basis, served, heard, streaming, others int) loadgen.Gauge {
		return loadgen.Gauge{Basis: basis, Served: served, Heard: heard, Streaming: streaming, Others: others, Outstanding: 16}
	}
	own, partial := gauge(loadgen.BasisMeasured, 8, 8, 8, 0), gauge(loadgen.BasisPartial, 16, 8, 8, 0)
	estimate, shared := gauge(loadgen.BasisEstimated, 16, 0, 0, 0), gauge(loadgen.BasisEstimated, 12, 2, 2, 8)
	for name, c := range map[string]struct {
		gauges []loadgen.Gauge // one a second
		focus  cluster.Key     // of the last one
		served int
		basis  loadgen.Basis
	}{
		"measured":                       {[]loadgen.Gauge{own, own}, web, 8, loadgen.BasisMeasured},
		"derived, then measured":         {[]loadgen.Gauge{partial, own}, web, 8, loadgen.BasisMeasured},
		"estimated":                      {[]loadgen.Gauge{estimate, estimate}, web, 16, loadgen.BasisEstimated},
		"estimated, then measured":       {[]loadgen.Gauge{estimate, own}, web, 8, loadgen.BasisMeasured},
		"averages that lag for a second": {[]loadgen.Gauge{own, shared, own}, web, 8, loadgen.BasisMeasured},
		"shared with others":             {[]loadgen.Gauge{own, shared, shared, shared}, web, 8, loadgen.BasisEstimated},
		"bytes prove more":               {[]loadgen.Gauge{own, gauge(loadgen.BasisMeasured, 8, 8, 9, 0)}, web, 9, loadgen.BasisPartial},
		"another deployment":             {[]loadgen.Gauge{own, gauge(loadgen.BasisMeasured, 10, 10, 0, 0)}, other, 8, loadgen.BasisEstimated},
	} {
		l := &loadRun{}
		r := &run{deployment: web}
		for i, g := range c.gauges {
			f := &view.Frame{Now: at(float64(i + 1)), Focus: web}
			if i == len(c.gauges)-1 {
				f.Focus = c.focus
			}
			g.At = f.Now.Add(-100 * time.Millisecond)
			f.Load = loadgen.Run{Gauge: g}
			r.gauge(f, []*loadRun{l})
			r.gauge(f, []*loadRun{l}) // a frame shows it again
		}
		if served, basis := l.peak.result(); served != c.served || basis != c.basis {
			t.Errorf("%s: %d (%s)", name, served, basis)
		}
	}
}
