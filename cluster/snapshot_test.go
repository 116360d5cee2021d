package cluster

import (
	"fmt"
	"testing"
	"time"
)

// mdx is the four-worker cluster: 16 pods of a Knative revision, 4 a node.
func mdx(change func(name string, n *Node)) Contents {
	c := Contents{At: t0, ServerVersion: "v1.36.3", Link: Link{State: LinkLive, LastContact: t0}}
	c.Nodes = append(c.Nodes, node("kube-cp1", func(n *Node) { n.ControlPlane = true }))
	for i := 1; i <= 4; i++ {
		n := node(fmt.Sprintf("kube-node%d", i))
		if change != nil {
			change(n.Name, n)
		}
		c.Nodes = append(c.Nodes, n)
		for k := range 4 {
			c.Pods = append(c.Pods, &Pod{
				Key: Key{"default", fmt.Sprintf("llm-%d%d", i, k)}, Node: n.Name, Phase: "Running", Status: "Running",
				Ready: n.Ready == TriTrue, OwnerKind: "ReplicaSet", OwnerName: "llm-abc", Deployment: "llm",
				Concurrency: 1, CPUMilli: 32000, UnreachableFor: 300 * time.Second, NotReadyFor: 300 * time.Second,
			})
		}
	}
	c.Deployments = []*Deployment{{
		Key: Key{"default", "llm"}, Replicas: 16, Total: 16, Updated: 16, ReadyReplicas: 16, Available: 16,
		Knative: &Knative{Revision: "llm-00001", MinScale: 16, MaxScale: 16, ContainerConcurrency: 1},
	}}
	return c
}

func TestSnapshotIndexes(t *testing.T) {
	s := NewSnapshot(mdx(nil))
	if got := s.PodsOn("kube-node2"); len(got) != 4 || got[0].Name != "llm-20" {
		t.Errorf("PodsOn: %v", got)
	}
	if got := s.PodsOf(Key{"default", "llm"}); len(got) != 16 {
		t.Errorf("PodsOf: %d", len(got))
	}
	if now, target, limited := s.Capacity(Key{"default", "llm"}); now != 16 || target != 16 || !limited {
		t.Errorf("capacity %d of %d", now, target)
	}
	if s.Node("kube-node9") != nil || s.Pod(Key{"default", "zzz"}) != nil || s.Deployment(Key{"a", "b"}) != nil {
		t.Error("what is not there is found")
	}
	if again := NewSnapshot(s.Contents()); len(again.Pods()) != 16 || again.PodWord(again.Pods()[0], t0) != "Running" {
		t.Error("Contents does not make the same snapshot")
	}
}
