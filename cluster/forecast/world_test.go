package forecast

import (
	"fmt"
	"time"

	"lightsout/cluster"
)

var t0 = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func node(name string, change ...func(*cluster.Node)) *cluster.Node {
	n := &cluster.Node{
		Name: name, UID: name, Ready: cluster.TriTrue, RenewSeen: t0.Add(-5 * time.Second), Renewed: t0.Add(-5 * time.Second),
		LeaseDuration: 40 * time.Second, CPUMilli: 128000, MaxPods: 110,
	}
	for _, f := range change {
		f(n)
	}
	return n
}

func key(namespace, name string) cluster.Key { return cluster.Key{Namespace: namespace, Name: name} }

func silentFor(d time.Duration) func(*cluster.Node) {
	return func(n *cluster.Node) { n.RenewSeen = t0.Add(-d) }
}

func lostFor(d time.Duration) func(*cluster.Node) {
	return func(n *cluster.Node) {
		n.RenewSeen, n.Ready, n.Reason = t0.Add(-d), cluster.TriUnknown, "NodeStatusUnknown"
	}
}

// mdx is the four-worker cluster: 16 pods of a Knative revision, 4 a node.
func mdx(change func(name string, n *cluster.Node)) cluster.Contents {
	c := cluster.Contents{At: t0, ServerVersion: "v1.36.3", Link: cluster.Link{State: cluster.LinkLive, LastContact: t0}}
	c.Nodes = append(c.Nodes, node("kube-cp1", func(n *cluster.Node) {
		n.ControlPlane, n.Taints = true, []cluster.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: "NoSchedule"}}
	}))
	for i := 1; i <= 4; i++ {
		n := node(fmt.Sprintf("kube-node%d", i))
		if change != nil {
			change(n.Name, n)
		}
		c.Nodes = append(c.Nodes, n)
		for k := range 4 {
			c.Pods = append(c.Pods, &cluster.Pod{
				Key: key("default", fmt.Sprintf("llm-%d%d", i, k)), Node: n.Name, Phase: "Running", Status: "Running",
				Ready: n.Ready == cluster.TriTrue, OwnerKind: "ReplicaSet", OwnerName: "llm-abc", Deployment: "llm",
				Concurrency: 1, CPUMilli: 32000, UnreachableFor: 300 * time.Second, NotReadyFor: 300 * time.Second,
			})
		}
	}
	c.Deployments = []*cluster.Deployment{{
		Key: key("default", "llm"), Replicas: 16, Total: 16, Updated: 16, ReadyReplicas: 16, Available: 16,
		Knative: &cluster.Knative{Revision: "llm-00001", MinScale: 16, MaxScale: 16, ContainerConcurrency: 1},
	}}
	return c
}

func tainted(at time.Time) func(*cluster.Node) {
	return func(n *cluster.Node) {
		n.Taints = []cluster.Taint{{Key: cluster.TaintUnreachable, Effect: "NoSchedule"}, {Key: cluster.TaintUnreachable, Effect: "NoExecute", TimeAdded: at}}
	}
}
