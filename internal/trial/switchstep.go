package trial

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"lightsout/cluster"
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

// agree has something done after the operator has agreed to it, or after the
// trial's options have.
func (r steps) agree(q view.Question, end func(error), carryOut func()) {
	switch {
	case r.opt.Auto && q.Type == "":
		carryOut()
		return
	case r.opt.Auto:
		end(fmt.Errorf("this needs a typed confirmation (%s); run the trial on a terminal without --yes", q.Type))
		return
	}
	r.s.Ask(q, func(ans view.Answer) {
		switch {
		case r.ending.stage != stageSteps:
		case ans.Choice != view.ChoiceNo:
			carryOut()
		default:
			r.refusedBy(end)
		}
	})
}

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
		v := r.s.Machine(n)
		if v.Busy != "" && v.Stage != power.StageDone && v.Text != "" {
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
	r.agree(r.drainQuestion(nodes), end, func() { r.s.Drain(nodes, within, end) })
	return func(time.Time) (bool, string, error) { return over, r.drainingText(nodes), failure }
}

// drainQuestion asks before the pods of nodes are evicted by a step.
func (r steps) drainQuestion(nodes []string) view.Question {
	q := view.Question{Kind: view.QuestionSwitch, Title: "Drain " + strings.Join(nodes, ", ") + "?", Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Leave them"}, {ID: view.ChoiceYes, Label: "Cordon and drain"}}}
	if r.t.opt.Production {
		q.Type = r.t.opt.Cluster
	}
	s := r.s.Snapshot()
	for _, n := range nodes {
		pods := 0
		for _, p := range s.PodsOn(n) {
			if p.Gone.IsZero() && !p.Static && p.OwnerKind != "DaemonSet" {
				pods++
			}
		}
		line := view.Line{Subject: true, Text: fmt.Sprintf("%s  %s", n, text.Count(pods, "pod is evicted", "pods are evicted"))}
		if why := cluster.WhyUnknown(s, cluster.KindPod); why != "" {
			line = view.Line{Subject: true, Level: view.Warning, Text: n + "  its pods are unknown: " + why}
		}
		q.Lines = append(q.Lines, line)
	}
	q.Lines = append(q.Lines, view.Line{Text: "Disruption budgets are respected."})
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
