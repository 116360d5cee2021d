package session

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/power"
)

// canDrain reports whether draining can be offered before a shutdown.
func (e *Engine) canDrain(a power.Action) bool {
	return a == power.ActionShutdown && e.opt.Drain != nil && e.opt.Journal != nil && !e.opt.ReadOnly
}

// drainFirst drains the nodes of a plan and then shuts down those that are
// drained, or that the operator would not wait for. The others are uncordoned,
// and so are those that are not shut down after all. end, which may be nil, is
// called on the loop with what came of it.
func (e *Engine) drainFirst(p switchPlan, end func(error)) {
	if end == nil {
		end = func(error) {}
	}
	if e.opt.DryRun {
		for _, n := range p.ask.Nodes {
			e.say(view.Event{Lane: view.LanePower, Subject: n, Text: "dry run: not cordoned, not drained"})
		}
		e.switchMachines(p, end)
		return
	}
	during := e.trialUnderWay()
	if during != nil && during.plan == nil {
		e.freeStep(&plan.Drain{Nodes: slices.Clone(p.ask.Nodes), Within: plan.DrainWithin})
	}
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
		e.release(stay...)
		if len(down) == 0 {
			end(errors.Join(errs...))
			e.leaveIfSettled()
			return
		}
		e.shutDrained(p.ask, down, during, func(err error) { end(errors.Join(append(errs, err)...)) })
	}
	e.startDrain(d, p.ask.Nodes, 0)
}

// trialUnderWay is the trial whose steps are being taken, or nil.
func (e *Engine) trialUnderWay() *run {
	if e.running() && e.run.stage == stageSteps {
		return e.run
	}
	return nil
}

// shutDrained shuts nodes down that were drained, after the guards have been
// asked again: much may have happened meanwhile.
func (e *Engine) shutDrained(a view.AskPower, nodes []string, during *run, end func(error)) {
	a.Nodes = nodes
	s := e.snapshot.Load()
	for _, n := range nodes {
		v := e.machines[n]
		v.Busy, v.Phase, v.Text = a.Action, power.PhaseAsking, "drained; looking at the machine"
		e.machines[n] = v
	}
	stay := func(why string) {
		for _, n := range nodes {
			v := e.machines[n]
			v.Busy, v.Text = "", ""
			e.machines[n] = v
		}
		e.warn(view.LanePower, "power", why)
		e.release(nodes...)
		end(errors.New(why))
	}
	e.goDo(func() {
		ctx, cancel := e.withTimeout(planTimeout)
		defer cancel()
		p := e.makePlan(ctx, a, s)
		e.mail.post(func() {
			switch {
			case during != nil && e.trialUnderWay() != during:
				stay("not shut down: the trial has ended meanwhile")
			case power.Refused(p.findings):
				stay("not shut down after the drain: " + lastBad(e.switchQuestion(p)))
			default:
				e.switchMachines(p, func(err error) {
					for _, n := range nodes {
						if _, off := e.leftOff[n]; !off {
							e.release(n) // it has not been switched off
						}
					}
					end(err)
				})
			}
		})
	})
}
