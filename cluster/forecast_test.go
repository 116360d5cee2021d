package cluster

import (
	"fmt"
	"slices"
	"strings"
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

func tainted(at time.Time) func(*Node) {
	return func(n *Node) {
		n.Taints = []Taint{{Key: taintUnreachable, Effect: "NoSchedule"}, {Key: taintUnreachable, Effect: "NoExecute", TimeAdded: at}}
	}
}

func TestNextTellsTheSoonestFirst(t *testing.T) {
	s := NewSnapshot(mdx(func(name string, n *Node) {
		switch name {
		case "kube-node3":
			silentFor(19 * time.Second)(n)
		case "kube-node4":
			lostFor(100 * time.Second)(n)
			tainted(t0.Add(-48 * time.Second))(n)
		}
	}))
	want := []string{
		"kube-node3 marked NotReady in 31–41 s (last heartbeat 19 s ago)",
		"pods of kube-node4 evicted in 4m12s",
		"replacements will not fit: 4 Pending",
	}
	if got := Next(s, t0); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := Next(NewSnapshot(mdx(nil)), t0); len(got) != 0 {
		t.Errorf("a healthy cluster has forecasts: %q", got)
	}
}

func TestNextSaysWhenTheControlPlaneIsLate(t *testing.T) {
	s := NewSnapshot(mdx(func(name string, n *Node) {
		if name == "kube-node3" {
			silentFor(80 * time.Second)(n)
		}
	}))
	want := "kube-node3 should have been marked NotReady 20 s ago (last heartbeat 1m20s ago)"
	if got := Next(s, t0); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNextTellsOfPodsThatHangOrHaveNowhereToGo(t *testing.T) {
	c := mdx(func(name string, n *Node) {
		if name == "kube-node4" {
			lostFor(400 * time.Second)(n)
			tainted(t0.Add(-310 * time.Second))(n)
		}
	})
	for _, p := range c.Pods {
		if p.Node == "kube-node4" {
			p.Deleting, p.Status = t0.Add(-10*time.Second), "Terminating"
		}
	}
	for i := range 4 {
		c.Pods = append(c.Pods, &Pod{Key: Key{"default", fmt.Sprintf("new-%d", i)}, Phase: "Pending", Status: "Pending", Deployment: "llm"})
	}
	want := []string{"4 pods of kube-node4 stay Terminating until it returns", "4 pods wait for a node with room"}
	if got := Next(NewSnapshot(c), t0); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestEvictAtFollowsTheTaintAndThePodsOwnToleration(t *testing.T) {
	c := mdx(func(name string, n *Node) {
		if name == "kube-node3" {
			lostFor(time.Minute)(n)
			tainted(t0.Add(-10 * time.Second))(n)
		}
	})
	at := func(name string, change func(*Pod)) (time.Duration, bool) {
		p := *NewSnapshot(c).Pod(Key{"default", name})
		change(&p)
		when, ok := NewSnapshot(c).EvictAt(&p)
		return when.Sub(t0), ok
	}
	if d, ok := at("llm-30", func(*Pod) {}); !ok || d != 290*time.Second {
		t.Errorf("in %v, %v; want 290 s", d, ok)
	}
	if d, ok := at("llm-30", func(p *Pod) { p.UnreachableFor = 20 * time.Second }); !ok || d != 10*time.Second {
		t.Errorf("own toleration: in %v, %v; want 10 s", d, ok)
	}
	for name, change := range map[string]func(*Pod){
		"tolerated for ever":    func(p *Pod) { p.UnreachableFor = -1 },
		"already being deleted": func(p *Pod) { p.Deleting = t0 },
		"ended":                 func(p *Pod) { p.Phase = "Failed" },
		"on a healthy node":     func(p *Pod) { p.Node = "kube-node1" },
	} {
		if d, ok := at("llm-30", change); ok {
			t.Errorf("%s: evicted in %v, want never", name, d)
		}
	}
}

func TestZoneRule(t *testing.T) {
	for _, tc := range []struct {
		cp, workers, off int
		want             Disruption
	}{
		{0, 4, 2, ZoneNormal}, {0, 4, 3, ZonePartial}, {0, 4, 4, ZoneFull},
		{1, 4, 2, ZoneNormal}, {1, 4, 3, ZonePartial}, {0, 6, 3, ZoneNormal}, {1, 2, 1, ZoneNormal}, {1, 2, 2, ZoneNormal},
	} {
		var c Contents
		down := map[string]bool{}
		for i := range tc.cp {
			c.Nodes = append(c.Nodes, node(fmt.Sprintf("cp%d", i), func(n *Node) { n.ControlPlane = true }))
		}
		for i := range tc.workers {
			c.Nodes = append(c.Nodes, node(fmt.Sprintf("w%d", i)))
			down[fmt.Sprintf("w%d", i)] = i < tc.off
		}
		if got := NewSnapshot(c).Zones(down); len(got) != 1 || got[0].State != tc.want {
			t.Errorf("%d control plane + %d workers, %d off: %+v, want %s", tc.cp, tc.workers, tc.off, got, tc.want)
		}
	}
	c := Contents{}
	for i := range 6 {
		c.Nodes = append(c.Nodes, node(fmt.Sprintf("w%d", i), func(n *Node) { n.ExcludeDisruption = i >= 4 }))
	}
	got := NewSnapshot(c).Zones(map[string]bool{"w0": true, "w1": true, "w2": true})
	if len(got) != 1 || got[0].Nodes != 4 || got[0].State != ZonePartial {
		t.Errorf("excluded nodes are counted: %+v", got)
	}
}

func TestBlastOfTwoOfFourNodes(t *testing.T) {
	c := mdx(nil)
	c.Pods = append(c.Pods,
		&Pod{Key: Key{"db", "pg-0"}, Node: "kube-node3", Phase: "Running", OwnerKind: "StatefulSet", OwnerName: "pg", Ready: true},
		&Pod{Key: Key{"kube-system", "proxy"}, Node: "kube-node3", Phase: "Running", OwnerKind: "DaemonSet", OwnerName: "proxy", UnreachableFor: -1})
	r := Blast(NewSnapshot(c), []string{"kube-node4", "kube-node3", "kube-node9"})
	if r.Pods != 10 || !slices.Equal(r.Nodes, []string{"kube-node3", "kube-node4"}) || !slices.Equal(r.Missing, []string{"kube-node9"}) {
		t.Errorf("pods %d on %v, missing %v", r.Pods, r.Nodes, r.Missing)
	}
	want := Impact{Key: Key{"default", "llm"}, Pods: 8, Wanted: 16, AvailableBefore: 16, AvailableAfter: 8,
		CapacityBefore: 16, CapacityAfter: 8, Minimum: 16, BelowMinimum: true}
	if len(r.Deployments) != 1 || r.Deployments[0] != want {
		t.Errorf("deployments %+v\nwant %+v", r.Deployments, want)
	}
	if len(r.StatefulSetPods) != 1 || r.StatefulSetPods[0].Name != "pg-0" {
		t.Errorf("stateful set pods %v", r.StatefulSetPods)
	}
	if r.ReadyWorkersLeft != 2 || r.ZoneRule != "" || len(r.ControlPlane) != 0 {
		t.Errorf("workers left %d, zone rule %q, control plane %v", r.ReadyWorkersLeft, r.ZoneRule, r.ControlPlane)
	}
	if r.Replacements != 8 || r.WillNotFit != 8 || r.Room != "replacements will not fit: 8 Pending" {
		t.Errorf("replacements %d, %d don't fit: %q", r.Replacements, r.WillNotFit, r.Room)
	}
}

func TestBlastSeesRoomAndTheZoneRule(t *testing.T) {
	c := mdx(nil)
	for _, p := range c.Pods {
		p.CPUMilli = 20000 // four leave room for two more
	}
	s := NewSnapshot(c)
	if r := Blast(s, []string{"kube-node4"}); r.WillNotFit != 0 || r.Room != "all 4 replacements fit on the nodes left" {
		t.Errorf("one node: %q", r.Room)
	}
	r := Blast(s, []string{"kube-node2", "kube-node3", "kube-node4", "kube-cp1"})
	if r.WillNotFit != 10 || r.ReadyWorkersLeft != 1 {
		t.Errorf("12 replacements, room for 2: %d don't fit, %d workers left", r.WillNotFit, r.ReadyWorkersLeft)
	}
	if !strings.Contains(r.ZoneRule, "4 of 5 nodes not ready") || !strings.Contains(r.ZoneRule, "NOT move") {
		t.Errorf("zone rule %q", r.ZoneRule)
	}
	if !slices.Equal(r.ControlPlane, []string{"kube-cp1"}) {
		t.Errorf("control plane %v", r.ControlPlane)
	}
}

func TestSettingsComeFromArgumentsElseAreAssumedByVersion(t *testing.T) {
	if s := DefaultSettings("v1.31.4"); s.GracePeriod != (Setting[time.Duration]{40 * time.Second, Assumed}) {
		t.Errorf("1.31: %+v", s.GracePeriod)
	}
	if s := DefaultSettings("v1.32.0-eks-1"); s.GracePeriod.Value != 50*time.Second {
		t.Errorf("1.32: %+v", s.GracePeriod)
	}
	kcm := settingsFromArgs(controllerManager, []string{"kube-controller-manager", "--node-monitor-grace-period=16s", "--node-eviction-rate", "1", "--node-monitor-period=bad"})
	api := settingsFromArgs(apiServer, []string{"--default-unreachable-toleration-seconds=30", "--node-monitor-grace-period=9s"})
	s := kcm.or(api).or(DefaultSettings("v1.36.3"))
	if s.GracePeriod != (Setting[time.Duration]{16 * time.Second, controllerManager}) || s.EvictionRate != (Setting[float64]{1, controllerManager}) {
		t.Errorf("controller manager: %+v %+v", s.GracePeriod, s.EvictionRate)
	}
	if s.UnreachableToleration != (Setting[time.Duration]{30 * time.Second, apiServer}) || s.NotReadyToleration.Source != Assumed {
		t.Errorf("API server: %+v %+v", s.UnreachableToleration, s.NotReadyToleration)
	}
	if s.MonitorPeriod != (Setting[time.Duration]{5 * time.Second, Assumed}) {
		t.Errorf("what does not parse must stay assumed: %+v", s.MonitorPeriod)
	}
}

func TestSnapshotIndexes(t *testing.T) {
	s := NewSnapshot(mdx(nil))
	if got := s.PodsOn("kube-node2"); len(got) != 4 || got[0].Name != "llm-20" {
		t.Errorf("PodsOn: %v", got)
	}
	if got := s.PodsOf(Key{"default", "llm"}); len(got) != 16 {
		t.Errorf("PodsOf: %d", len(got))
	}
	if now, target := s.Capacity(Key{"default", "llm"}); now != 16 || target != 16 {
		t.Errorf("capacity %d of %d", now, target)
	}
	if s.Node("kube-node9") != nil || s.Pod(Key{"default", "zzz"}) != nil || s.Deployment(Key{"a", "b"}) != nil {
		t.Error("what is not there is found")
	}
	if again := NewSnapshot(s.Contents()); len(again.Pods()) != 16 || again.PodWord(again.Pods()[0], t0) != "Running" {
		t.Error("Contents does not make the same snapshot")
	}
}
