package trial

import (
	"slices"

	"lightsout/cluster"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// loadRun is one load step of a trial: a start of the generator, which knows all else of it.
type loadRun struct {
	step   string
	number int  // as the generator counts its runs
	peak   peak // of the gauge during the load
}

// gauge keeps the largest values that the gauge of a frame shows while these loads run. While the
// operator has selected another deployment, the gauge measures the servers of that one.
func (r *run) gauge(f *view.Frame, running []*loadRun) {
	g := f.Load.Gauge
	if r.deployment != (cluster.Key{}) && f.Focus != r.deployment {
		r.elsewhere = f.Now
	}
	if g.Basis == loadgen.BasisIdle || g.At.IsZero() {
		return
	}
	for _, l := range running {
		if g.At.After(r.elsewhere) {
			l.peak.take(g)
		} else {
			l.peak.shared = shareLeast
		}
	}
}

// unique is the name of a step or a load of the operator that no other one has.
func (r *run) unique(text string) string {
	return plan.Unique(text, func(name string) bool {
		return slices.ContainsFunc(r.steps, func(st *stepRun) bool { return st.Name == name }) ||
			slices.ContainsFunc(r.loads, func(l *loadRun) bool { return l.step == name })
	})
}
