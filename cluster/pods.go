package cluster

import (
	"fmt"
	"reflect"
	"time"
)

func (p *Pod) id() Key { return p.Key }

func (p *Pod) put(s *state, seen time.Time, quiet bool) {
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
	report := func(kind Change, from, to, why string, at time.Time) {
		p.Changed = seen
		s.transit(Transition{Subject: Ref{KindPod, p.Key}, Kind: kind, From: from, To: to, Why: why, SourceTime: at, Seen: seen})
	}
	switch {
	case quiet:
	case fresh:
		if old != nil && old.Gone.IsZero() {
			report(ChangeStatus, old.Status, "", "replaced by another pod of this name", time.Time{})
		}
		why := ""
		if p.OwnerName != "" {
			why = "created by " + p.OwnerKind + " " + p.OwnerName
		}
		report(ChangeStatus, "", p.Status, why, p.Created)
		if p.Node != "" {
			report(ChangeNode, "", p.Node, "", time.Time{})
		}
	default:
		if old.Node != p.Node {
			report(ChangeNode, old.Node, p.Node, "", time.Time{})
		}
		if old.Status != p.Status {
			at := time.Time{}
			if old.Deleting.IsZero() {
				at = p.Deleting
			}
			report(ChangeStatus, old.Status, p.Status, s.nodeTrouble(p), at)
		}
		if old.Ready != p.Ready {
			words := map[bool]string{false: WordNotReady, true: WordReady}
			report(ChangeReady, words[old.Ready], words[p.Ready], s.nodeTrouble(p), p.ReadySince)
		}
	}
	s.t.setPod(p)
	s.dirty = true
}

func (p *Pod) drop(s *state, seen time.Time) {
	old := s.t.pod(p.Key)
	if old == nil || old.UID != p.UID || !old.Gone.IsZero() {
		return
	}
	x := *old
	x.Gone, x.Changed = seen, seen
	s.t.setPod(&x)
	s.showDeleted(seen, func() {
		if p := s.t.pod(x.Key); p != nil && p.Gone.Equal(seen) {
			s.t.delPod(p)
		}
	})
	s.transit(Transition{Subject: Ref{KindPod, x.Key}, Kind: ChangeStatus, From: old.Status, Why: "deleted", SourceTime: old.Deleting, Seen: seen})
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

func (d *Deployment) id() Key { return d.Key }

func (d *Deployment) put(s *state, seen time.Time, quiet bool) {
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
		s.transit(Transition{Subject: Ref{KindDeployment, d.Key}, Kind: kind, From: from, To: to, Why: why, Seen: seen})
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
	s.showDeleted(seen, func() {
		if d := s.deployment(x.Key); d != nil && d.Gone.Equal(seen) {
			s.t.deployments.del(d)
		}
	})
	s.transit(Transition{Subject: Ref{KindDeployment, x.Key}, Kind: ChangeStatus, From: old.Word, Why: "deleted", Seen: seen})
	s.dirty = true
}

func available(d *Deployment) string { return fmt.Sprintf("%d/%d", d.Available, d.Replicas) }

func (rs *replicaSet) id() Key { return rs.name }

// put notes which deployment is behind a replica set. Its pods have been filed
// under the one its name tells; only where that was wrong, or is not what was known
// of it, because a deployment adopted it or left it, are they looked for.
func (rs *replicaSet) put(s *state, _ time.Time, _ bool) {
	old, known := s.sets[rs.name]
	s.sets[rs.name] = rs.deployment
	if known && old == rs.deployment || !known && rs.usual {
		return
	}
	var wrong []*Pod
	for _, p := range s.t.byOwner.span(
		func(p *Pod) bool { return p.Namespace >= rs.name.Namespace },
		func(p *Pod) bool { return p.Namespace > rs.name.Namespace },
	) {
		if p.OwnerName == rs.name.Name && p.OwnerKind == "ReplicaSet" && p.Deployment != rs.deployment {
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

func (rs *replicaSet) drop(s *state, _ time.Time) { delete(s.sets, rs.name) }

func (e *clusterEvent) id() Key { return Key{Name: e.uid} }

func (e *clusterEvent) put(s *state, seen time.Time, _ bool) {
	why := e.message
	if e.count > 1 {
		why = fmt.Sprintf("%s (%d times)", why, e.count)
	}
	s.transit(Transition{Subject: e.subject, Kind: ChangeEvent, To: e.reason, Why: why, SourceTime: e.at, Seen: seen})
}

// drop has nothing to do: that an event was forgotten is no news.
func (e *clusterEvent) drop(*state, time.Time) {}
