package session

import (
	"errors"
	"fmt"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// loadRun is one load step of a trial: a start of the generator.
type loadRun struct {
	step   string
	number int // as the generator counts its runs
	spec   loadgen.Spec
	// started and ended bound it; ended is zero until it is at rest.
	started, ended time.Time
	// Peaks of the gauge while it ran, and how they were learnt.
	served, queued int
	basis          loadgen.Basis
	// Those that failed, and when each of them was sent.
	failed loadgen.Failures
	sent   []time.Time
}

// startRun starts requests that are accounted for as a load step of the trial.
func (e *Engine) startRun(step string, spec loadgen.Spec) (*loadRun, error) {
	if e.opt.Load == nil {
		return nil, errors.New(e.noLoad())
	}
	started := e.now()
	number, err := e.opt.Load.Begin(spec)
	if err != nil {
		return nil, err
	}
	if spec.Shape != loadgen.Burst {
		e.steady = number
	}
	e.say(view.Event{At: started, Lane: view.LaneLoad, Subject: "load", Text: specText(spec) + " started"})
	l := &loadRun{step: step, number: number, spec: spec, started: started}
	if e.running() {
		e.run.loads = append(e.run.loads, l)
	}
	return l, nil
}

// atRest reports whether a load starts no more requests and has none in flight.
func (e *Engine) atRest(l *loadRun) bool {
	if !l.ended.IsZero() {
		return true
	}
	if r := e.opt.Load.Run(); r.Active && e.steady == l.number {
		return false
	}
	if e.opt.Load.RunTotals(l.number).InFlight() > 0 {
		return false
	}
	l.ended = e.now()
	return true
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

// freeLoad names a load that was started by keyboard.
func (r *run) freeLoad(spec loadgen.Spec) string {
	name := specText(spec)
	for n := 2; ; n++ {
		taken := false
		for _, l := range r.loads {
			taken = taken || l.step == name
		}
		for _, st := range r.steps {
			taken = taken || st.Name == name
		}
		if !taken {
			return name
		}
		name = fmt.Sprintf("%s (%d)", specText(spec), n)
	}
}
