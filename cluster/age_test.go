package cluster

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lightsout/internal/testenv"
)

// When a laptop has slept for an hour, its view is an hour old by every clock, until
// the API server answers again.
func TestAViewFromBeforeTheLaptopSleptIsOld(t *testing.T) {
	now := time.Now()
	woke := testenv.Shifted(now.Add(3*time.Second), time.Hour)
	traffic := newTraffic()
	traffic.answered[mainLine].set(now)
	access := map[Kind]Access{KindNode: {Synced: true}, KindPod: {Synced: true, Until: now}}
	byHand := NewSnapshot(Contents{Access: access, Link: Link{State: LinkLive, LastContact: now}, HeartbeatsSince: now.Add(-time.Hour),
		Nodes: []*Node{{Name: "a", Ready: TriTrue, RenewSeen: now, Renewed: now, LeaseDuration: 40 * time.Second}}})
	live := NewSnapshot(Contents{Access: access, Link: Link{State: LinkLive}})
	live.traffic = traffic
	for name, s := range map[string]*Snapshot{"a snapshot": byHand, "a live one": live} {
		for _, kind := range []Kind{KindNode, KindPod} {
			if age, known := s.Age(kind, woke); !known || age < time.Hour {
				t.Errorf("%s: the data about a %s is %v old, known %v", name, kind, age, known)
			}
		}
	}
	if since, silent := byHand.Silent(byHand.Node("a"), woke); !silent || since < time.Hour {
		t.Errorf("a node with an older heartbeat is silent: %v, since %v", silent, since)
	}
	traffic.answered[mainLine].set(woke)
	if age, _ := live.Age(KindNode, woke); age != 0 {
		t.Errorf("after an answer the data is %v old", age)
	}
}

// kubeadm, k3s, RKE2 and RKE1 label their control planes differently. Every other node
// is a worker, whatever its role is called.
func TestOtherDistributionsControlPlanes(t *testing.T) {
	for _, c := range []struct {
		roles        []string
		controlPlane bool
	}{
		{nil, false},
		{[]string{"worker"}, false},
		{[]string{"control-plane"}, true},
		{[]string{"master"}, true},
		{[]string{"etcd"}, true},
		{[]string{"controlplane", "etcd"}, true},
		{[]string{"infra", "control-plane"}, true},
		{[]string{"storage"}, false},
		{[]string{"worker", "gpu"}, false},
	} {
		labels := map[string]string{}
		for _, r := range c.roles {
			labels[rolePrefix+r] = ""
		}
		n := trimNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: labels}})
		if n.ControlPlane != c.controlPlane || !slices.Equal(n.Roles, slices.Sorted(slices.Values(c.roles))) {
			t.Errorf("%v: control plane %v, roles %v", c.roles, n.ControlPlane, n.Roles)
		}
	}
}

func TestTaintsThatKeepPodsOff(t *testing.T) {
	for _, c := range []struct {
		node  Node
		takes bool
	}{
		{Node{MaxPods: 110}, true},
		{Node{}, false}, // allocatable pods: 0
		{Node{MaxPods: 110, Unschedulable: true}, false},
		{Node{MaxPods: 110, Taints: []Taint{{Key: "gpu", Effect: "NoSchedule"}}}, false},
		{Node{MaxPods: 110, Taints: []Taint{{Key: "gpu", Effect: "NoExecute"}}}, false},
		{Node{MaxPods: 110, Taints: []Taint{{Key: "gpu", Effect: "PreferNoSchedule"}}}, true},
		{Node{MaxPods: 110, Taints: []Taint{{Key: "node.kubernetes.io/unreachable", Effect: "NoExecute"}}}, true},
	} {
		if got := c.node.TakesPods(); got != c.takes {
			t.Errorf("%+v takes pods: %v", c.node.Taints, got)
		}
	}
}
