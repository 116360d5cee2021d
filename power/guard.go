package power

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/internal/text"
)

// judge judges an action before lightsout sends anything. It is a pure function. It returns
// the findings worst first, then those about all nodes, then by node; none if all rules
// permit the action. Only read-only mode and a missing or shared machine prevent powering
// on, which waits for another operation on the machine to end.
func judge(in guardInput) []Finding {
	g := guard{guardInput: in, byName: make(map[string]Node, len(in.Nodes))}
	for _, n := range in.Nodes {
		g.byName[n.Name] = n
	}
	g.whole()
	for _, name := range in.Targets {
		g.machine(name)
		if in.Action == ActionOn {
			g.switchedByOther(name, Warn)
		} else {
			g.node(name)
		}
	}
	for i := range g.found {
		if f := &g.found[i]; f.Effect == Override && g.Limits.NoOverride && in.Action != ActionOn {
			f.Effect, f.Text = Refuse, f.Text+" The configuration allows no typed confirmation (guards.no_override)."
		}
	}
	slices.SortStableFunc(g.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Effect, a.Effect), cmp.Compare(a.Node, b.Node))
	})
	return g.found
}

// worst is the effect of all findings together.
func worst(findings []Finding) Effect {
	w := Warn
	for _, f := range findings {
		w = max(w, f.Effect)
	}
	return w
}

type guard struct {
	guardInput
	byName map[string]Node
	found  []Finding
}

func (g *guard) say(rule string, s Effect, node, format string, args ...any) {
	g.found = append(g.found, Finding{Rule: rule, Effect: s, Node: node, Text: sentence(fmt.Sprintf(format, args...))})
}

// sentence gives a text one full stop: an error of another program that it ends with may have its own.
func sentence(s string) string { return strings.TrimRight(s, ".") + "." }

// whole applies the rules that concern no single node.
func (g *guard) whole() {
	if g.ReadOnly {
		g.say(RuleReadOnly, Refuse, "", "lightsout switches nothing in read-only mode.")
	}
	if g.DryRun {
		g.say(RuleDryRun, Warn, "", "This is a dry run: lightsout does everything except switch.")
	}
	if len(g.Targets) == 0 {
		g.say(RuleNothing, Refuse, "", "No node is chosen.")
	}
	if g.Action == ActionOn {
		return
	}
	if g.NoJournal != "" {
		why := sentence("The journal is not reliable: " + g.NoJournal)
		g.found = append(g.found, Finding{Rule: RuleJournal, Effect: Refuse, Text: why, Command: g.Settles})
	}
	if g.NoIdentity {
		g.say(RuleIdentity, Override, "", "The cluster's UID can't be read: a tunnel may lead to another cluster, and the drivers may switch that one's machines. "+
			"Bind the ClusterRole lightsout-view (docs/clusterrole.yaml); see lightsout check.")
	}
	if limit := g.Limits.viewAge(); g.Age > limit {
		g.say(RuleStaleView, Refuse, "", "The API server last confirmed nodes and heartbeats %s ago, counting the polls of machines since; lightsout switches off only within %s (guards.view_age). If it was busy, try again.",
			g.Age.Round(time.Second), limit)
	}
	for _, why := range g.Stale {
		g.say(RuleStaleView, Refuse, "", "%s.", why)
	}
	if g.Blind {
		g.say(RuleHeartbeats, Warn, "", "lightsout cannot see heartbeats (leases): a node that has just fallen silent still counts as Ready.")
	}
	for _, why := range g.Self.Unknown {
		g.say(RuleWayUnknown, Override, "", "%s.", why)
	}
	if g.Trial != "" && !strings.HasPrefix(g.Trial, self()) {
		g.say(RuleTrial, Override, "", "Another lightsout on this host (%s) runs a trial of this cluster, in whose verdict this would count; wait for its end.", g.Trial)
	}
	g.controlPlane()
	g.lastWorker()
	g.protectedNames()
}

// protectedNames warns of names in guards.protect that the cluster does not have: a
// wrong name protects nothing.
func (g *guard) protectedNames() {
	for _, name := range g.Limits.Protect {
		there := slices.ContainsFunc(g.Nodes, func(n Node) bool { return strings.EqualFold(n.Name, name) })
		if !there && len(g.Nodes) > 0 {
			g.say(RuleProtected, Warn, "", "guards.protect names %s, and the cluster has no such node.", Clean(name))
		}
	}
}

// controlPlane checks whether lightsout can tell where the control plane runs.
func (g *guard) controlPlane() {
	seen := slices.IndexFunc(g.Nodes, func(n Node) bool { return n.ControlPlane || n.Etcd })
	elsewhere := g.Limits.ControlPlane == ControlPlaneElsewhere
	switch {
	case elsewhere && seen >= 0:
		g.say(RuleQuorumUnknown, Override, "", "The configuration places the control plane elsewhere (guards.control_plane), but %s is part of it.", g.Nodes[seen].Name)
	case elsewhere:
		g.say(RuleQuorumUnknown, Warn, "", "The control plane is not among these nodes, by the configuration (guards.control_plane: elsewhere).")
	case seen < 0 && len(g.Nodes) > 0:
		g.say(RuleQuorumUnknown, Override, "", "No node of this cluster is marked as control plane, so lightsout cannot tell where it runs; if it is not on these nodes, set guards.control_plane: elsewhere.")
	}
}

// lastWorker refuses to take away the last workers that can run pods.
func (g *guard) lastWorker() {
	taken, left := 0, 0
	var not []string
	for _, n := range g.Nodes {
		if n.ControlPlane || !n.Ready {
			continue
		}
		switch {
		case slices.Contains(g.Targets, n.Name):
			taken++
		case !n.Schedulable:
			not = append(not, n.Name+" takes no pods: it is cordoned or tainted, or admits none")
		case n.Presence != Runs:
			not = append(not, n.Name+" "+n.Why)
		default:
			left++
		}
	}
	because := ""
	if len(not) > 0 {
		because = " (" + strings.Join(not[:min(len(not), 3)], "; ") + ")"
	}
	switch keep := g.Limits.keepReady(); {
	case taken == 0 || left >= keep:
	case keep == 1:
		g.say(RuleLastWorker, Refuse, "", "This would leave no Ready worker that takes pods%s; leave one on.", because)
	default:
		g.say(RuleLastWorker, Refuse, "", "This would leave %s%s; guards.keep_ready requires %d.", text.Count(left, "Ready worker that takes pods", "Ready workers that take pods"), because, keep)
	}
}

// machine holds the rules about the machine behind a node, for every action.
func (g *guard) machine(name string) {
	switch a, busy := g.Busy[name]; {
	case busy && g.Action == ActionOn:
		g.say(RuleBusy, Warn, name, "lightsout is already working on %[2]s (%[1]s); it powers %[2]s on when that has ended.", a, name)
	case busy:
		g.say(RuleBusy, Refuse, name, "lightsout is already working on %[2]s (%[1]s); wait until that has ended.", a, name)
	}
	b, ok := g.Bound[name]
	switch {
	case !ok:
		g.say(RuleMachine, Refuse, name, "The machine of %s is unknown.", name)
		return
	case errors.Is(b.Cannot, ErrCannot): // which names the action
		g.say(RuleMachine, Refuse, name, "%s: %s.", name, b.Cannot)
	case b.Cannot != nil:
		g.say(RuleMachine, Refuse, name, "lightsout cannot ask %s to %s: %s.", name, Verb(g.Action), b.Cannot.Error())
	}
	if b.FromJournal {
		return // this machine was switched off, whatever else matches
	}
	other, by, calledSo := g.anothers(name, b.Binding)
	switch {
	case other != "" && calledSo:
		g.say(RuleContradiction, Override, name, "The configuration gives %s a machine that calls itself %s; check that power.nodes does not swap them.", name, other)
	case other != "":
		g.say(RuleShared, Refuse, name, "The machine of %s is %s, the name or an address of %s; name the right one under power.nodes.", name, Clean(by), other)
	}
	if b.Binding.Contradiction != "" {
		g.say(RuleContradiction, Override, name, "%s.", b.Binding.Contradiction)
	}
	if g.Action == ActionOn || b.Cannot != nil {
		return
	}
	switch {
	case b.Binding.On == nil:
		why := cmp.Or(b.Binding.OnErr, errUnbound).Error()
		g.say(RuleNoWayBack, Override, name, "%s can't be powered on again from here: %s.", name, why)
	case b.Unproven != nil:
		g.say(RuleNoWayBack, Override, name, "lightsout has no proof that it can power %s on again: %s.", name, Clean(b.Unproven.Error()))
	}
}

// anothers returns another node that has the name or address of one of b's machines, and
// that name or address. calledSo: only the name is the same, and the configuration assigns
// it to this node.
func (g *guard) anothers(name string, b Binding) (other, by string, calledSo bool) {
	for _, n := range g.Nodes {
		for _, m := range b.machines() {
			if n.Name == name {
				continue
			}
			called := func(by string) bool {
				by = strings.TrimSuffix(by, ".")
				return strings.EqualFold(by, n.Name) || common([]string{by}, n.Addresses) != ""
			}
			// An address that both nodes have distinguishes them only if it led to the machine.
			both := m.How != HowAddress && common([]string{m.Address}, g.byName[name].Addresses) != ""
			switch {
			case !both && common([]string{m.Address}, n.Addresses) != "":
				return n.Name, m.Address, false
			case m.How != HowConfig && (called(m.Name) || called(m.ID)):
				return n.Name, m.Title(), false
			case called(m.Name), called(m.ID):
				other, by, calledSo = n.Name, m.Title(), true
			}
		}
	}
	return other, by, calledSo
}

func sameMachine(a, b *Machine) bool {
	return a != nil && b != nil && a.Driver == b.Driver && a.ID == b.ID
}

// node holds the rules about switching one node off.
func (g *guard) node(name string) {
	n, ok := g.byName[name]
	switch {
	case !ok && len(g.Nodes) == 0 && len(g.Stale) > 0:
		return // lightsout could not get the nodes, and says so
	case !ok:
		g.say(RuleUnknownNode, Refuse, name, "The cluster has no node %s.", name)
		return
	}
	if named(g.Limits.Protect, name) {
		g.say(RuleProtected, Refuse, name, "%s is never switched off (guards.protect).", name)
	}
	switch {
	case n.ControlPlane:
		g.say(RuleControlPlane, Refuse, name, "%s is part of the control plane; only workers are switched off.", name)
	case n.Etcd:
		g.say(RuleControlPlane, Refuse, name, "%s runs an etcd member; without it the control plane may lose its quorum.", name)
	}
	g.switchedByOther(name, Override)
	g.ways(name)
}

// ways refuses the machines that this program depends on, and names the address that shows
// it.
func (g *guard) ways(name string) {
	for _, way := range []struct {
		rule, is         string
		names, addresses []string
	}{
		{RuleSelf, "%s%s is the machine that this program runs on.", g.Self.Names, g.Self.Addresses},
		{RuleBastion, "%s%s is the bastion that every connection goes through.", g.Self.BastionNames, g.Self.BastionAddresses},
		{RuleAPIServer, "lightsout reaches the API server at %s%s: without it lightsout cannot see the cluster.", nil, g.Self.APIAddresses},
	} {
		how := common(g.own(name), way.addresses)
		if how != "" {
			how = " (" + how + ")"
		}
		if how != "" || named(way.names, name) {
			g.say(way.rule, Refuse, name, way.is, name, how)
			return
		}
	}
}

// switchedByOther finds a machine that another operator has switched off.
func (g *guard) switchedByOther(name string, s Effect) {
	if by := g.byName[name].owned; by.SwitchedOff() != "" {
		g.say(RuleOther, s, name, "The machine of %s %s.", name, by.SwitchedOff())
		g.found[len(g.found)-1].Note = by.Other.Note.ID
	}
}

// named reports whether a name is one of some, whatever its case.
func named(names []string, name string) bool {
	return name != "" && slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
