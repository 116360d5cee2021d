package session

import (
	"context"
	"errors"
	"maps"
	"slices"

	"lightsout/internal/outage"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// progress keeps one step of the request, an operation on one machine.
func (x *request) progress(pr power.Progress) {
	w := x.w
	if pr.Stage == power.StageDone || pr.Stage == power.StageFailed {
		x.ended[pr.Node] = pr.Stage
	}
	w.machines.update(pr.Node, func(v *view.MachineView) {
		if pr.Stage == power.StagePreparing || pr.Stage == power.StageClearing {
			return // no machine's state changes: only the timeline shows it
		}
		v.Text = pr.Text
		if pr.Stage != power.StageDeferred {
			v.Busy, v.Stage = pr.Action, pr.Stage
		}
	})
	if !pr.Reading.RequestedAt.IsZero() {
		w.machines.read(pr.Node, pr.Reading) // the reading came before its report
	}
	if pr.Action == power.ActionOn {
		w.machines.onProgress(pr)
	}
	if pr.Stage == power.StageSending || pr.Stage == power.StageDone && pr.Action == power.ActionOn {
		w.guest.Handle(pr)
	}
	e := view.NewEvent(view.CodePowerOperation, pr.Node, view.Facts{Action: pr.Action, Stage: pr.Stage, Reported: pr.Text})
	e.At, e.Level = pr.At, stageLevels[pr.Stage]
	w.say(e)
	if pr.Stage == power.StageDone || pr.Stage == power.StageFailed || pr.Stage == power.StageUncertain {
		w.readJournal()
	}
	if pr.Stage == power.StageDone && pr.Action == power.ActionOn && w.departure.undoes() {
		w.cordons.release(pr.Node)
	}
}

// nodes are those of the requests that have not ended.
func (w *switching) nodes() []string {
	return slices.Concat(text.Each(w.requests, func(x *request) []string { return x.nodes })...)
}

// finished ends a request, on the loop.
func (x *request) finished(err error) {
	w := x.w
	x.cancel()
	w.requests = slices.DeleteFunc(w.requests, func(o *request) bool { return o == x })
	x.release()
	failed := power.FailedNodes(err)
	var notDone *power.NotDoneError
	switch {
	case err != nil && !x.unasked && x.stage != acting && x.overdue() && w.ctx.Err() == nil:
		w.warn(view.LanePower, x.nodes[0], "lightsout did not switch "+text.List(x.nodes)+": the trial ended before the action began")
	case err == nil, errors.Is(err, context.Canceled):
	case len(failed) > 0:
		for n, why := range failed {
			w.machines.update(n, func(v *view.MachineView) {
				if v.Stage == power.StageFailed {
					v.Text = why
				}
			})
		}
		if slices.ContainsFunc(slices.Collect(maps.Keys(failed)), func(n string) bool { return !x.drain.cancelled(n) }) {
			w.notice = view.Notice{Text: err.Error(), At: w.now(), Level: view.Warning}
		}
	case errors.As(err, &notDone) && !x.unasked && x.drain == nil && notDone.Why != power.NotTyped: // the operator has seen the reason
		if notDone.Why == power.NotWanted {
			w.notice = view.Notice{Text: "the answer was no: nothing was sent to " + text.List(x.nodes), At: w.now()}
		}
	default:
		w.warn(view.LanePower, "power", err.Error())
		for _, n := range x.notSwitched() {
			w.machines.update(n, func(v *view.MachineView) { v.Stage, v.Text = power.StageFailed, err.Error() })
		}
	}
	if x.action == power.ActionOn && x.stage == acting && err != nil {
		gone := x.notSwitched()
		if len(failed) > 0 {
			gone = slices.Collect(maps.Keys(failed))
		}
		w.machines.asked(outage.NotSent, gone...)
	}
	w.readJournal()
	if x.drain != nil {
		for _, n := range x.nodes {
			if _, off := w.machines.leftOff[n]; !off && !w.draining(n) {
				w.cordons.giveBack(n) // it has not been switched off
			}
		}
	}
	w.stayIfOff(err)
	x.onEnd(err)
}

// notSwitched names the nodes of the request whose machines it has not switched.
func (x *request) notSwitched() []string {
	return slices.DeleteFunc(slices.Clone(x.nodes), func(n string) bool { return x.ended[n] == power.StageDone })
}

// stayIfOff has lightsout stay, after a request that ended with err, if the operator leaves
// when everything is on and no request powers on a machine that is still off.
func (w *switching) stayIfOff(err error) {
	off := slices.DeleteFunc(w.machines.own(), w.poweringOn)
	if len(off) == 0 || w.ctx.Err() != nil || !w.departure.stay() {
		return
	}
	why := "lightsout does not leave: " + w.machines.stillOff(off)
	if err != nil && !errors.Is(err, context.Canceled) {
		why += "; " + err.Error()
	}
	w.warn(view.LanePower, off[0], why)
}

// settled reports whether the request needs no more answer.
func (x *request) settled() bool { return x.stage >= agreed || x.unasked }

// poweringOn reports whether a request that needs no more answer powers a node's machine on, or will: until it
// ends, with the reason if it could not.
func (w *switching) poweringOn(node string) bool {
	return slices.ContainsFunc(w.requests, func(x *request) bool {
		return x.action == power.ActionOn && x.settled() && slices.Contains(x.nodes, node) && x.ended[node] != power.StageDone
	})
}

// stageLevels are the levels of the steps of a power operation; else Info.
var stageLevels = map[power.Stage]view.Level{power.StageDone: view.Good, power.StageFailed: view.Bad, power.StageUncertain: view.Warning}
