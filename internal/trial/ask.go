package trial

import (
	"fmt"
	"slices"
	"strings"

	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
)

// IDs of choices about trials.
const (
	choiceFree  = "free"
	choiceEnd   = "end"
	choiceEndOn = "end-on"
	choiceAbort = "abort"
	choicePlan  = "plan:"
)

// ask asks which trial to start, or what to do with the one under way.
func (t *Runner) ask() {
	if t.Running() {
		t.askEnd()
		return
	}
	q := view.Question{Kind: view.QuestionTrial, Title: "Start a trial?", Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Not now"}, {ID: choiceFree, Label: "By keyboard"}}}
	q.Lines = append(q.Lines, view.Line{Text: "By keyboard: everything you switch and send from now on belongs to the trial, until you end it."})
	s := t.s.Snapshot()
	for _, p := range t.opt.Plans {
		if s == nil || CheckPlan(p, s, t.s.Focus()) != nil {
			continue
		}
		q.Lines = append(q.Lines, view.Line{Text: fmt.Sprintf("%s: a plan of %s; enter starts each step.", p.Name, text.Count(len(p.Steps), "step", "steps"))})
		q.Choices = append(q.Choices, view.Choice{ID: choicePlan + p.Name, Label: p.Name})
	}
	q.Lines = append(q.Lines, view.Line{Text: "The record goes to " + t.opt.Dir + "."})
	t.s.Ask(q, func(a view.Answer) {
		if name, ok := strings.CutPrefix(a.Choice, choicePlan); ok {
			i := slices.IndexFunc(t.opt.Plans, func(p *plan.Plan) bool { return p.Name == name })
			t.Start(t.opt.Plans[i], RunOptions{Driven: true})
		} else if a.Choice == choiceFree {
			t.Start(nil, RunOptions{})
		}
	})
}

// askEnd asks what to do with the trial under way. The question follows the trial, and
// ends with it.
func (t *Runner) askEnd() {
	r := t.run
	t.s.AskWhile(func() (view.Question, bool) { return t.endQuestion(r), r.ending.stage != stageOver }, func(a view.Answer) {
		switch a.Choice {
		case choiceEnd, choiceEndOn:
			off, _ := toReturn(r)
			r.ending.keepOff = r.ending.keepOff || a.Choice == choiceEnd && len(off) > 0
			r.finish(inOrder)
		case choiceAbort:
			r.abort("by the operator")
		}
	})
}

func (t *Runner) endQuestion(r *run) view.Question {
	q := view.Question{Kind: view.QuestionTrial, Title: "End the trial " + r.name + "?", Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Go on"}}}
	switch off, _ := toReturn(r); {
	case r.ending.stage == stageCleanup:
		q.Lines = append(q.Lines, view.Line{Text: "It is ending; the pane Trial shows how far it is."})
	case len(off) > 0:
		q.Lines = append(q.Lines, view.Line{Level: view.Warning, Text: "Not powered on since: " + strings.Join(off, ", ")})
		q.Choices = append(q.Choices, view.Choice{ID: choiceEndOn, Label: "Power on, then give the verdict"}, view.Choice{ID: choiceEnd, Label: "Give the verdict, leave them off"})
	default:
		q.Choices = append(q.Choices, view.Choice{ID: choiceEnd, Label: "End now and give the verdict"})
	}
	if r.ending.stage != stageCleanup {
		q.Lines = append(q.Lines, view.Line{Text: "Aborting stops the load and powers on what the trial switched off."})
	}
	q.Choices = append(q.Choices, view.Choice{ID: choiceAbort, Label: "Abort"})
	return q
}
