package trial

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/record"
	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// show adds the trial to a frame.
func (r *run) show(f *view.Frame) {
	r.gauge(f, r.t.running(r.loads))
	r.clock.Look(r.now())
	f.Trial = r.view()
	if r.ending.stage == stageOver {
		return
	}
	kept := *f
	r.sampler.Offer(&kept)
	err := errors.Join(r.requests.Err(), r.sampler.Err())
	if e, changed := r.health.Observe("the trial's record", err, r.requests.Lost()+r.sampler.Lost()); changed {
		r.t.opt.Timeline.Add(e)
	}
	if err != nil {
		f.Recording, f.RecordErr = false, fmt.Sprintf("the trial's record can't be written: %v", err)
	}
}

// handle takes what happens in the session.
func (r *run) handle(e session.Event) {
	switch e := e.(type) {
	case loadgen.Record: // and all others in the record
		r.follow(r.t.ended.Take())
	case cluster.Transition: // two of them may be one snapshot
		r.tracker.Changed(e)
	case *cluster.Snapshot:
		r.tracker.Down(r.s.Down())
		r.observe(e)
	case session.Reading:
		r.reading(e.Node, e.Reading)
	case session.Switching:
		r.switching(e.Action, e.Bindings)
	case session.Draining:
		r.tracker.Disrupted(r.now())
	case power.Progress:
		if e.Action == power.ActionOn {
			r.tracker.Switched(e.Node, e.Action, e.At)
		}
	}
}

// observe stores the parts of a snapshot that the trial needs.
func (r *run) observe(s *cluster.Snapshot) {
	r.tracker.Observe(s, r.now())
	r.sum.Server = s.ServerVersion
	if i := slices.IndexFunc(r.nodes, r.isOnAgain); i >= 0 && r.plan != nil && r.ending.stage == stageSteps {
		r.abort("because " + r.nodes[i].name + " has booted and the trial has not powered it on: somebody else did, or it rebooted by itself")
	}
	if !r.zero.IsZero() && !r.tracker.Returning() {
		r.sum.Pending = nil
		if b := s.Blind(); len(b) == 0 || !b[len(b)-1].To.IsZero() {
			r.sum.Pending = new(forecast.Unscheduled(s))
		}
	}
}

// follow follows the ends of requests, all of which are in the record.
func (r *run) follow(ended []loadgen.Record) {
	for _, rec := range ended {
		r.tracker.Request(rec)
	}
}

// inFlight returns how many requests of each load are in flight.
func (r *run) inFlight() map[int]int {
	runs := text.Each(slices.Concat(r.t.loads, r.loads), func(l *loadRun) int { return l.number })
	return record.InFlight(r.t.opt.Load, slices.Values(runs))
}

// addStep adds an action of the operator as a step of a trial by keyboard.
func (r *run) addStep(a plan.Action) {
	r.addNamed(a, r.unique(a.Text()))
}

// addNamed is addStep with a name that no other step has.
func (r *run) addNamed(a plan.Action, name string) {
	st := plan.Step{Action: a, Name: name}
	now := r.now()
	r.steps = append(r.steps, &stepRun{Step: st, state: view.StepDone, started: now, ended: now})
	r.next = len(r.steps)
}

// switching keeps that machines are switched now.
func (r *run) switching(a power.Action, bindings []power.Binding) {
	now := r.now()
	on := a == power.ActionOn
	nodes := text.Each(bindings, func(b power.Binding) string { return b.Node.Name })
	r.tracker.Down(r.s.Down())
	if !on && r.zero.IsZero() {
		r.zero = r.t.opt.Timeline.Zero()
		r.tracker.Zero(r.zero, r.s.Snapshot())
		r.sum.Forecast = r.s.Outlook(nodes)
	}
	switch {
	case r.plan != nil || r.ending.stage != stageSteps:
	case on:
		r.addStep(plan.Action{Kind: plan.On, Nodes: nodes})
	default:
		r.addStep(plan.Action{Kind: plan.Off, Nodes: nodes, How: a})
	}
	for _, b := range bindings {
		n := r.node(b.Node.Name)
		n.machine = view.MachineText(b)
		if on {
			n.wantedOn = now
		} else {
			n.wantedOn, n.on = time.Time{}, power.Reading{}
			for _, p := range r.s.Snapshot().PodsOf(r.deployment) {
				if p.Node == n.name && p.Gone.IsZero() {
					n.pods++
				}
			}
			r.tracker.Switched(n.name, a, now)
		}
	}
	if !on {
		r.foretell(now)
	}
}

// isOff reports whether the trial has switched a node's machine off, and has not asked for it again.
func (r *run) isOff(n *nodeRun) bool { return r.tracker.WasOff(n.name) && n.wantedOn.IsZero() }

// isOnAgain reports whether a node of isOff has booted all the same.
func (r *run) isOnAgain(n *nodeRun) bool { return r.isOff(n) && seen(r, view.PhaseBooted, n.name) }

// foretell stores the forecast of how many pods get no node when the nodes are switched
// off, if lightsout has read the pods. A later outage has none: the number counts at the first
// power-on.
func (r *run) foretell(now time.Time) {
	if r.tracker.Returning() {
		return
	}
	off := slices.DeleteFunc(slices.Clone(r.nodes), func(n *nodeRun) bool { return !r.isOff(n) })
	f := forecast.Outage(r.s.Snapshot(), text.Each(off, func(n *nodeRun) string { return n.name }), r.s.Down(), now)
	if f.Hits().Unread != "" {
		return
	}
	n := f.Unscheduled()
	r.sum.PendingForecast = &[2]int{n.Low, n.High}
}

// reading stores a reading of a machine.
func (r *run) reading(node string, rd power.Reading) {
	r.tracker.Power(node, rd)
	for _, n := range r.nodes {
		if n.name == node && rd.State == power.On && !n.wantedOn.IsZero() {
			n.on = rd
		}
	}
}
