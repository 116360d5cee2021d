package cluster

import (
	"time"

	"lightsout/internal/text"
)

// textMax is the most characters kept of a text from the cluster.
const textMax = 1024

// harmless makes a text from the cluster fit for a terminal and a log.
func harmless(s string) string { return text.Clean(s, textMax) }

// nameOf makes a name harmless. Invisible characters of it become escapes, as "\x1b", so
// that two names never become one.
func nameOf(s string) string { return harmless(text.VisibleLine(s)) }

// shuttingDown is the Ready condition's message while a kubelet's graceful
// shutdown runs (pkg/kubelet/nodestatus/setters.go); the reason is a general one.
const shuttingDown = "node is shutting down"

// NodeStatus is a node's status: kubectl's word, and the facts that kubectl does not show.
type NodeStatus struct {
	Word         string // WordReady, WordNotReady, WordUnknown (no Ready condition), "gone"
	ShuttingDown bool
	Silent       bool
	SilentFor    time.Duration // 0: unknown
	Cordoned     bool
}

// NodeStatus returns a node's status at now.
func (s *Snapshot) NodeStatus(n *Node, now time.Time) NodeStatus {
	since, silent := s.Silent(n, now)
	return statusOf(n, silent, since)
}

// NodeWord is a node's status as one text: see NodeStatus.String.
func (s *Snapshot) NodeWord(n *Node, now time.Time) string { return s.NodeStatus(n, now).String() }

func statusOf(n *Node, silent bool, since time.Duration) NodeStatus {
	if !n.Gone.IsZero() {
		return NodeStatus{Word: "gone"}
	}
	down := n.Ready == TriFalse && n.Message == shuttingDown
	out := NodeStatus{Word: WordNotReady, ShuttingDown: down, Silent: silent && !down, SilentFor: since, Cordoned: n.Unschedulable}
	switch n.Ready {
	case TriTrue:
		out.Word = WordReady
	case TriNone:
		out.Word = WordUnknown
	}
	return out
}

// String puts the facts in brackets: "NotReady (shutting down)", "NotReady (silent 52s)",
// "Ready (silent 23s)", "Ready,SchedulingDisabled".
func (s NodeStatus) String() string {
	word := s.Word
	switch {
	case s.ShuttingDown:
		word += " (shutting down)"
	case s.Silent:
		word += " (" + s.silence() + ")"
	}
	if s.Cordoned {
		word += ",SchedulingDisabled"
	}
	return word
}

// Short keeps the facts that matter: "shutting down", "NotReady 52s", "silent 23s",
// "Ready cordoned".
func (s NodeStatus) Short() string {
	word := s.Word
	switch {
	case s.ShuttingDown:
		word = "shutting down"
	case s.Silent && word == WordNotReady && s.SilentFor >= time.Second:
		word += " " + Span(s.SilentFor)
	case s.Silent && word != WordNotReady:
		word = s.silence()
	}
	if s.Cordoned {
		word += " cordoned"
	}
	return word
}

func (s NodeStatus) silence() string {
	if s.SilentFor < time.Second {
		return "silent"
	}
	return "silent " + Span(s.SilentFor)
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

// The NoExecute taints of a lost node.
const (
	TaintNotReady    = "node.kubernetes.io/not-ready"
	TaintUnreachable = "node.kubernetes.io/unreachable"
)

// Evicts reports whether a taint, as "key:effect", is one of these.
func Evicts(taint string) bool {
	return taint == TaintUnreachable+":NoExecute" || taint == TaintNotReady+":NoExecute"
}

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
// not come to its end is Updating, some but not all available is Partly, and pods too many is Scaling.
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
	case d.Available < d.Replicas:
		return WordPartly
	case d.Total == d.Replicas:
		return "Running"
	}
	return "Scaling"
}

// Span writes a duration as kubectl would write an age; see [text.Span].
func Span(d time.Duration) string { return text.Span(d) }
