package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/power"
)

// world is the cluster as switching sees it: the newest snapshot of the watcher,
// and the way to the API server. It is safe for use by several goroutines.
type world struct {
	watcher Watcher
	self    func(ctx context.Context) power.Self
	now     func() time.Time
}

// NewWorld is the cluster as a watcher sees it. self names this program's own
// machine and the way to the cluster; it may be nil where nothing is switched off.
func NewWorld(w Watcher, self func(ctx context.Context) power.Self, now func() time.Time) power.World {
	return world{w, self, now}
}

// Look tells how the cluster stands by the newest snapshot, and how old that is.
func (w world) Look(ctx context.Context) (power.View, error) {
	s := w.snapshot()
	if s == nil {
		return power.View{}, errors.New("the cluster has not been seen yet")
	}
	var v power.View
	now := w.now()
	age, known := s.Age(cluster.KindNode, now)
	if v.Age = age; !known {
		v.Stale = append(v.Stale, notSeen("nodes", s.Access[cluster.KindNode]))
	}
	switch leases, tried := s.Access[cluster.KindLease]; {
	case !tried, leases.Forbidden:
		v.Blind = true
	default:
		if age, known := s.Age(cluster.KindLease, now); !known || age > power.ViewLimit {
			v.Stale = append(v.Stale, notSeen("heartbeats (leases)", leases))
		}
	}
	for _, n := range s.Nodes() {
		if n.Gone.IsZero() {
			v.Nodes = append(v.Nodes, nodeOf(s, n, now))
		}
	}
	if w.self != nil {
		v.Self = w.self(ctx)
	}
	return v, nil
}

func (w world) snapshot() *cluster.Snapshot {
	if w.watcher == nil {
		return nil
	}
	return w.watcher.Snapshot()
}

func notSeen(what string, a cluster.Access) string {
	text := fmt.Sprintf("It can't be told how the %s stand now", what)
	if a.Err != "" {
		text += ": " + a.Err
	}
	return text
}

func nodeOf(s *cluster.Snapshot, n *cluster.Node, now time.Time) power.Node {
	out := power.Node{
		NodeRef: NodeRef(n), Role: power.RoleWorker, Etcd: runsEtcd(s, n.Name),
		Ready: n.Ready == cluster.TriTrue, Schedulable: !n.Unschedulable,
		Marks: power.MarksOn(n.Annotations),
	}
	// By the earlier of both clocks: one that was just listed may be old.
	if renewed, seen := n.Heartbeat(); renewed.Before(seen) {
		out.Heard = renewed
	} else {
		out.Heard = seen
	}
	if n.ControlPlane {
		out.Role = power.RoleControlPlane
	}
	if _, silent := s.Silent(n, now); silent {
		out.NotLeft = "is silent"
	}
	return out
}

// runsEtcd reports whether one of the node's static pods is an etcd member.
func runsEtcd(s *cluster.Snapshot, node string) bool {
	return slices.ContainsFunc(s.PodsOn(node), func(p *cluster.Pod) bool {
		return p.Static && strings.HasPrefix(p.Name, "etcd-")
	})
}
