package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"lightsout/internal/view"
	"lightsout/power"
	"slices"
)

// canDrain reports whether draining can be offered before a shutdown.
func (w *switching) canDrain(a power.Action) bool {
	return a == power.ActionShutdown && w.opt.Drain != nil && w.opt.Journal != nil && !w.opt.ReadOnly
}

// drainFirst drains the nodes of a plan and then shuts down those that are
// drained, or that the operator would not wait for. The others are uncordoned,
// and so are those that are not shut down after all. end, which may be nil, is
// called on the loop with what came of it.
func (w *switching) drainFirst(p switchPlan, end func(error)) {
	if end == nil {
		end = func(error) {}
	}
	if w.opt.DryRun {
		for _, n := range p.ask.Nodes {
			w.say(view.Event{Lane: view.LanePower, Subject: n, Text: "dry run: not cordoned, not drained"})
		}
		w.carryOut(p, end)
		return
	}
	during := w.guest.Course()
	w.guest.Draining(slices.Clone(p.ask.Nodes))
	d := &drain{asks: true, busy: p.ask.Action}
	d.over = func() {
		var down, stay []string
		var errs []error
		for _, n := range d.nodes {
			if n.state == drained || n.state == drainCut {
				down = append(down, n.node)
				continue
			}
			stay = append(stay, n.node)
			errs = append(errs, cmp.Or(n.err, fmt.Errorf("%s was left on", n.node)))
		}
		w.cordons.release(stay...)
		if len(down) == 0 {
			end(errors.Join(errs...))
			w.undone = true
			return
		}
		w.shutDrained(p.ask, down, during, func(err error) { end(errors.Join(append(errs, err)...)) })
	}
	w.drains.start(d, p.ask.Nodes, 0)
}

// shutDrained shuts nodes down that were drained, after the guards have been
// asked again: much may have happened meanwhile.
func (w *switching) shutDrained(a view.AskPower, nodes []string, during any, end func(error)) {
	a.Nodes = nodes
	for _, n := range nodes {
		w.machines.update(n, func(v *view.MachineView) {
			v.Busy, v.Phase, v.Text = a.Action, power.PhaseAsking, "drained; looking at the machine"
		})
	}
	stay := func(why string) {
		for _, n := range nodes {
			w.machines.update(n, func(v *view.MachineView) { v.Busy, v.Text = "", "" })
		}
		w.warn(view.LanePower, "power", why)
		w.cordons.release(nodes...)
		end(errors.New(why))
	}
	s := w.snapshot
	async(w.loop, planTimeout, func(ctx context.Context) switchPlan { return w.lookUp(ctx, a, s) }, func(p switchPlan) {
		switch {
		case during != nil && w.guest.Course() != during:
			stay("not shut down: the trial has ended meanwhile")
		case power.Refused(p.findings):
			stay("not shut down after the drain: " + w.question(p).Gravest())
		default:
			w.carryOut(p, func(err error) {
				for _, n := range nodes {
					if _, off := w.machines.leftOff[n]; !off {
						w.cordons.release(n) // it has not been switched off
					}
				}
				end(err)
			})
		}
	})
}
