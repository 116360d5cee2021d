package cluster

import (
	"fmt"
	"reflect"
	"time"
)

// transit tells the sink.
func (s *state) transit(t Transition) {
	if s.w.opts.Sink != nil {
		s.w.opts.Sink(t)
	}
}

// set takes one item that is new or has changed. quiet: it makes no transitions.
func (s *state) set(item any, seen time.Time, quiet bool) {
	switch x := item.(type) {
	case *Node:
		s.setNode(x, seen, quiet)
	case *lease:
		s.setLease(x, seen, quiet)
	case *Pod:
		s.setPod(x, seen, quiet)
	case *Deployment:
		s.setDeployment(x, seen, quiet)
	case *replicaSet:
		s.setReplicaSet(x)
	case *slice:
		s.setSlice(x, seen, quiet)
	case *component:
		s.components[x.pod] = x.settings
		s.resettle()
	case *kubeletAnswer:
		s.setKubelet(x)
	case *note:
		why := x.message
		if x.count > 1 {
			why = fmt.Sprintf("%s (%d times)", why, x.count)
		}
		s.transit(Transition{Subject: x.subject, What: "event", To: x.reason, Why: why, SourceTime: x.at, Seen: seen})
	}
}

// remove takes one item that is gone.
func (s *state) remove(item any, seen time.Time) {
	switch x := item.(type) {
	case *Node:
		if old := s.node(x.Name); old != nil && old.UID == x.UID && old.Gone.IsZero() {
			n := *old
			n.Gone, n.Changed = seen, seen
			s.t.nodes.set(&n)
			s.entomb(KindNode, Key{Name: n.Name}, seen)
			s.transit(Transition{Subject: nodeRef(old), What: "node", From: nodeStatus(old), Seen: seen})
		}
	case *lease:
		delete(s.leases, x.node)
	case *Pod:
		if old := s.t.pod(x.Key); old != nil && old.UID == x.UID && old.Gone.IsZero() {
			p := *old
			p.Gone, p.Changed = seen, seen
			s.t.setPod(&p)
			s.entomb(KindPod, p.Key, seen)
			s.transit(Transition{Subject: Ref{KindPod, p.Key}, What: "status", From: old.Status, Why: "deleted", SourceTime: old.Deleting, Seen: seen})
		}
	case *Deployment:
		if old := s.deployment(x.Key); old != nil && old.UID == x.UID && old.Gone.IsZero() {
			d := *old
			d.Gone, d.Changed = seen, seen
			d.Word = deploymentWord(&d)
			s.t.deployments.set(&d)
			s.entomb(KindDeployment, d.Key, seen)
			s.transit(Transition{Subject: Ref{KindDeployment, d.Key}, What: "status", From: old.Word, Why: "deleted", Seen: seen})
		}
	case *replicaSet:
		delete(s.sets, x.key)
		return
	case *slice:
		s.dropSlice(x.key, seen)
	case *component:
		delete(s.components, x.pod)
		s.resettle()
	case *note:
		return
	}
	s.dirty = true
}

func nodeRef(n *Node) Ref { return Ref{KindNode, Key{Name: n.Name}} }

// nodeStatus is the word for transitions: without a duration, and without the
// cordon and the heartbeat of a Ready node, which have transitions of their own.
func nodeStatus(n *Node) string {
	bare := *n
	bare.Unschedulable = false
	return nodeWord(&bare, n.Ready == TriUnknown || (n.Overdue && n.Ready != TriTrue), 0)
}

func (s *state) setNode(n *Node, seen time.Time, quiet bool) {
	old := s.node(n.Name)
	fresh := old == nil || !old.Gone.IsZero() || old.UID != n.UID
	if !fresh {
		n.Changed, n.Overdue = old.Changed, old.Overdue
		n.Renewed, n.RenewSeen, n.LeaseDuration = old.Renewed, old.RenewSeen, old.LeaseDuration
		n.ReadyEndpoints, n.Kubelet = old.ReadyEndpoints, old.Kubelet
		if reflect.DeepEqual(n, old) {
			return
		}
	} else {
		n.ReadyEndpoints = s.readyOn[n.Name]
		if hb, ok := s.leases[n.Name]; ok {
			n.Renewed, n.RenewSeen, n.LeaseDuration = hb.renewed, hb.seen, hb.duration
		}
	}
	tell := func(what, from, to, why string, at time.Time) {
		n.Changed = seen
		s.transit(Transition{Subject: nodeRef(n), What: what, From: from, To: to, Why: why, SourceTime: at, Seen: seen})
	}
	switch {
	case quiet:
	case fresh:
		if old != nil && old.Gone.IsZero() {
			tell("node", nodeStatus(old), "", "replaced by another node object", time.Time{})
		}
		tell("node", "", nodeStatus(n), reasonOf(n), time.Time{})
	default:
		diffNode(old, n, tell)
	}
	s.t.nodes.set(n)
	s.await(n)
	s.dirty = true
	if n.Ready == TriTrue {
		s.w.kubelets.want(n.Name, n.BootID, false)
	}
}

func diffNode(old, n *Node, tell func(what, from, to, why string, at time.Time)) {
	if old.BootID != "" && old.BootID != n.BootID {
		tell("boot", "up", "rebooted", "boot id "+old.BootID+" → "+n.BootID, time.Time{})
	}
	if from, to := nodeStatus(old), nodeStatus(n); from != to {
		tell("status", from, to, reasonOf(n), n.ReadySince)
	}
	if old.Unschedulable != n.Unschedulable {
		words := map[bool]string{false: "schedulable", true: "SchedulingDisabled"}
		tell("cordon", words[old.Unschedulable], words[n.Unschedulable], "", time.Time{})
	}
	for _, t := range n.Taints {
		if !hasTaint(old, t) {
			tell("taint", "", t.Key+":"+t.Effect, "", t.TimeAdded)
		}
	}
	for _, t := range old.Taints {
		if !hasTaint(n, t) {
			tell("taint", t.Key+":"+t.Effect, "", "", time.Time{})
		}
	}
}

func hasTaint(n *Node, t Taint) bool {
	for _, x := range n.Taints {
		if x.Key == t.Key && x.Effect == t.Effect {
			return true
		}
	}
	return false
}

func reasonOf(n *Node) string {
	switch {
	case n.Message == "":
		return n.Reason
	case n.Reason == "":
		return n.Message
	}
	return n.Reason + ": " + n.Message
}

// setLease takes a renewal. It costs its node and nothing else.
func (s *state) setLease(l *lease, seen time.Time, listed bool) {
	old, known := s.leases[l.node]
	if known && old.renewed.Equal(l.renewed) && old.duration == l.duration {
		return
	}
	hb := heartbeat{lease: *l, seen: seen, behind: old.behind, live: old.live}
	if listed || seen.Sub(s.heartbeatsFrom) < catchUp {
		// It may have been renewed some time ago: reckon by the node's clock,
		// less what that is known to be off.
		if at := l.renewed.Add(hb.behind); at.Before(seen) {
			hb.seen = at
		}
	} else {
		hb.behind, hb.live = seen.Sub(l.renewed), true
	}
	s.leases[l.node] = hb
	n := s.node(l.node)
	if n == nil || !n.Gone.IsZero() {
		return
	}
	x := *n
	x.Renewed, x.RenewSeen, x.LeaseDuration = l.renewed, hb.seen, l.duration
	if n.Overdue && seen.Sub(hb.seen) < time.Duration(overdueShare*float64(l.duration)) {
		x.Overdue, x.Changed = false, seen
		s.transit(Transition{Subject: nodeRef(n), What: "heartbeat", From: "overdue", To: "on time",
			Why: "after " + Span(seen.Sub(n.RenewSeen)) + " of silence", SourceTime: l.renewed, Seen: seen})
	}
	s.t.nodes.set(&x)
	s.await(&x)
	s.dirty = true
}

// overdue concludes that a node's heartbeat has stopped.
func (s *state) overdue(n *Node, now time.Time) {
	x := *n
	x.Overdue, x.Changed = true, now
	s.t.nodes.set(&x)
	s.dirty = true
	s.transit(Transition{Subject: nodeRef(n), What: "heartbeat", From: "on time", To: "overdue",
		Why: "no heartbeat for " + Span(now.Sub(n.RenewSeen)), SourceTime: n.Renewed, Seen: now})
}

func (s *state) setPod(p *Pod, seen time.Time, quiet bool) {
	if dep, ok := s.sets[Key{p.Namespace, p.OwnerName}]; ok && p.OwnerKind == "ReplicaSet" {
		p.Deployment = dep
	}
	old := s.t.pod(p.Key)
	fresh := old == nil || !old.Gone.IsZero() || old.UID != p.UID
	if !fresh {
		p.Changed = old.Changed
		if reflect.DeepEqual(p, old) {
			return
		}
	}
	tell := func(what, from, to, why string, at time.Time) {
		p.Changed = seen
		s.transit(Transition{Subject: Ref{KindPod, p.Key}, What: what, From: from, To: to, Why: why, SourceTime: at, Seen: seen})
	}
	switch {
	case quiet:
	case fresh:
		if old != nil && old.Gone.IsZero() {
			tell("status", old.Status, "", "replaced by another pod of this name", time.Time{})
		}
		why := ""
		if p.OwnerName != "" {
			why = "created by " + p.OwnerKind + " " + p.OwnerName
		}
		tell("status", "", p.Status, why, p.Created)
		if p.Node != "" {
			tell("node", "", p.Node, "", time.Time{})
		}
	default:
		if old.Node != p.Node {
			tell("node", old.Node, p.Node, "", time.Time{})
		}
		if old.Status != p.Status {
			at := time.Time{}
			if old.Deleting.IsZero() {
				at = p.Deleting
			}
			tell("status", old.Status, p.Status, s.nodeTrouble(p), at)
		}
		if old.Ready != p.Ready {
			words := map[bool]string{false: "NotReady", true: "Ready"}
			tell("ready", words[old.Ready], words[p.Ready], s.nodeTrouble(p), p.ReadySince)
		}
	}
	s.t.setPod(p)
	s.dirty = true
}

// nodeTrouble says what is wrong with the node of a pod that is not ready;
// empty when nothing is.
func (s *state) nodeTrouble(p *Pod) string {
	n := s.node(p.Node)
	if p.Ready || n == nil || n.Ready == TriTrue {
		return ""
	}
	return "node " + n.Name + " is " + nodeStatus(n)
}

func (s *state) setDeployment(d *Deployment, seen time.Time, quiet bool) {
	old := s.deployment(d.Key)
	fresh := old == nil || !old.Gone.IsZero() || old.UID != d.UID
	if !fresh {
		d.Changed = old.Changed
		if reflect.DeepEqual(d, old) {
			return
		}
	}
	tell := func(what, from, to, why string) {
		d.Changed = seen
		s.transit(Transition{Subject: Ref{KindDeployment, d.Key}, What: what, From: from, To: to, Why: why, Seen: seen})
	}
	switch {
	case quiet:
	case fresh:
		tell("status", "", d.Word, "")
	default:
		if from, to := available(old), available(d); from != to {
			tell("replicas", from, to, "available")
		}
		if old.Word != d.Word {
			tell("status", old.Word, d.Word, available(d)+" available")
		}
	}
	s.t.deployments.set(d)
	s.dirty = true
}

func available(d *Deployment) string { return fmt.Sprintf("%d/%d", d.Available, d.Replicas) }

// setReplicaSet notes which deployment is behind a replica set. Its pods have
// been filed under the one its name tells; only where that was wrong, because
// a deployment adopted it, are they looked for.
func (s *state) setReplicaSet(rs *replicaSet) {
	if old, ok := s.sets[rs.key]; ok && old == rs.deployment {
		return
	}
	s.sets[rs.key] = rs.deployment
	if rs.usual {
		return
	}
	var wrong []*Pod
	for _, p := range s.t.byOwner.span(
		func(p *Pod) bool { return p.Namespace >= rs.key.Namespace },
		func(p *Pod) bool { return p.Namespace > rs.key.Namespace },
	) {
		if p.OwnerName == rs.key.Name && p.OwnerKind == "ReplicaSet" && p.Deployment != rs.deployment {
			wrong = append(wrong, p)
		}
	}
	for _, p := range wrong {
		x := *p
		x.Deployment = rs.deployment
		s.t.setPod(&x)
		s.dirty = true
	}
}
