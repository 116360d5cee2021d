package cluster

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"lightsout/internal/outage"
)

func nodeRef(n *Node) Ref { return Ref{KindNode, Key{Name: n.Name}} }

// nodeStatus is the word for transitions: without a duration, and without the
// cordon and the heartbeat of a Ready node, which have transitions of their own.
func nodeStatus(n *Node) string {
	bare := *n
	bare.Unschedulable = false
	return statusOf(&bare, n.Ready == TriUnknown || (n.Overdue && n.Ready != TriTrue), 0).String()
}

func (n *Node) id() Key { return Key{Name: n.Name} }

func (n *Node) put(s *state, seen time.Time, quiet bool) {
	old := s.node(n.Name)
	fresh := old == nil || !old.Gone.IsZero() || old.UID != n.UID
	n.ControlPlane = n.ControlPlane || slices.ContainsFunc(slices.Collect(maps.Values(s.components)), func(c *component) bool { return c.node == n.Name })
	if fresh {
		if c := s.readyOn[n.Name]; c != nil {
			n.ReadyEndpoints = c.n
		}
		s.leases[n.Name].into(n)
	} else {
		if n.Ready != TriUnknown { // which is the node controller's
			n.ReadySince = since(n.ReadySince, old.ReadySince, seen, n.Ready == old.Ready)
		}
		n.Changed, n.StatusChanged, n.Overdue = old.Changed, old.StatusChanged, old.Overdue
		n.Renewed, n.RenewSeen, n.beat, n.LeaseDuration = old.Renewed, old.RenewSeen, old.beat, old.LeaseDuration
		n.ReadyEndpoints, n.Kubelet = old.ReadyEndpoints, old.Kubelet
		if reflect.DeepEqual(n, old) {
			return
		}
		n.Renewed, n.RenewSeen = n.Heartbeat()
	}
	report := func(kind Change, from, to, why string, at time.Time) {
		n.Changed = seen
		t := Transition{Subject: nodeRef(n), Change: kind, From: from, To: to, Why: why, SourceTime: at, When: At(seen)}
		if kind == ChangeStatus || kind == ChangeNode {
			if n.Ready == TriFalse && n.Message == shuttingDown {
				t.Cause = CauseShutdown
			}
			if from != "" {
				t.Was = old.health()
			}
			if to != "" {
				t.Is = n.health()
			}
		}
		s.transit(t)
	}
	switch {
	case quiet:
	case fresh:
		if old != nil && old.Gone.IsZero() {
			report(ChangeNode, nodeStatus(old), "", "replaced by another node object", time.Time{})
		}
		report(ChangeNode, "", nodeStatus(n), reasonOf(n), time.Time{})
	default:
		diffNode(old, n, report)
	}
	s.t.nodes.set(n)
	s.awaitHeartbeat(n)
	s.dirty = true
	if n.Ready == TriTrue {
		s.w.kubelets.want(n.Name, n.BootID, false)
	}
}

func (n *Node) drop(s *state, seen time.Time) {
	old := s.node(n.Name)
	if old == nil || old.UID != n.UID || !old.Gone.IsZero() {
		return
	}
	x := *old
	x.Gone, x.Changed = seen, seen
	s.t.nodes.set(&x)
	s.ended(Transition{Subject: nodeRef(old), Change: ChangeNode, From: nodeStatus(old), Was: old.health(), When: At(seen)})
}

func diffNode(old, n *Node, report func(kind Change, from, to, why string, at time.Time)) {
	if outage.OtherBoot(old.BootID, n.BootID) {
		report(ChangeBoot, "up", "rebooted", "boot id "+old.BootID+" → "+n.BootID, time.Time{})
	}
	if from, to := nodeStatus(old), nodeStatus(n); from != to {
		report(ChangeStatus, from, to, reasonOf(n), n.ReadySince)
		n.StatusChanged = n.Changed
	}
	if old.Unschedulable != n.Unschedulable {
		words := map[bool]string{false: "schedulable", true: "SchedulingDisabled"}
		report(ChangeCordon, words[old.Unschedulable], words[n.Unschedulable], "", time.Time{})
	}
	for _, t := range n.Taints {
		if !hasTaint(old, t) {
			report(ChangeTaint, "", t.Key+":"+t.Effect, "", t.TimeAdded)
		}
	}
	for _, t := range old.Taints {
		if !hasTaint(n, t) {
			report(ChangeTaint, t.Key+":"+t.Effect, "", "", time.Time{})
		}
	}
}

func hasTaint(n *Node, t Taint) bool {
	return slices.ContainsFunc(n.Taints, func(x Taint) bool { return x.Key == t.Key && x.Effect == t.Effect })
}

func reasonOf(n *Node) string { return explained(n.Reason, n.Message) }

// explained joins the reason and the message of a condition; either may be empty.
func explained(reason, message string) string {
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}

func (c *component) id() Key { return Key{Name: c.pod} }

// put notes the settings of a pod of the control plane and where it runs: a node
// that runs one belongs to the control plane, whatever its labels say.
func (c *component) put(s *state, _ time.Time, _ bool) {
	s.components[c.pod] = c
	s.renewSettings()
	if n := s.node(c.node); n != nil && !n.ControlPlane {
		x := *n
		x.ControlPlane = true
		s.t.nodes.set(&x)
	}
}

// drop leaves the node unchanged until its next report.
func (c *component) drop(s *state, _ time.Time) {
	delete(s.components, c.pod)
	s.renewSettings()
}
