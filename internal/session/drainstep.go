package session

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
)

// noDrain says why nodes can't be cordoned here.
func (e *Engine) noDrain() error {
	switch {
	case e.opt.ReadOnly:
		return errors.New("read-only: nothing can be cordoned")
	case e.opt.Drain == nil || e.opt.Journal == nil:
		return errors.New("nodes can't be cordoned here")
	}
	return nil
}

// dryRun is a step that only says what it does not do.
func (e *Engine) dryRun(nodes []string, what string) poll {
	for _, n := range nodes {
		e.say(view.Event{Lane: view.LanePower, Subject: n, Text: "dry run: " + what})
	}
	return func(time.Time) (bool, string, error) { return true, "dry run", nil }
}

// beginCordon cordons nodes.
func (e *Engine) beginCordon(nodes []string) poll {
	if err := e.noDrain(); err != nil {
		return failNow(err)
	}
	if e.opt.DryRun {
		return e.dryRun(nodes, "not cordoned")
	}
	left := len(nodes)
	var errs []error
	for _, n := range nodes {
		if c := e.cordons.ours[n]; c != nil {
			c.due = false
		}
		e.goDo(func() {
			ctx, cancel := e.withTimeout(planTimeout)
			defer cancel()
			noted, err := e.cordon(ctx, n, "by a step of a trial")
			e.mail.post(func() {
				left--
				e.cordoned(n, noted, err)
				if err != nil {
					errs = append(errs, err)
				}
			})
		})
	}
	return func(time.Time) (bool, string, error) {
		return left == 0, "cordoning " + strings.Join(nodes, ", "), errors.Join(errs...)
	}
}

// beginUncordon uncordons the nodes that lightsout has cordoned itself.
func (e *Engine) beginUncordon(nodes []string) poll {
	if err := e.noDrain(); err != nil {
		return failNow(err)
	}
	if e.opt.DryRun {
		return e.dryRun(nodes, "not uncordoned")
	}
	for _, n := range nodes {
		if e.cordons.ours[n] == nil {
			e.say(view.Event{Lane: view.LanePower, Subject: n, Text: "not uncordoned: it is not lightsout that has cordoned it"})
		}
	}
	e.release(nodes...)
	deadline := e.now().Add(time.Minute)
	return func(now time.Time) (bool, string, error) {
		for _, n := range nodes {
			c := e.cordons.ours[n]
			switch {
			case c == nil:
			case now.After(deadline):
				return true, "", fmt.Errorf("%s is not uncordoned: %s", n, c.failed)
			default:
				return false, "uncordoning " + n, nil
			}
		}
		return true, "", nil
	}
}

// beginDrain drains nodes after the operator has agreed where that is asked for.
func (e *Engine) beginDrain(st *plan.Drain) poll {
	if err := e.noDrain(); err != nil {
		return failNow(err)
	}
	if e.opt.DryRun {
		return e.dryRun(st.Nodes, "not cordoned, not drained")
	}
	r := e.run
	var over bool
	var failure error
	end := func(err error) { over, failure = true, err }
	d := &drain{}
	d.over = func() {
		var errs []error
		for _, n := range d.nodes {
			if n.err != nil {
				errs = append(errs, n.err)
			}
		}
		err := errors.Join(errs...)
		if err != nil {
			err = fmt.Errorf("not over within %s: %w", text.Span(st.Within), err)
		}
		end(err)
	}
	e.agree(e.drainQuestion(st.Nodes), r, end, func(string) { e.startDrain(d, st.Nodes, st.Within) })
	return func(time.Time) (bool, string, error) {
		return over, e.drainingText(st.Nodes), failure
	}
}

// drainQuestion asks before the pods of nodes are evicted by a step.
func (e *Engine) drainQuestion(nodes []string) view.Question {
	q := view.Question{Kind: view.QuestionSwitch, Title: "Drain " + strings.Join(nodes, ", ") + "?", Choices: []view.Choice{{ID: choiceNo, Label: "Leave them"}, {ID: choiceYes, Label: "Cordon and drain"}}}
	if e.opt.Production {
		q.Type = e.opt.Cluster
	}
	s := e.snapshot.Load()
	for _, n := range nodes {
		pods := 0
		for _, p := range s.PodsOn(n) {
			if p.Gone.IsZero() && !p.Static && p.OwnerKind != "DaemonSet" {
				pods++
			}
		}
		q.Lines = append(q.Lines, view.Line{Text: fmt.Sprintf("%s  %s", n, text.Count(pods, "pod is evicted", "pods are evicted"))})
	}
	q.Lines = append(q.Lines, view.Line{Text: "Disruption budgets are respected."})
	return q
}

// drainingText says how far each node is.
func (e *Engine) drainingText(nodes []string) string {
	var parts []string
	for _, n := range nodes {
		if _, d := e.drainOf(n); d != nil && e.machines[n].Text != "" {
			parts = append(parts, n+": "+e.machines[n].Text)
		}
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, " · ")
	case len(e.questions) > 0:
		return "waiting for the answer"
	}
	return "drain " + strings.Join(nodes, ", ")
}

// agree has something done after the operator has agreed to it, or after the
// trial's options have. carryOut is given the answer's choice.
func (e *Engine) agree(q view.Question, r *run, end func(error), carryOut func(choice string)) {
	switch {
	case r.opt.Auto && q.Type == "":
		carryOut(choiceYes)
		return
	case r.opt.Auto:
		end(fmt.Errorf("it needs an answer that must be typed (%s); run the trial on a terminal without --yes", q.Type))
		return
	}
	e.ask(q, func(ans view.Answer) {
		switch {
		case r.stage != stageSteps:
		case ans.Choice != choiceNo:
			carryOut(ans.Choice)
		case r.opt.Driven:
			// Not taken: the step waits again.
			st := r.steps[r.next]
			st.state, st.started = view.StepToCome, time.Time{}
			r.poll, r.waiting, r.doing = nil, true, "next: "+st.Text()
		default:
			end(errNo)
			r.aborted = true
		}
	})
}
