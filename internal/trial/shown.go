package trial

import (
	"maps"
	"slices"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
)

// view returns the trial as the screen shows it.
func (r *run) view() *view.TrialView {
	v := &view.TrialView{
		Name: r.name, Dir: r.dir, Keyboard: r.plan == nil, Driven: r.opt.Driven, Waiting: r.waiting(),
		Next: r.next, Doing: r.doing, Started: r.started,
		Phases: r.tracker.Table(),
	}
	for _, st := range r.steps {
		v.Steps = append(v.Steps, view.StepView{Name: st.Name, Text: st.Text(), State: st.state})
	}
	if s := r.summary; s != nil {
		v.Verdict, v.Why, v.Expectations, v.Report = s.Verdict, s.Why, s.Expectations, record.ReportPath(r.dir)
	}
	return v
}

// node returns the trial's state of a node, and creates it if missing.
func (r *run) node(name string) *nodeRun {
	i := slices.IndexFunc(r.nodes, func(n *nodeRun) bool { return n.name == name })
	if i < 0 {
		i, r.nodes = len(r.nodes), append(r.nodes, &nodeRun{name: name})
	}
	return r.nodes[i]
}

// podsByNode counts a deployment's pods that are neither lost nor being deleted,
// by node, with zeros for workers that can take pods.
func podsByNode(s *cluster.Snapshot, k cluster.Key) map[string]int {
	if s.Deployment(k) == nil {
		return nil
	}
	out := map[string]int{}
	for _, n := range s.Nodes() {
		if n.Gone.IsZero() && n.Ready == cluster.TriTrue && !n.Unschedulable && !n.ControlPlane {
			out[n.Name] = 0
		}
	}
	for _, p := range s.PodsOf(k) {
		if _, ok := out[p.Node]; ok && p.Gone.IsZero() && p.Deleting.IsZero() && p.Ready {
			out[p.Node]++
		}
	}
	return out
}

// skew is the largest minus the smallest number of pods on a node.
func skew(by map[string]int) int {
	if len(by) == 0 {
		return 0
	}
	counts := slices.Sorted(maps.Values(by))
	return counts[len(counts)-1] - counts[0]
}
