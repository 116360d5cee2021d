package cluster

import (
	"time"

	"lightsout/internal/clock"
	"lightsout/internal/text"
)

// textMax is the most characters kept of a text from the cluster.
const textMax = 1024

// harmless makes a text from the cluster fit for a terminal and a log.
func harmless(s string) string { return text.Clean(s, textMax) }

// shuttingDown is the Ready condition's message while a kubelet's graceful
// shutdown runs (pkg/kubelet/nodestatus/setters.go); the reason is a general one.
const shuttingDown = "node is shutting down"

// Silent reports whether a node's heartbeat is overdue at now, and for how long
// there has been none (0 if that is unknown): the node's Ready
// condition is Unknown, or the renewal of its Lease is late by our own clock.
// What could not have been seen is not concluded: while the API server is away
// or leases are not being watched, no further node turns silent.
func (s *Snapshot) Silent(n *Node, now time.Time) (since time.Duration, silent bool) {
	if !n.Gone.IsZero() {
		return 0, false
	}
	_, heard := n.Heartbeat()
	if heard.IsZero() && n.Ready == TriUnknown {
		heard = n.ReadySince
	}
	if !heard.IsZero() {
		since = max(0, clock.Age(now, heard))
	}
	if n.Ready == TriUnknown || n.Overdue {
		return since, true
	}
	at, ok := overdueAt(n, s.heartbeatsSince)
	if !ok {
		return since, false
	}
	slept := clock.Age(now, heard) - now.Sub(heard)
	return since, seeingUntil(s, now).Add(slept).After(at)
}

// seeingUntil is the latest moment up to now for which a missing heartbeat means
// something.
func seeingUntil(s *Snapshot, now time.Time) time.Time {
	for _, limit := range []time.Time{heartbeatsComplete(s), s.heartbeatsUntil} {
		if !limit.IsZero() && limit.Before(now) {
			now = limit
		}
	}
	return now
}

// NodeWord is a node's status: kubectl's word (Ready, NotReady, Unknown for no
// Ready condition, with ",SchedulingDisabled"), and in brackets what kubectl
// does not tell apart: "NotReady (shutting down)", "NotReady (silent 52s)",
// "Ready (silent 23s)". A node whose object was deleted is "gone".
func (s *Snapshot) NodeWord(n *Node, now time.Time) string {
	since, silent := s.Silent(n, now)
	return nodeWord(n, silent, since)
}

// nodeWord leaves the duration away when since is 0.
func nodeWord(n *Node, silent bool, since time.Duration) string {
	if !n.Gone.IsZero() {
		return "gone"
	}
	var word string
	switch n.Ready {
	case TriTrue:
		word = WordReady
	case TriNone:
		word = WordUnknown
	default:
		word = WordNotReady
	}
	switch {
	case n.Ready == TriFalse && n.Message == shuttingDown:
		word += " (shutting down)"
	case silent && since >= time.Second:
		word += " (silent " + Span(since) + ")"
	case silent:
		word += " (silent)"
	}
	if n.Unschedulable {
		word += ",SchedulingDisabled"
	}
	return word
}

// PodWord is a pod's status: kubectl's word, except that a pod which has not
// ended on a node that is both silent and not Ready is "lost (was Running)"
// (kubectl goes on showing Running until the pod is deleted), as is one whose
// node object is gone. A pod whose object was deleted is "gone".
func (s *Snapshot) PodWord(p *Pod, now time.Time) string {
	switch {
	case !p.Gone.IsZero():
		return "gone"
	case s.PodLost(p, now):
		return "lost (was " + p.Status + ")"
	}
	return p.Status
}

// nodeLost: the node is not Ready and nothing is heard of it.
func nodeLost(s *Snapshot, n *Node, now time.Time) bool {
	if !n.Gone.IsZero() {
		return true
	}
	_, silent := s.Silent(n, now)
	return silent && n.Ready != TriTrue
}

// The NoExecute taints of a lost node.
const (
	TaintNotReady    = "node.kubernetes.io/not-ready"
	TaintUnreachable = "node.kubernetes.io/unreachable"
)

// EvictionTaint is the NoExecute taint that the node lifecycle controller put on;
// false when there is none.
func (n *Node) EvictionTaint() (Taint, bool) {
	for _, t := range n.Taints {
		if t.Effect == "NoExecute" && (t.Key == TaintNotReady || t.Key == TaintUnreachable) && !t.TimeAdded.IsZero() {
			return t, true
		}
	}
	return Taint{}, false
}

// Evictable reports whether the control plane will delete the pod because of a
// NoExecute taint of this key, and how long it waits.
func (p *Pod) Evictable(key string) (time.Duration, bool) {
	wait := p.UnreachableFor
	if key == TaintNotReady {
		wait = p.NotReadyFor
	}
	if wait < 0 || p.Static || p.Node == "" || !p.Deleting.IsZero() || !p.Gone.IsZero() || p.Finished() {
		return 0, false
	}
	return wait, true
}

// deploymentWord is lightsout's own rule: none available is Down, a rollout that has
// not come to its end is Updating, some but not all is Scaling (also while pods of a lost
// node are missing: it is trying to grow back, and serving meanwhile).
func deploymentWord(d *Deployment) string {
	switch {
	case !d.Gone.IsZero():
		return "gone"
	case d.Replicas == 0 && d.Total == 0:
		return "Stopped"
	case d.ProgressFailed:
		return "Failed"
	case d.Replicas > 0 && d.Available == 0:
		return "Down"
	case d.RollingOut, d.Total > d.Updated:
		return "Updating"
	case d.Available == d.Replicas && d.Total == d.Replicas:
		return "Running"
	default:
		return "Scaling"
	}
}

// Span writes a duration as kubectl would write an age; see [text.Span].
func Span(d time.Duration) string { return text.Span(d) }
