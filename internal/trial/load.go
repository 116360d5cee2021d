package trial

import (
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// loadRun is one load step of a trial: a start of the generator.
type loadRun struct {
	step   string
	number int // as the generator counts its runs
	burst  bool
	// started and ended bound it; ended is zero until it is at rest.
	started, ended time.Time
	peak           peak // of the gauge during the load
}

// loadEnded reports whether a load starts no more requests and has none in flight.
func (r *run) loadEnded(l *loadRun) bool {
	if l.ended.IsZero() && r.s.AtRest(l.number) {
		l.ended = r.now()
	}
	return !l.ended.IsZero()
}

// gauge keeps the largest values that the gauge of a frame shows while loads run. While the
// operator has selected another deployment, the gauge measures the servers of that one.
func (r *run) gauge(f *view.Frame) {
	g := f.Load.Gauge
	if r.deployment != (cluster.Key{}) && f.Focus != r.deployment {
		r.elsewhere = f.Now
	}
	if g.Basis == loadgen.BasisIdle || g.At.IsZero() {
		return
	}
	for _, l := range r.loads {
		switch {
		case !l.ended.IsZero() || g.At.Before(l.started):
		case g.At.After(r.elsewhere):
			l.peak.take(g)
		default:
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
