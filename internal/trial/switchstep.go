package trial

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// power switches machines once the guards, and the operator if required, have agreed. The
// time in which a question is open does not count for within.
func (r steps) power(action power.Action, nodes []string, within time.Duration) poll {
	a := view.AskPower{Action: action, Nodes: nodes}
	if action != power.ActionOn {
		if err := checkUp(nodes, r.s, r.now()); err != nil {
			r.unsteady = append(r.unsteady, err.Error())
			return session.FailNow(err)
		}
	}
	var over bool
	var failure error
	end := func(err error) { over, failure = true, err }
	unasked := r.opt.Auto || action == power.ActionOn
	err := r.s.Switch(a, unasked, func(err error) {
		var notDone *power.NotDoneError
		if errors.As(err, &notDone) && notDone.Why == power.NotWanted {
			r.refusedBy(end)
			return
		}
		if errors.As(err, &notDone) && notDone.Why == power.NotTyped {
			err = fmt.Errorf("%w; run the trial on a terminal without --yes", err)
		}
		end(err)
	})
	if err != nil {
		return session.FailNow(err)
	}
	looked := r.now()
	deadline := looked.Add(within)
	return func(now time.Time) (bool, string, error) {
		if !unasked && r.s.Asking() {
			deadline = deadline.Add(now.Sub(looked))
		}
		looked = now
		if !over && within > 0 && now.After(deadline) {
			return true, "", fmt.Errorf("not done within %s", text.Span(within))
		}
		return over, r.switchingText(a), failure
	}
}

var errNo = errors.New("the operator answered no")

// refusedBy is the end of a step that the operator has said no to: in a trial
// that they drive, it waits again; otherwise that aborts the trial.
func (r steps) refusedBy(end func(error)) {
	switch {
	case r.ending.stage != stageSteps:
	case r.opt.Driven:
		st := r.steps[r.next]
		st.state, st.started = view.StepToCome, time.Time{}
		r.poll, r.doing = nil, "next: "+st.Text()
	default:
		end(errNo)
	}
}

// switchingText describes the progress of each machine.
func (r steps) switchingText(a view.AskPower) string {
	var parts []string
	for _, n := range a.Nodes {
		if v := r.s.Machine(n); v.Busy != "" && v.Stage != power.StageDone && v.Text != "" {
			parts = append(parts, v.Text)
		}
	}
	return r.waitingText(parts, view.SwitchVerb(a.Action)+" "+strings.Join(a.Nodes, ", "))
}

// waitingText describes the progress of the parts of a step, or else the step.
func (r steps) waitingText(parts []string, what string) string {
	if r.s.Asking() {
		what = "waiting for the answer"
	}
	return cmp.Or(strings.Join(parts, " · "), what)
}

// drain drains nodes, after the operator's agreement if required.
func (r steps) drain(nodes []string, within time.Duration) poll {
	if err := r.s.NoDrain(); err != nil {
		return session.FailNow(err)
	}
	if r.t.opt.DryRun {
		for _, n := range nodes {
			r.s.Say(view.NewEvent(view.CodeDryRun, n, view.Facts{Reported: "not cordoned, not drained"}))
		}
		return func(time.Time) (bool, string, error) { return true, "dry run", nil }
	}
	var over bool
	var failure error
	end := func(err error) { over, failure = true, err }
	switch q := r.drainQuestion(nodes); {
	case !r.opt.Auto:
		r.s.Ask(q, func(a view.Answer) {
			switch {
			case a.Choice == view.ChoiceNo:
				r.refusedBy(end)
			case r.ending.stage == stageSteps:
				r.s.Drain(nodes, within, end)
			}
		})
	case q.Type != "":
		end(fmt.Errorf("this needs a typed confirmation (%s); run the trial on a terminal without --yes", q.Type))
	default:
		r.s.Drain(nodes, within, end)
	}
	return func(time.Time) (bool, string, error) { return over, r.drainingText(nodes), failure }
}

// drainQuestion asks before the pods of nodes are evicted by a step.
func (r steps) drainQuestion(nodes []string) view.Question {
	q := view.Question{
		Kind: view.QuestionSwitch, Title: "Drain " + strings.Join(nodes, ", ") + "?", Lines: r.s.DrainLines(nodes),
		Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Leave them"}, {ID: view.ChoiceYes, Label: "Cordon and drain"}},
	}
	if r.t.opt.Production {
		q.Type = r.t.opt.Cluster
	}
	return q
}

// drainingText describes the progress of each node.
func (r steps) drainingText(nodes []string) string {
	var parts []string
	for _, n := range nodes {
		if text := r.s.Machine(n).Text; text != "" && r.s.Draining(n) {
			parts = append(parts, n+": "+text)
		}
	}
	return r.waitingText(parts, "drain "+strings.Join(nodes, ", "))
}
