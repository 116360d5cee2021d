package session

import (
	"context"
	"fmt"

	"lightsout/cluster"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// Capacity tells the generator what the deployment in focus can serve now and
// should serve. Safe for use by several goroutines.
func (e *Engine) Capacity() (now, target int) {
	s, k := e.snapshot.Load(), e.focus.Load()
	if s == nil || k == nil {
		return 0, 0
	}
	return s.Capacity(*k)
}

// Backends tells the generator the pods of the deployment in focus. A pod is on
// a dead node when that node is silent. Safe for use by several goroutines.
func (e *Engine) Backends() []loadgen.Backend {
	s, k := e.snapshot.Load(), e.focus.Load()
	if s == nil || k == nil {
		return nil
	}
	d := s.Deployment(*k)
	if d == nil {
		return nil
	}
	now := e.now()
	var out []loadgen.Backend
	for _, p := range s.PodsOf(*k) {
		if !p.Gone.IsZero() || p.Node == "" {
			continue
		}
		dead := false
		if n := s.Node(p.Node); n != nil {
			_, dead = s.Silent(n, now)
		}
		out = append(out, loadgen.Backend{
			Namespace: p.Namespace, Pod: p.Name, Node: p.Node, Ready: p.Ready && p.Deleting.IsZero(),
			Concurrency: p.Concurrency, OnDead: dead, QueueProxy: d.Knative != nil,
		})
	}
	return out
}

// NodeSilent reports whether the cluster says that the machine's node is
// silent; the ssh driver presumes a machine off only then. Safe for use by
// several goroutines.
func (e *Engine) NodeSilent(m power.Machine) bool {
	s := e.snapshot.Load()
	if s == nil {
		return false
	}
	n := s.Node(m.Name)
	if n == nil || s.Link.State != cluster.LinkLive {
		return false
	}
	_, silent := s.Silent(n, e.now())
	return silent
}

func (e *Engine) startLoad(spec loadgen.Spec) {
	name := specText(spec)
	if e.running() {
		name = e.run.freeLoad(spec)
	}
	if _, err := e.startRun(name, spec); err != nil {
		e.warn(view.LaneLoad, "load", err.Error())
		return
	}
	if e.running() && e.run.plan == nil {
		e.freeStep(&plan.Load{Spec: spec, Background: spec.Shape != loadgen.Burst})
	}
}

func (e *Engine) stopLoad(cancel bool) {
	if e.opt.Load == nil {
		return
	}
	e.opt.Load.Stop(cancel)
	if e.running() && e.run.plan == nil {
		e.freeStep(&plan.Stop{Step: plan.AllLoads})
	}
	text := "no more requests are started"
	if cancel {
		text = "stopped, requests in flight are cancelled"
	}
	e.say(view.Event{Lane: view.LaneLoad, Subject: "load", Text: text})
}

func (e *Engine) noLoad() string {
	if e.opt.NoLoad != "" {
		return e.opt.NoLoad
	}
	return "no load can be sent: set load.url in lightsout.yaml"
}

func specText(s loadgen.Spec) string {
	switch s.Shape {
	case loadgen.Burst:
		return fmt.Sprintf("burst of %d", s.N)
	case loadgen.Hold:
		return fmt.Sprintf("hold at %d", s.N)
	default:
		return fmt.Sprintf("rate of %g a second", s.PerSecond)
	}
}

// followLoad says on the timeline when a load has ended and how.
func (e *Engine) followLoad(ctx context.Context) {
	for {
		r := e.opt.Load.Run()
		if r.Active || r.Totals.InFlight() > 0 {
			if e.opt.Load.Wait(ctx) != nil {
				return
			}
			r = e.opt.Load.Run()
			t := r.Totals
			level := view.Good
			text := fmt.Sprintf("at rest: %d sent = %d ok", t.Scheduled-t.Unsent, t.OK)
			if n := t.FailedSum(); n > 0 {
				level, text = view.Bad, text+fmt.Sprintf(" + %d failed", n)
			}
			if t.Cancelled > 0 {
				text += fmt.Sprintf(" + %d cancelled", t.Cancelled)
			}
			e.say(view.Event{Lane: view.LaneLoad, Subject: "load", Text: text, Level: level})
		}
		changed := e.opt.Load.Changed()
		if r = e.opt.Load.Run(); r.Active || r.Totals.InFlight() > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}
