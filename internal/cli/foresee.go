package cli

import (
	"context"
	"fmt"
	"slices"

	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/power"
)

// foresee prints what each step of a plan would do, and switches nothing.
func (s *app) foresee(ctx context.Context, p *plan.Plan) error {
	refused := 0
	for i, st := range p.Steps {
		printLines(stdout, fmt.Sprintf("step %d: %s", i+1, st.Text()))
		if st.Action.Kind != plan.Off {
			continue
		}
		q, err := s.session.Preview(ctx, view.AskPower{Action: st.Action.How, Nodes: st.Action.Nodes}, assumed(p, i))
		if err != nil {
			return err
		}
		for _, line := range questionLines(q)[1:] {
			printLines(stdout, "  "+line)
		}
		if q.Refused {
			refused++
		}
	}
	fmt.Fprintln(stdout, "dry run: nothing was switched, nothing was sent")
	if refused > 0 {
		return fmt.Errorf("%d of the steps would be refused", refused)
	}
	return nil
}

// checkGuards refuses a plan that the guards would refuse whenever it began.
func (s *app) checkGuards(ctx context.Context, name string, p *plan.Plan, auto bool) error {
	for i, st := range p.Steps {
		if st.Action.Kind != plan.Off {
			continue
		}
		if err := s.session.Refused(ctx, view.AskPower{Action: st.Action.How, Nodes: st.Action.Nodes}, assumed(p, i), auto); err != nil {
			return fmt.Errorf("%s: line %d: %w", name, st.Line, err)
		}
	}
	return nil
}

// assumed is what the steps before step i would do.
func assumed(p *plan.Plan, i int) (a power.Assumption) {
	for j, st := range p.Steps[:i] {
		assume(&a, st.Action, p.Steps[j+1:])
	}
	return a
}

// assume adds what a step would do. lightsout uncordons a node that it
// powers on, unless a later step does that.
func assume(a *power.Assumption, step plan.Action, later []plan.Step) {
	without := func(all, nodes []string) []string {
		return slices.DeleteFunc(all, func(name string) bool { return slices.Contains(nodes, name) })
	}
	switch step.Kind {
	case plan.Off:
		a.Off = append(a.Off, step.Nodes...)
	case plan.Drain:
		a.Drained = append(a.Drained, step.Nodes...)
		fallthrough
	case plan.Cordon:
		a.Cordoned = append(a.Cordoned, step.Nodes...)
	case plan.Uncordon:
		a.Cordoned = without(a.Cordoned, step.Nodes)
	case plan.On:
		a.Off = without(a.Off, step.Nodes)
		back := slices.Clone(step.Nodes)
		for _, st := range later {
			if st.Action.Kind == plan.Uncordon {
				back = without(back, st.Action.Nodes)
			}
		}
		a.Cordoned = without(a.Cordoned, back)
	}
	a.Drained = slices.DeleteFunc(a.Drained, func(name string) bool { return !slices.Contains(a.Cordoned, name) })
}
