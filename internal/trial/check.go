package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/text"
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
	var names []string // workers first: of equally near names the first is suggested
	for _, controlPlane := range []bool{false, true} {
		for _, n := range s.Nodes() {
			if n.Gone.IsZero() && n.ControlPlane == controlPlane {
				names = append(names, n.Name)
			}
		}
	}
	err := p.CheckNames("node", names)
	if err != nil || !s.Access[cluster.KindDeployment].Synced {
		return err
	}
	names = nil
	for _, d := range s.Deployments() {
		if d.Gone.IsZero() {
			names = append(names, d.Key.String())
		}
	}
	err = p.CheckNames("deployment", names)
	switch about := deploymentOf(p.Deployment, focus); {
	case err != nil:
		return err
	case about == (cluster.Key{}):
		return fmt.Errorf("the plan has no deployment: set deployment in it, or load.deployment in lightsout.yaml")
	case !slices.Contains(names, about.String()):
		return fmt.Errorf("load.deployment in lightsout.yaml: %s", plan.Missing("deployment", about.String(), names))
	}
	return nil
}

// checkStart checks by CheckPlan and by what the cluster has now, whatever comes with time, that the
// plan can be carried out.
func checkStart(p *plan.Plan, s *cluster.Snapshot, focus cluster.Key) error {
	if err := CheckPlan(p, s, focus); err != nil {
		return err
	}
	rolledOut := map[string]cluster.Key{} // before a node goes off
	var off []string
	var last cluster.Key
	about := deploymentOf(p.Deployment, focus)
	for _, st := range p.Steps {
		switch a := st.Action; a.Kind {
		case plan.Rollout:
			last = deploymentOf(a.Deployment, about)
			if why := s.Deployment(last).NoRestart(); why != "" {
				return fmt.Errorf("line %d: %s: leave this step out", st.Line, why)
			}
		case plan.Off:
			off = append(off, a.Nodes...)
			for _, n := range a.Nodes {
				rolledOut[n] = last
			}
		case plan.Wait:
			for _, w := range waited(&a, off, about) {
				if w[0] != view.PhaseEvicted {
					continue
				}
				if why := noEviction(s, w[1], rolledOut[w[1]], about); why != "" {
					return fmt.Errorf("line %d: %s", st.Line, why)
				}
			}
		}
	}
	return nil
}

// noEviction is why no pod will be evicted from a node, with the remedy; empty if one may be. The rollout of
// a deployment before that puts its pods anywhere, but not on a node that is cordoned. about is the plan's deployment.
func noEviction(s *cluster.Snapshot, node string, rolledOut, about cluster.Key) string {
	n, rolls := s.Node(node), rolledOut != cluster.Key{}
	evicted := slices.ContainsFunc(s.PodsOn(node), func(p *cluster.Pod) bool {
		_, ok := p.Evictable(cluster.TaintUnreachable)
		return ok && (!rolls || !n.Unschedulable || rolledOut != cluster.Key{Namespace: p.Namespace, Name: p.Deployment})
	})
	switch {
	case evicted || cluster.WhyUnknown(s, cluster.KindPod) != "" || rolls && !n.Unschedulable:
		return ""
	case n.Unschedulable:
		return fmt.Sprintf("%s is cordoned and gets no pod that could be evicted; begin with: kubectl uncordon %s", node, text.ShellWord(node))
	case s.Deployment(about).NoRestart() != "":
		return "there is no pod on " + node + " that could be evicted"
	}
	return "there is no pod on " + node + ` that could be evicted; begin the plan with "- rollout:", which spreads the pods of its deployment`
}

// checkUp refuses to switch off a node that is down already: what that does could not be observed.
func checkUp(nodes []string, s session.Controls, now time.Time) error {
	down := text.Each(nodes, func(name string) string { return isDown(s, name, now) })
	if down = slices.DeleteFunc(down, func(was string) bool { return was == "" }); len(down) == 0 {
		return nil
	}
	return fmt.Errorf("what the trial does to a node that is down can't be observed: %s", strings.Join(down, "; "))
}

// isDown reports in which way a node is down; empty if it is up.
func isDown(s session.Controls, name string, now time.Time) string {
	n, state := s.Snapshot().Node(name), s.Machine(name).Reading.State
	if n == nil {
		return ""
	}
	_, silent := s.Snapshot().Silent(n, now)
	switch {
	case n.Ready != cluster.TriTrue:
		return name + " is not Ready"
	case silent:
		return name + " is silent"
	case state == power.Off || state == power.Transitioning:
		return fmt.Sprintf("the machine of %s is %s", name, state)
	}
	return ""
}

// checkMachines refuses a plan that switches a node without a machine, as far as
// lightsout has found the machines.
func checkMachines(p *plan.Plan, s session.Controls) error {
	for _, st := range p.Steps {
		if st.Action.Kind != plan.Off && st.Action.Kind != plan.On {
			continue
		}
		for _, n := range st.Action.Nodes {
			if err := s.CanSwitch(cmp.Or(st.Action.How, power.ActionOn), n); err != nil {
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
	return append(subjects, text.Each(nodes, func(n string) [2]string { return [2]string{phase, n} })...)
}
