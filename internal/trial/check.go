package trial

import (
	"cmp"
	"fmt"
	"slices"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/power"
)

// CheckPlan checks that the cluster has the objects that the plan names. focus is the
// deployment of a plan that names none. The error is one sentence, with the plan's line
// if it has one.
func CheckPlan(p *plan.Plan, s *cluster.Snapshot, focus cluster.Key) error {
	if s == nil {
		return fmt.Errorf("lightsout has not seen the nodes yet")
	}
	var names []string
	for _, n := range s.Nodes() {
		if n.Gone.IsZero() {
			names = append(names, n.Name)
		}
	}
	if err := p.CheckNodes(names); err != nil {
		return err
	}
	if !s.Access[cluster.KindDeployment].Synced {
		return nil
	}
	names = nil
	for _, d := range s.Deployments() {
		if d.Gone.IsZero() {
			names = append(names, d.Key.String())
		}
	}
	if err := p.CheckDeployments(names); err != nil {
		return err
	}
	about := deploymentOf(p.Deployment, focus)
	switch {
	case about == (cluster.Key{}):
		return fmt.Errorf("the plan has no deployment: set deployment in it, or load.deployment in lightsout.yaml")
	case !slices.Contains(names, about.String()):
		return fmt.Errorf("load.deployment in lightsout.yaml: %s", plan.Missing("deployment", about.String(), names))
	}
	return nil
}

// checkMachines refuses a plan that switches a node without a machine, as far as
// lightsout has found the machines.
func checkMachines(p *plan.Plan, s session.Controls) error {
	for _, st := range p.Steps {
		var nodes []string
		action := power.ActionOn
		switch a := st.Action; a.Kind {
		case plan.Off:
			action, nodes = a.How, a.Nodes
		case plan.On:
			nodes = a.Nodes
		}
		for _, n := range nodes {
			if err := s.CanSwitch(action, n); err != nil {
				return fmt.Errorf("line %d: %s can't be switched: %w", st.Line, n, err)
			}
		}
	}
	return nil
}

// waited returns the phase and subject that a wait step waits for. If the step names no
// node, the subjects are the nodes in off.
func waited(w *plan.Action, off []string, about cluster.Key) (subjects [][2]string) {
	nodes, phase, dep := w.Nodes, w.For, cmp.Or(w.Deployment, about.String())
	if len(nodes) == 0 {
		nodes = off
	}
	switch phase {
	case view.PhaseReplaced:
		return [][2]string{{phase, dep}}
	case plan.WaitRestored:
		phase, subjects = view.PhaseReady, [][2]string{{view.PhaseRestored, dep}}
	}
	for _, n := range nodes {
		subjects = append(subjects, [2]string{phase, n})
	}
	return subjects
}
