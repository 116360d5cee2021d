package survey

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lightsout/cluster"
)

// tiny has equal nodes, named by single letters, with 4 CPUs each.
func tiny(nodes string) *cluster.Contents {
	c := &cluster.Contents{At: t0}
	for _, name := range strings.Split(nodes, "") {
		c.Nodes = append(c.Nodes, &cluster.Node{Name: name, Ready: cluster.TriTrue, CPUMilli: 4000, MemoryBytes: 8 << 30, MaxPods: 110,
			Labels: "kubernetes.io/hostname=" + name, RenewSeen: t0, Renewed: t0, LeaseDuration: 40 * time.Second})
	}
	return c
}

func cpus(n string) *corev1.PodSpec {
	return &corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(n)}}}}}
}

// put adds a pod of an owner to a node and returns it.
func put(c *cluster.Contents, kind, owner, node string, spec *corev1.PodSpec) *cluster.Pod {
	p := &cluster.Pod{Key: cluster.Key{Namespace: "d", Name: fmt.Sprintf("%s-%d", owner, len(c.Pods))}, Node: node, Phase: "Running", Ready: true,
		OwnerKind: kind, OwnerName: owner, Labels: "app=" + owner, UnreachableFor: 300 * time.Second, Spec: cluster.NewSpec(spec, kind)}
	switch kind {
	case "ReplicaSet":
		p.Deployment = owner
	case "":
		p.OwnerName, p.Name = "", owner
	}
	c.Pods = append(c.Pods, p)
	return p
}

// loss returns the loss with this name.
func loss(t *testing.T, r *Report, name string) *Loss {
	t.Helper()
	for i := range r.Losses {
		if r.Losses[i].Name == name {
			return &r.Losses[i]
		}
	}
	t.Fatalf("no loss is named %s", name)
	return nil
}

// A zone takes its nodes of the control plane with it: they run pods in small clusters.
func TestAZoneLosesItsNodesOfTheControlPlane(t *testing.T) {
	c := tiny("abc")
	c.Nodes[0].ControlPlane = true
	for i, zone := range []string{"1", "1", "2"} {
		c.Nodes[i].Zone = "/" + zone
	}
	put(c, "ReplicaSet", "web", "b", cpus("3"))
	put(c, "ReplicaSet", "db", "c", cpus("3"))
	r := make_(t, cluster.NewSnapshot(*c), Options{})
	if got, want := r.Headline(), "survives any single node; can't spare zone 1"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := len(loss(t, r, "1").Nodes); got != 2 {
		t.Errorf("zone 1 has %d nodes", got)
	}
}

// A cluster without zones does not survive the loss of any zone.
func TestARequirementNeedsSomethingToLose(t *testing.T) {
	for nodes, want := range map[string]map[string]string{
		"":   {"n-1": "there are no worker nodes to lose", "n-2": "there are no two worker nodes to lose", "zone": "no node has a zone (label topology.kubernetes.io/zone)"},
		"a":  {"n-1": "", "n-2": "there are no two worker nodes to lose", "zone": "no node has a zone (label topology.kubernetes.io/zone)"},
		"ab": {"n-1": "", "n-2": "", "zone": "no node has a zone (label topology.kubernetes.io/zone)"},
	} {
		c := tiny(nodes + "x")
		c.Nodes[len(c.Nodes)-1].ControlPlane = true
		r := make_(t, cluster.NewSnapshot(*c), Options{Pairs: true})
		for requirement, why := range want {
			if got := r.Unmet(requirement); got != why {
				t.Errorf("workers %q, %s: %q\nwant %q", nodes, requirement, got, why)
			}
		}
	}
}
