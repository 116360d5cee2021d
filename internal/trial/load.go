package trial

import (
	"slices"
	"time"

	"lightsout/internal/trial/plan"
	"lightsout/loadgen"
)

// loadRun is one load step of a trial: a start of the generator.
type loadRun struct {
	step   string
	number int // as the generator counts its runs
	// started and ended bound it; ended is zero until it is at rest.
	started, ended time.Time
	// Peaks of the gauge while it ran, and how they were learnt.
	served, queued int
	basis          loadgen.Basis
	// Those that failed, and when each of them was sent.
	failed loadgen.Failures
	sent   []time.Time
}

// atRest reports whether a load starts no more requests and has none in flight.
func (r *run) atRest(l *loadRun) bool {
	if l.ended.IsZero() && r.s.AtRest(l.number) {
		l.ended = r.now()
	}
	return !l.ended.IsZero()
}

// note keeps what a failed request tells.
func (l *loadRun) note(r loadgen.Record) {
	if l.failed.Note(&r) {
		l.sent = append(l.sent, r.CountedAt())
	}
}

// gauge keeps the largest values that the gauge shows while loads run.
func (r *run) gauge(g loadgen.Gauge) {
	if g.Basis == loadgen.BasisIdle || g.At.IsZero() {
		return
	}
	for _, l := range r.loads {
		if !l.ended.IsZero() || g.At.Before(l.started) {
			continue
		}
		switch {
		case g.Served > l.served, g.Queued > l.queued, l.basis == "":
			l.basis = g.Basis
		case g.Served == l.served && g.Queued == l.queued && g.Basis == loadgen.BasisMeasured:
			l.basis = g.Basis // the servers say the same as the estimate before
		}
		l.served, l.queued = max(l.served, g.Served), max(l.queued, g.Queued)
	}
}

// loadName names a load that was started by keyboard.
func (r *run) loadName(spec loadgen.Spec) string {
	return plan.Unique(spec.Text(), func(name string) bool {
		return r.hasStep(name) || slices.ContainsFunc(r.loads, func(l *loadRun) bool { return l.step == name })
	})
}

func (r *run) hasStep(name string) bool {
	return slices.ContainsFunc(r.steps, func(st *stepRun) bool { return st.Name == name })
}
