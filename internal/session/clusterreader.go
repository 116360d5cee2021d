package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/clock"
	"lightsout/power"
)

// ClusterReader is the cluster as switching sees it: the newest snapshot of the Watcher,
// and the way to the API server. It is safe for use by several goroutines.
type ClusterReader struct {
	Watcher Watcher
	// Self names this program's own machine and the way to the cluster; nil where nothing is switched off.
	Self func(ctx context.Context) power.Self
	Now  func() time.Time
}

// State returns the state of the cluster in the newest snapshot, and its age.
func (w ClusterReader) State(ctx context.Context) (power.ClusterState, error) {
	s := w.snapshot()
	if s == nil {
		return power.ClusterState{}, errors.New("lightsout has not seen the cluster yet")
	}
	now := w.Now()
	v := power.ClusterState{At: now}
	age, known := s.Age(cluster.KindNode, now)
	v.Age = age
	if !known {
		v.Stale = append(v.Stale, notSeen("nodes", s.Access[cluster.KindNode]))
	}
	switch leases, tried := s.Access[cluster.KindLease]; {
	case !tried, leases.Forbidden:
		v.Blind = true
	default:
		age, known := s.Age(cluster.KindLease, now)
		if !known {
			v.Stale = append(v.Stale, notSeen("heartbeats (leases)", leases))
		}
		v.Age = max(v.Age, age)
	}
	switch {
	case s.Unread(cluster.KindPod):
		v.Stale = append(v.Stale, "Which nodes run etcd is unknown: lightsout is "+s.Access[cluster.KindPod].Reading(cluster.KindPod))
	case !s.SettingsRead:
		v.Stale = append(v.Stale, "Which nodes run etcd is unknown: lightsout is reading the control plane's pods")
	}
	for _, n := range s.Nodes() {
		if n.Gone.IsZero() {
			v.Nodes = append(v.Nodes, nodeOf(s, n, now))
		}
	}
	if w.Self != nil {
		v.Self = w.Self(ctx)
	}
	return v, nil
}

// confirmedWithin is how old the answer of the API server may be by which lightsout
// switches a machine off.
const confirmedWithin = 2 * time.Second

// FreshState is State after the API server has answered a request made now. It fails
// when that takes too long, or when nodes or heartbeats are not being watched: after
// SIGSTOP or suspend a Snapshot looks new that is not.
func (w ClusterReader) FreshState(ctx context.Context) (power.ClusterState, error) {
	if w.Watcher == nil {
		return w.State(ctx)
	}
	var err error
	for range 3 {
		var at time.Time
		if at, err = w.confirm(ctx); err == nil {
			return w.current(ctx, at)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return power.ClusterState{}, fmt.Errorf("lightsout could not get the state of the nodes from the API server: %w", err)
}

// confirm returns when the API server's answer came, unless that took too long.
func (w ClusterReader) confirm(ctx context.Context) (at time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, confirmedWithin)
	defer cancel()
	asked := time.Now()
	err = w.Watcher.Confirm(ctx)
	at = time.Now()
	if took := clock.Age(at, asked); err == nil && took > confirmedWithin {
		err = fmt.Errorf("its answer took %s", took.Round(time.Second))
	}
	return at, err
}

// current is State as of at, and fails where a watch that switching off depends on is
// broken.
func (w ClusterReader) current(ctx context.Context, at time.Time) (power.ClusterState, error) {
	s := w.snapshot()
	for kind, what := range map[cluster.Kind]string{cluster.KindNode: "nodes", cluster.KindLease: "heartbeats (leases)"} {
		if age, known := s.Age(kind, w.Now()); known && age > confirmedWithin {
			return power.ClusterState{}, errors.New(notSeen(what, s.Access[kind]))
		}
	}
	v, err := w.State(ctx)
	v.At = at
	return v, err
}

func (w ClusterReader) snapshot() *cluster.Snapshot {
	if w.Watcher == nil {
		return nil
	}
	return w.Watcher.Snapshot()
}

func notSeen(what string, a cluster.Access) string {
	text := fmt.Sprintf("The state of the %s is unknown now", what)
	if a.Err != "" {
		text += ": " + a.Err
	}
	return text
}

// heard returns the time of a node's last heartbeat, by whichever clock shows the
// earlier time: a node just listed may be old.
func heard(n *cluster.Node) time.Time {
	renewed, seen := n.Heartbeat()
	return slices.MinFunc([]time.Time{seen, renewed}, time.Time.Compare)
}

// BootSeen returns the evidence in the boot of a Ready node: the node was running at
// its last heartbeat or, if lightsout cannot see heartbeats, when it became Ready.
func BootSeen(s *cluster.Snapshot, n *cluster.Node) power.Seen {
	asked := cmp.Or(heard(n), n.ReadySince)
	return power.Seen{Node: NodeRef(s, n), RequestedAt: asked, ReadySince: s.Boot(n).Ready, Text: "Ready after a new boot"}
}

func nodeOf(s *cluster.Snapshot, n *cluster.Node, now time.Time) power.Node {
	out := power.Node{
		NodeRef: NodeRef(s, n), ControlPlane: n.ControlPlane, Etcd: runsEtcd(s, n.Name),
		Ready: n.Ready == cluster.TriTrue, Schedulable: n.TakesPods(),
		Notes: power.NotesOn(n.Annotations), Ahead: s.Ahead(), Heard: heard(n),
	}
	// A program that has just started has heard nothing itself, and judges by the age of
	// the heartbeat that it read.
	_, silent := s.Silent(n, now)
	switch late := n.HeartbeatLate(now); {
	case !silent && late && s.Link.State != cluster.LinkLive:
		out.Presence, out.Why = power.Down, "may be down: the API server does not answer"
	case silent, late:
		out.Presence, out.Why = power.Down, "is silent"
	default:
		out.Presence, out.Why = presence(s, n)
	}
	return out
}

// presence is whether a node's heartbeats prove that it runs, and why they do not. It is Runs too if the
// account cannot read Leases.
func presence(s *cluster.Snapshot, n *cluster.Node) (p power.Presence, why string) {
	leases, tried := s.Access[cluster.KindLease]
	switch _, seen := n.Heartbeat(); {
	case !tried || leases.Forbidden:
		return power.Runs, ""
	case seen.IsZero() && !leases.Synced:
		return power.Awaited, "has a heartbeat that lightsout has not read yet"
	case seen.IsZero():
		return power.Unheard, "has no Lease, so it sends no heartbeats"
	case !n.HeartbeatReceived():
		return power.Awaited, "has sent lightsout no heartbeat yet"
	}
	return power.Runs, ""
}

// runsEtcd reports whether one of the node's static pods in the watched namespaces is an
// etcd member. The Watcher reads the members that kubeadm and RKE2 label in kube-system,
// whatever namespaces it watches: their nodes belong to the control plane.
func runsEtcd(s *cluster.Snapshot, node string) bool {
	return slices.ContainsFunc(s.PodsOn(node), func(p *cluster.Pod) bool {
		return p.Static && strings.HasPrefix(p.Name, "etcd-")
	})
}
