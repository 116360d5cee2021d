package session

import (
	"context"
	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
	"slices"
	"strings"
	"time"
)

// switchPlan is what was looked up before a question about switching.
type switchPlan struct {
	ask      view.AskPower
	snapshot *cluster.Snapshot
	bindings []power.Binding
	findings []power.Finding
	problems map[string]error
}

// lookUp makes a plan. It is called off the loop.
func (w *switching) lookUp(ctx context.Context, a view.AskPower, s *cluster.Snapshot) switchPlan {
	p := switchPlan{ask: a, snapshot: s}
	var refs []power.NodeRef
	for _, name := range a.Nodes {
		ref := power.NodeRef{Name: name}
		if s != nil {
			if n := s.Node(name); n != nil {
				ref = NodeRef(n)
			}
		}
		refs = append(refs, ref)
	}
	// All nodes are resolved, so that two nodes with one machine are noticed.
	p.bindings = w.opt.Fleet.Resolve(ctx, refs)
	if a.Action == power.ActionOn {
		p.useLeftOff(w.opt.Journal)
	}
	guard := power.Plan{Action: a.Action, Targets: a.Nodes, Bound: map[string]power.Bound{}, Busy: w.opt.Fleet.Busy(), ReadOnly: w.opt.ReadOnly, DryRun: w.opt.DryRun, Limits: w.opt.Guards}
	var unproven map[string]error
	if a.Action != power.ActionOn {
		unproven = w.opt.Fleet.Prove(ctx, p.bindings)
		p.problems = w.opt.Fleet.Preflight(ctx, a.Action, p.bindings)
	}
	for _, b := range p.bindings {
		bound := power.Bound{Binding: b, OnProven: unproven[b.Node.Name] == nil && b.On != nil}
		if _, err := w.opt.Fleet.Can(b, a.Action); err != nil {
			bound.Why = err.Error()
		} else {
			bound.Can = true
		}
		guard.Bound[b.Node.Name] = bound
	}
	guard.ViewAge = time.Hour
	if s != nil {
		guard.Nodes = planNodes(s)
		if last := w.opt.Watcher.Link().LastContact; !last.IsZero() {
			guard.ViewAge = w.now().Sub(last)
		}
	}
	if w.opt.Self != nil {
		guard.Self = w.opt.Self(ctx)
	}
	p.findings = power.Guard(guard)
	return p
}

// useLeftOff takes the machines from the journal for nodes that can't be
// resolved now: powering on needs neither the API server nor a look-up.
func (p *switchPlan) useLeftOff(j *power.Journal) {
	if j == nil {
		return
	}
	left, err := j.LeftOff()
	if err != nil {
		return
	}
	for i, b := range p.bindings {
		for _, l := range left {
			if b.On == nil && l.Binding.Node.Name == b.Node.Name {
				p.bindings[i] = l.Binding
			}
		}
	}
}

func planNodes(s *cluster.Snapshot) []power.Node {
	var out []power.Node
	for _, n := range s.Nodes() {
		if !n.Gone.IsZero() {
			continue
		}
		role := power.RoleWorker
		if n.ControlPlane {
			role = power.RoleControlPlane
		}
		out = append(out, power.Node{
			NodeRef: NodeRef(n), Role: role, Etcd: runsEtcd(s, n.Name),
			Ready: n.Ready == cluster.TriTrue, Schedulable: !n.Unschedulable,
		})
	}
	return out
}

// runsEtcd reports whether one of the node's static pods is an etcd member.
func runsEtcd(s *cluster.Snapshot, node string) bool {
	return slices.ContainsFunc(s.PodsOn(node), func(p *cluster.Pod) bool {
		return p.Static && strings.HasPrefix(p.Name, "etcd-")
	})
}
