package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/power"
)

// The ids of choices about trials.
const (
	choiceFree  = "free"
	choiceEnd   = "end"
	choiceEndOn = "end-on"
	choiceAbort = "abort"
	choicePlan  = "plan:"
)

// askTrial asks which trial to start, or what to do with the one under way.
func (e *Engine) askTrial() {
	if len(e.questions) > 0 || e.asking {
		return
	}
	if e.running() {
		e.askEndTrial()
		return
	}
	q := view.Question{Kind: view.QuestionTrial, Title: "Start a trial?", Choices: []view.Choice{{ID: choiceNo, Label: "Not now"}, {ID: choiceFree, Label: "By keyboard"}}}
	q.Lines = append(q.Lines, view.Line{Text: "By keyboard: what you switch and send from now on is the trial, until you end it."})
	s := e.snapshot.Load()
	for _, p := range e.opt.Plans {
		if s == nil || checkPlan(p, s, e.planDeployment(p)) != nil {
			continue
		}
		q.Lines = append(q.Lines, view.Line{Text: fmt.Sprintf("%s: %s, each when you say so.", p.Name, text.Count(len(p.Steps), "step", "steps"))})
		q.Choices = append(q.Choices, view.Choice{ID: choicePlan + p.Name, Label: p.Name})
	}
	q.Lines = append(q.Lines, view.Line{Text: "The record goes to " + e.opt.TrialsDir + "."})
	e.ask(q, func(a view.Answer) {
		var err error
		if name, ok := strings.CutPrefix(a.Choice, choicePlan); ok {
			i := slices.IndexFunc(e.opt.Plans, func(p *plan.Plan) bool { return p.Name == name })
			err = e.startTrial(e.opt.Plans[i], RunOptions{Driven: true})
		} else if a.Choice == choiceFree {
			err = e.startTrial(nil, RunOptions{})
		}
		if err != nil {
			e.warn(view.LaneOperator, "trial", err.Error())
		}
	})
}

func (e *Engine) planDeployment(p *plan.Plan) cluster.Key {
	if ns, name, ok := strings.Cut(p.Deployment, "/"); ok {
		return cluster.Key{Namespace: ns, Name: name}
	}
	if k := e.focus.Load(); k != nil {
		return *k
	}
	return cluster.Key{}
}

// askEndTrial asks what to do with the trial under way.
func (e *Engine) askEndTrial() {
	r := e.run
	q := view.Question{Kind: view.QuestionTrial, Title: "End the trial " + r.name + "?", Choices: []view.Choice{{ID: choiceNo, Label: "Go on"}}}
	var off []string
	for _, n := range r.nodes {
		if _, ok := e.leftOff[n.name]; ok {
			off = append(off, n.name)
		}
	}
	switch {
	case r.stage == stageCleanup:
		q.Lines = append(q.Lines, view.Line{Text: "It is ending: " + r.doing})
	case len(off) > 0:
		q.Lines = append(q.Lines, view.Line{Level: view.Warning, Text: "Still off: " + strings.Join(off, ", ")})
		q.Choices = append(q.Choices, view.Choice{ID: choiceEndOn, Label: "Power on, then judge"}, view.Choice{ID: choiceEnd, Label: "Judge, leave them off"})
	default:
		q.Choices = append(q.Choices, view.Choice{ID: choiceEnd, Label: "End and judge"})
	}
	if r.stage != stageCleanup {
		q.Lines = append(q.Lines, view.Line{Text: "Aborting stops the load and powers on what the trial switched off."})
	}
	q.Choices = append(q.Choices, view.Choice{ID: choiceAbort, Label: "Abort"})
	e.ask(q, func(a view.Answer) {
		switch a.Choice {
		case choiceEndOn:
			e.endTrial(true)
		case choiceEnd:
			e.endTrial(len(off) == 0)
		case choiceAbort:
			e.abortTrial("by the operator")
		}
	})
}

// freeStep keeps what the operator did as a step of a trial by keyboard.
func (e *Engine) freeStep(a plan.Action) {
	r := e.run
	st := plan.Step{Action: a, Name: uniqueName(r, a.Text())}
	now := e.now()
	r.steps = append(r.steps, &stepRun{Step: st, state: view.StepDone, started: now, ended: now})
	r.next = len(r.steps)
}

func uniqueName(r *run, name string) string {
	unique := name
	for n := 2; slices.ContainsFunc(r.steps, func(st *stepRun) bool { return st.Name == unique }); n++ {
		unique = fmt.Sprintf("%s (%d)", name, n)
	}
	return unique
}

// noteSwitch keeps for the trial that machines are switched now.
func (e *Engine) noteSwitch(p switchPlan) {
	r := e.run
	if !e.running() {
		return
	}
	now := e.now()
	on := p.ask.Action == power.ActionOn
	if !on && r.zero.IsZero() {
		r.zero = e.timeline.Zero()
		if s := e.snapshot.Load(); s != nil {
			r.tracker.Zero(r.zero, s)
			r.forecast = foretell(s, p.ask.Nodes)
		}
	}
	if r.plan == nil && r.stage == stageSteps {
		nodes := slices.Clone(p.ask.Nodes)
		if on {
			e.freeStep(&plan.On{Nodes: nodes})
		} else {
			e.freeStep(&plan.Off{Nodes: nodes, How: p.ask.Action})
		}
	}
	for _, b := range p.bindings {
		n := r.node(b.Node.Name)
		n.machine = MachineText(b)
		if on {
			n.wantedOn = true
		} else {
			n.wantedOff, n.wantedOn, n.booted = true, false, false
			n.off, n.on = power.Reading{}, power.Reading{}
			n.bootID = b.Node.BootID
			if s := e.snapshot.Load(); s != nil && s.Node(n.name) != nil {
				n.bootID = s.Node(n.name).BootID
			}
		}
		r.tracker.Switched(b.Node.Name, p.ask.Action, now)
	}
}

// notePower keeps for the trial what was seen of a machine.
func (e *Engine) notePower(node string, rd power.Reading) {
	r := e.run
	if !e.running() {
		return
	}
	r.tracker.Power(node, rd)
	for _, n := range r.nodes {
		switch {
		case n.name != node:
		case rd.State == power.Off && n.wantedOff && rd.Proof >= n.off.Proof:
			n.off = rd
		case rd.State == power.On && n.wantedOn:
			n.on = rd
		}
	}
}

// foretell is what is said of the future when the plug is pulled.
func foretell(s *cluster.Snapshot, nodes []string) []string {
	r := cluster.Blast(s, nodes)
	var out []string
	for _, l := range append(radiusLines(r), followLines(s, r)...) {
		out = append(out, l.Text)
	}
	for _, text := range cluster.WontHappen(s, r) {
		out = append(out, "not to be expected: "+text)
	}
	return out
}

// trialRefused says why a trial was not started; the engine ends where it was
// only there for it.
func (e *Engine) trialRefused(opt RunOptions, err error) {
	e.refused = err
	if opt.End { // who started it tells
		e.ending = true
		return
	}
	e.warn(view.LaneOperator, "trial", err.Error())
}

// TrialOutcome is what became of the trial: its summary once it has been judged
// and the folder of its record, or why it was not started. It may be called
// when Run has returned.
func (e *Engine) TrialOutcome() (sum *record.Summary, dir string, refused error) {
	if e.run != nil {
		sum, dir = e.run.summary, e.run.dir
	}
	return sum, dir, e.refused
}

// CheckPlan finds what the plan names in the cluster. The error is one sentence,
// with the line of the plan where it has one. Safe for use by several goroutines.
func (e *Engine) CheckPlan(p *plan.Plan) error {
	s := e.snapshot.Load()
	if s == nil {
		return fmt.Errorf("the nodes have not been seen yet")
	}
	return checkPlan(p, s, e.planDeployment(p))
}

// Foresee is the question that would be asked before the machines are switched.
// Safe for use by several goroutines.
func (e *Engine) Foresee(ctx context.Context, a view.AskPower) (view.Question, error) {
	if e.opt.Fleet == nil {
		return view.Question{}, errors.New(e.noPower())
	}
	return e.switchQuestion(e.makePlan(ctx, a, e.snapshot.Load())), nil
}
