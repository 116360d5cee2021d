package cli

import (
	"slices"
	"testing"

	"lightsout/internal/trial/plan"
	"lightsout/power"
)

// Each step of a dry run counts what the steps before it would do.
func TestADryRunCountsWhatEarlierStepsDo(t *testing.T) {
	t.Parallel()
	step := func(a plan.Action) plan.Step { return plan.Step{Action: a} }
	for name, tc := range map[string]struct {
		steps    []plan.Step
		cordoned []string
	}{
		"a cordon and a drain":           {[]plan.Step{step(plan.Action{Kind: plan.Cordon, Nodes: []string{"n1"}}), step(plan.Action{Kind: plan.Drain, Nodes: []string{"n2"}})}, []string{"n1", "n2"}},
		"an uncordon":                    {[]plan.Step{step(plan.Action{Kind: plan.Drain, Nodes: []string{"n1", "n2"}}), step(plan.Action{Kind: plan.Uncordon, Nodes: []string{"n1"}})}, []string{"n2"}},
		"a node that returns":            {[]plan.Step{step(plan.Action{Kind: plan.Drain, Nodes: []string{"n1"}}), step(plan.Action{Kind: plan.On, Nodes: []string{"n1"}})}, nil},
		"a node that is uncordoned late": {[]plan.Step{step(plan.Action{Kind: plan.Drain, Nodes: []string{"n1"}}), step(plan.Action{Kind: plan.On, Nodes: []string{"n1"}}), step(plan.Action{Kind: plan.Rollout}), step(plan.Action{Kind: plan.Uncordon, Nodes: []string{"n1"}})}, []string{"n1"}},
	} {
		var a power.Assumption
		for i, st := range tc.steps {
			if st.Action.Kind == plan.Rollout {
				break
			}
			assume(&a, st.Action, tc.steps[i+1:])
		}
		drained := slices.DeleteFunc(slices.Clone(tc.cordoned), func(n string) bool { return name == "a cordon and a drain" && n == "n1" })
		if !slices.Equal(a.Cordoned, tc.cordoned) || !slices.Equal(a.Drained, drained) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}
