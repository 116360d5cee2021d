package cluster

import (
	"fmt"
	"reflect"
	"time"
)

func (p *Pod) id() Key { return p.Key }

func (p *Pod) put(s *state, seen time.Time, quiet bool) {
	old := s.t.pod(p.Key)
	fresh := old == nil || !old.Gone.IsZero() || old.UID != p.UID
	if !fresh {
		p.Changed = old.Changed
		if p.Ready { // else it may be the node controller's
			p.ReadySince = since(p.ReadySince, old.ReadySince, seen, p.Ready == old.Ready)
		}
		if reflect.DeepEqual(p, old) {
			return
		}
	}
	switch {
	case quiet:
	case fresh:
		p.created(s, old, seen)
	default:
		p.changed(s, old, seen)
	}
	s.t.setPod(p)
	s.dirty = true
}

// created reports that a pod is new and, if old was there, that the earlier pod of its
// name is gone.
func (p *Pod) created(s *state, old *Pod, seen time.Time) {
	if old != nil && old.Gone.IsZero() {
		p.report(s, old, Transition{Change: ChangeStatus, From: old.Status, Why: "replaced by another pod of this name", When: At(seen)})
	}
	why := ""
	if p.OwnerName != "" {
		why = "created by " + p.OwnerKind + " " + p.OwnerName
	}
	p.report(s, old, Transition{Change: ChangeStatus, To: p.Status, Why: why, SourceTime: p.Created, When: At(seen)})
	if p.Node != "" {
		p.report(s, old, Transition{Change: ChangeNode, To: p.Node, When: At(seen)})
	}
}

// changed reports the differences between old and p.
func (p *Pod) changed(s *state, old *Pod, seen time.Time) {
	if old.Node != p.Node {
		p.report(s, old, Transition{Change: ChangeNode, From: old.Node, To: p.Node, When: At(seen)})
	}
	if old.Status != p.Status {
		at := time.Time{}
		if old.Deleting.IsZero() {
			at = p.Deleting
		}
		p.report(s, old, Transition{Change: ChangeStatus, From: old.Status, To: p.Status, Why: nodeTrouble(s, p), SourceTime: at, When: At(seen)})
	}
	if old.Ready != p.Ready {
		words := map[bool]string{false: WordNotReady, true: WordReady}
		p.report(s, old, Transition{Change: ChangeReady, From: words[old.Ready], To: words[p.Ready], Why: nodeTrouble(s, p), SourceTime: p.ReadySince, When: At(seen)})
	}
}

// report sends the sink a transition from old to p, with the health of both.
func (p *Pod) report(s *state, old *Pod, t Transition) {
	p.Changed = t.When.By
	t.Subject = Ref{KindPod, p.Key}
	switch t.Change {
	case ChangeReady:
		t.Was, t.Is, t.Cause = conditionHealth(old.Ready), conditionHealth(p.Ready), causeOf(s, p)
	case ChangeStatus:
		if t.From != "" {
			t.Was = old.health()
		}
		if t.To != "" {
			t.Is, t.Cause = p.health(), causeOf(s, p)
		}
	}
	s.transit(t)
}

func (p *Pod) drop(s *state, seen time.Time) {
	old := s.t.pod(p.Key)
	if old == nil || old.UID != p.UID || !old.Gone.IsZero() {
		return
	}
	x := *old
	x.Gone, x.Changed = seen, seen
	s.t.setPod(&x)
	s.ended(Transition{Subject: Ref{KindPod, x.Key}, Change: ChangeStatus, From: old.Status, Was: old.health(), Why: "deleted", When: At(seen)})
}

// causeOf returns why a pod changed, if its node is the cause.
func causeOf(s *state, p *Pod) Cause {
	n := s.node(p.Node)
	switch {
	case n == nil || n.Ready == TriTrue:
		return ""
	case p.Evicted && !p.Deleting.IsZero():
		return CauseEvicted
	case p.Ready, !p.Deleting.IsZero() && reportsEvictions(s.serverVersion):
		return ""
	}
	return CauseNodeNotReady
}

// nodeTrouble returns the problem of a pod's node, if that is why the pod changed; empty if not.
func nodeTrouble(s *state, p *Pod) string {
	if causeOf(s, p) == "" {
		return ""
	}
	n := s.node(p.Node)
	return "node " + n.Name + " is " + nodeStatus(n)
}

func (d *Deployment) id() Key { return d.Key }

func (d *Deployment) put(s *state, seen time.Time, quiet bool) {
	d = s.withKnative(d)
	old := s.deployment(d.Key)
	fresh := old == nil || !old.Gone.IsZero() || old.UID != d.UID
	if !fresh {
		d.Changed = old.Changed
		if reflect.DeepEqual(d, old) {
			return
		}
	}
	report := func(kind Change, from, to, why string) {
		d.Changed = seen
		s.transit(Transition{Subject: Ref{KindDeployment, d.Key}, Change: kind, From: from, To: to, Why: why,
			Was: deploymentHealths[from], Is: deploymentHealths[to], When: At(seen), Available: d.Available, Replicas: d.Replicas})
	}
	switch {
	case quiet:
	case fresh:
		report(ChangeStatus, "", d.Word, "")
	default:
		if from, to := available(old), available(d); from != to {
			report(ChangeReplicas, from, to, "available")
		}
		if old.Word != d.Word {
			report(ChangeStatus, old.Word, d.Word, available(d)+" available")
		}
	}
	s.t.deployments.set(d)
	s.dirty = true
}

func (d *Deployment) drop(s *state, seen time.Time) {
	old := s.deployment(d.Key)
	if old == nil || old.UID != d.UID || !old.Gone.IsZero() {
		return
	}
	x := *old
	x.Gone, x.Changed = seen, seen
	x.Word = deploymentWord(&x)
	s.t.deployments.set(&x)
	s.ended(Transition{Subject: Ref{KindDeployment, x.Key}, Change: ChangeStatus, From: old.Word, Was: deploymentHealths[old.Word], Why: "deleted", When: At(seen)})
}

func available(d *Deployment) string { return fmt.Sprintf("%d/%d", d.Available, d.Replicas) }

func (e *clusterEvent) id() Key { return Key{Name: e.uid} }

func (e *clusterEvent) put(s *state, seen time.Time, _ bool) {
	why := e.message
	if e.count > 1 {
		why = fmt.Sprintf("%s (%d times)", why, e.count)
	}
	s.transit(Transition{Subject: e.subject, Change: ChangeEvent, To: e.reason, Is: e.health, Why: why, SourceTime: e.at, When: At(seen)})
}

// drop does nothing: a forgotten event is not a change.
func (e *clusterEvent) drop(*state, time.Time) {}
