package forecast

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"lightsout/cluster"
	"lightsout/cluster/place"
)

// waiting is a cluster of three nodes with room, of which the first is down, and with one
// more pod that has no node.
func waiting(change func(p *cluster.Pod) (unwatched bool)) *cluster.Snapshot {
	c := cluster.Contents{At: t0}
	for _, name := range []string{"a", "b", "c"} {
		c.Nodes = append(c.Nodes, node(name))
	}
	lostFor(110 * time.Second)(c.Nodes[0])
	tainted(t0.Add(-time.Minute))(c.Nodes[0])
	pod := func(name, node string) *cluster.Pod {
		return &cluster.Pod{Key: key("d", name), Node: node, Phase: "Running", Ready: true, OwnerKind: "ReplicaSet", OwnerName: name,
			UnreachableFor: 300 * time.Second, Spec: cluster.NewSpec(&corev1.PodSpec{}, "ReplicaSet")}
	}
	c.Pods = []*cluster.Pod{pod("web", "a")}
	p := pod("other", "")
	p.Phase, p.Ready = "Pending", false
	if change(p) {
		c.Objects = []*cluster.Object{{Kind: cluster.KindNeighbour, Key: p.Key, Value: p}}
	} else {
		c.Pods = append(c.Pods, p)
	}
	return cluster.NewSnapshot(c)
}

// A pod that an outage does not touch, and that has no node, does not count as one for which
// the outage leaves no room: nobody would observe it.
func TestPodsThatWaitedBeforeAreNotOfTheOutage(t *testing.T) {
	for what, tt := range map[string]struct {
		change func(p *cluster.Pod) (unwatched bool)
		n      int
	}{
		"held by a gate": {func(p *cluster.Pod) bool {
			p.Status = "SchedulingGated"
			p.Spec = cluster.NewSpec(&corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/admission"}}}, "ReplicaSet")
			return false
		}, 0},
		"in a namespace that lightsout does not watch": {func(p *cluster.Pod) bool {
			p.Spec = cluster.NewSpec(&corev1.PodSpec{NodeSelector: map[string]string{"no": "node"}}, "ReplicaSet")
			return true
		}, 0},
		"without a node that it selects": {func(p *cluster.Pod) bool {
			p.Spec = cluster.NewSpec(&corev1.PodSpec{NodeSelector: map[string]string{"no": "node"}}, "ReplicaSet")
			return false
		}, 1},
	} {
		s := waiting(tt.change)
		if got := new(Next).Lines(s, nil, t0); strings.Contains(strings.Join(got, "\n"), "no room") || !slices.Contains(got, "pods of a evicted in 4m00s") {
			t.Errorf("%s: %q", what, got)
		}
		f := Outage(s, []string{"a"}, nil, t0)
		if got := f.Hits().Room(); got.Warn || !strings.Contains(got.Text, "on the nodes left") || strings.Contains(got.Text, "wait") && !strings.HasSuffix(got.Text, ", beside 1 pod that waits already") {
			t.Errorf("%s: %+v", what, got)
		}
		if got := f.Unscheduled(); got != (place.Range{Low: tt.n, High: tt.n}) || Unscheduled(s) != tt.n {
			t.Errorf("%s: %v pods without a node forecast, %d observed; want %d", what, got, Unscheduled(s), tt.n)
		}
	}
}
