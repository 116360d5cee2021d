package phase

import (
	"fmt"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/power"
)

var (
	zero = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	llm  = cluster.Key{Namespace: "default", Name: "llm"}
)

const (
	n3, n4      = "kube-node3", "kube-node4"
	unreachable = "node.kubernetes.io/unreachable"
)

// at is a moment in seconds from zero.
func at(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }

// world is a cluster of four workers with four pods each, and a Tracker that is
// told what happens there.
type world struct {
	*testing.T
	*Tracker
	c   cluster.Contents
	now time.Time
	// last is the newest snapshot that the Tracker has, and looked when it got it.
	last   *cluster.Snapshot
	looked time.Time
	sight  cluster.Sight
}

func newWorld(t *testing.T, cpu int64) *world {
	w := &world{T: t, Tracker: NewTracker(llm), now: at(-1)}
	w.c = cluster.Contents{
		ServerVersion: "v1.36.3", Link: cluster.Link{State: cluster.LinkLive},
		Access:      map[cluster.Kind]cluster.Access{cluster.KindEndpointSlice: {Synced: true}},
		Deployments: []*cluster.Deployment{{Key: llm, Replicas: 16, Total: 16, Updated: 16, ReadyReplicas: 16, Available: 16}},
	}
	for i := 1; i <= 4; i++ {
		name := fmt.Sprintf("kube-node%d", i)
		w.c.Nodes = append(w.c.Nodes, &cluster.Node{
			Name: name, UID: name, Ready: cluster.TriTrue, ReadySince: at(-3600), BootID: "first boot of " + name,
			Renewed: at(-2), RenewSeen: at(-2), LeaseDuration: 40 * time.Second, ReadyEndpoints: 4, CPUMilli: 128000, MaxPods: 110,
		})
		for k := range 4 {
			w.pod(fmt.Sprintf("llm-%d%d", i, k), name, cpu)
		}
	}
	w.look(-1)
	return w
}

func (w *world) pod(name, node string, cpu int64) *cluster.Pod {
	p := &cluster.Pod{
		Key: cluster.Key{Namespace: "default", Name: name}, Node: node, Phase: "Running", Status: "Running",
		Ready: true, Created: at(-3600), ReadySince: at(-3590), OwnerKind: "ReplicaSet", OwnerName: "llm-1", Deployment: "llm",
		CPUMilli: cpu, UnreachableFor: 300 * time.Second, NotReadyFor: 300 * time.Second,
	}
	w.c.Pods = append(w.c.Pods, p)
	return p
}

// snapshot shows the cluster as it is. Nodes that are on have sent a heartbeat.
func (w *world) snapshot() *cluster.Snapshot {
	w.c.At = w.now
	for i, n := range w.c.Nodes {
		if beat := w.now.Add(-2 * time.Second); n.Ready == cluster.TriTrue && !isDown(w.Tracker, n.Name) && beat.After(n.RenewSeen) {
			x := *n
			x.Renewed, x.RenewSeen = beat, beat
			w.c.Nodes[i] = &x
		}
	}
	if w.c.Link.State == cluster.LinkLive {
		w.c.Link.LastContact = w.now
	}
	return cluster.NewSnapshot(w.c)
}

// look makes the time s seconds from zero and shows the cluster as it is. Until then the Tracker
// has observed once a second that nothing changed.
func (w *world) look(s float64) {
	for next := w.looked.Add(time.Second); w.last != nil && next.Before(at(s-1)); next = next.Add(time.Second) {
		c := w.last.Contents()
		if c.At = next; c.Link.State == cluster.LinkLive {
			c.Link.LastContact = next
		}
		w.show(c, next)
	}
	w.now = at(s)
	w.last, w.looked = w.show(w.snapshot().Contents(), w.now), w.now
}

// show has the Tracker observe what the Watcher would publish.
func (w *world) show(c cluster.Contents, now time.Time) *cluster.Snapshot {
	w.sight.Look(cluster.NewSnapshot(c), now)
	c.Blind = w.sight.Spans()
	s := cluster.NewSnapshot(c)
	w.Observe(s, now)
	return s
}

// node changes a node; earlier Snapshots keep the old one.
func (w *world) node(name string, change func(*cluster.Node)) {
	for i, n := range w.c.Nodes {
		if n.Name == name {
			x := *n
			change(&x)
			x.Changed = w.now
			w.c.Nodes[i] = &x
		}
	}
}

func (w *world) podsOn(node string, change func(*cluster.Pod)) {
	for i, p := range w.c.Pods {
		if p.Node == node {
			x := *p
			change(&x)
			x.Changed = w.now
			w.c.Pods[i] = &x
		}
	}
}

func (w *world) available(n int) {
	d := *w.c.Deployments[0]
	d.Available, d.Changed = n, w.now
	w.c.Deployments = []*cluster.Deployment{&d}
}

// off switches nodes off at zero.
func (w *world) off(how power.Action, nodes ...string) {
	w.Zero(zero, w.snapshot())
	for _, n := range nodes {
		w.Switched(n, how, zero)
	}
}

// lose has the control plane find a node not Ready, s seconds after zero.
func (w *world) lose(name string, s float64) {
	w.now = at(s)
	w.node(name, func(n *cluster.Node) {
		n.Ready, n.ReadySince, n.ReadyEndpoints = cluster.TriUnknown, w.now.Truncate(time.Second), 0
	})
	w.podsOn(name, func(p *cluster.Pod) { p.Ready = false })
	w.look(s + 0.2)
}

func (w *world) taint(name string, s float64) {
	w.now = at(s)
	added := w.now.Truncate(time.Second)
	w.node(name, func(n *cluster.Node) {
		n.Taints = []cluster.Taint{{Key: unreachable, Effect: "NoExecute", TimeAdded: added}}
	})
	w.look(s + 0.05)
}

// evict has the pods of a node deleted, s seconds after zero.
func (w *world) evict(name string, s float64) {
	w.now = at(s)
	w.podsOn(name, func(p *cluster.Pod) {
		p.Deleting, p.Evicted, p.Status = w.now.Truncate(time.Second), true, "Terminating"
	})
	w.look(s + 0.1)
}

func (w *world) boot(name string, s float64) {
	w.now = at(s)
	w.node(name, func(n *cluster.Node) {
		n.BootID, n.Ready, n.RenewSeen, n.ReadySince = "second boot", cluster.TriFalse, w.now, w.now.Truncate(time.Second)
	})
	w.look(s + 0.1)
}

func (w *world) ready(name string, s float64) {
	w.now = at(s)
	w.node(name, func(n *cluster.Node) {
		n.Ready, n.ReadySince, n.Taints = cluster.TriTrue, w.now.Truncate(time.Second), nil
	})
	w.look(s + 0.1)
}

// want compares a row, written as "predicted | observed | note".
func (w *world) want(name, subject, want string) {
	w.Helper()
	got := "no row"
	for _, p := range w.Table() {
		if p.Name != name || p.Subject != subject {
			continue
		}
		got = span(p.Predicted) + " | "
		if p.Observed == nil {
			got += "–"
		} else {
			got += fmt.Sprintf("%g", *p.Observed)
		}
		got += " | " + p.Note
		if p.Predicted != nil && p.Observed != nil {
			within := func(s float64) bool { return p.Predicted[0] <= s && s <= p.Predicted[1] }
			unknown := p.HiddenFrom != nil && !within(*p.HiddenFrom) && within(*p.Observed)
			switch {
			case unknown != (p.Inside == nil):
				w.Errorf("%s %s: inside %v of %s, hidden from %v", name, subject, p.Inside, got, p.HiddenFrom)
			case !unknown && *p.Inside != within(*p.Observed):
				w.Errorf("%s %s: inside %v of %s", name, subject, *p.Inside, got)
			}
		}
	}
	if got != want {
		w.Errorf("%s %s:\n got %s\nwant %s", name, subject, got, want)
	}
}

func span(i *[2]float64) string {
	if i == nil {
		return "–"
	}
	return fmt.Sprintf("%g..%g", i[0], i[1])
}

func (w *world) first(name, subject string) string {
	for _, p := range w.Table() {
		if p.Name == name && p.Subject == subject {
			return span(p.First)
		}
	}
	return "no row"
}

// never is why a phase cannot come; empty if it can.
func (w *world) never(name, subject string) string {
	if why, never := w.Why(name, subject); never {
		return why
	}
	return ""
}
