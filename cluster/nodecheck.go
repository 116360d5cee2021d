package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// compareAgain is the pause before lightsout lists the nodes once more: a change takes
// about as long to arrive by the watch.
const compareAgain = 100 * time.Millisecond

// nodesAreCurrent returns nil once the nodes of the Snapshot agree with those that the
// API server has now. A watch can be stuck on a connection that works, in a proxy for
// instance: then nothing else shows that the nodes are old.
func nodesAreCurrent(ctx context.Context, w *Watcher) error {
	differs := ""
	err := wait.PollUntilContextCancel(ctx, compareAgain, true, func(ctx context.Context) (bool, error) {
		listed, err := w.client.Nodes(ctx)
		switch {
		case err != nil && differs == "":
			return false, err
		case err == nil:
			differs = differingNode(w.Snapshot(), listed)
		}
		return differs == "", nil
	})
	if differs != "" {
		return fmt.Errorf("node %s is not as lightsout shows it: the watch of the nodes is stuck", differs)
	}
	return err
}

// differingNode names a node that is missing on one side, or differs in what guards
// judge by; empty if there is none.
func differingNode(s *Snapshot, listed []*Node) string {
	there := make(map[string]bool, len(listed))
	for _, n := range listed {
		there[n.Name] = true
		if shown := s.Node(n.Name); shown == nil || !sameToGuards(shown, n) {
			return n.Name
		}
	}
	for _, n := range s.Nodes() {
		if n.Gone.IsZero() && !there[n.Name] {
			return n.Name
		}
	}
	return ""
}

// sameToGuards reports whether two states of a node are the same in what guards judge
// by. Heartbeats come by another watch.
func sameToGuards(a, b *Node) bool {
	return a.Gone.IsZero() == b.Gone.IsZero() && a.UID == b.UID && a.BootID == b.BootID && a.SystemUUID == b.SystemUUID &&
		a.ProviderID == b.ProviderID && a.MaxPods == b.MaxPods &&
		a.Ready == b.Ready && a.Unschedulable == b.Unschedulable &&
		slices.Equal(a.Roles, b.Roles) && slices.Equal(a.Addresses, b.Addresses) && maps.Equal(a.Annotations, b.Annotations) &&
		slices.EqualFunc(a.Taints, b.Taints, func(x, y Taint) bool { return x.Key == y.Key && x.Effect == y.Effect && x.Value == y.Value })
}
