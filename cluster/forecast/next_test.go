package forecast

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
)

func TestNextListsTheSoonestFirst(t *testing.T) {
	s := cluster.NewSnapshot(mdx(func(name string, n *cluster.Node) {
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
		"8 pods get no node until the nodes return",
	}
	if got := new(Next).Lines(s, nil, t0); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := new(Next).Lines(cluster.NewSnapshot(mdx(nil)), nil, t0); len(got) != 0 {
		t.Errorf("a healthy cluster has forecasts: %q", got)
	}
	back := func(name string, n *cluster.Node) { // its kubelet reports that it is Ready before it renews its Lease
		silentFor(98 * time.Second)(n)
		n.ReadySince, n.Overdue = t0.Add(-time.Second), true
	}
	if got := new(Next).Lines(cluster.NewSnapshot(mdx(back)), nil, t0); !slices.Contains(got, "kube-node3 marked NotReady in 49–59 s (last heartbeat 1m38s ago)") {
		t.Errorf("a node that is back: %q", got)
	}
}

// What the operator can act on comes first, in one line for all nodes: the nodes that take no pods, with the pods that stay
// Terminating there. Then come the workloads, the worst first.
func TestNextNamesTheWorstWorkloadFirst(t *testing.T) {
	c := mdx(func(name string, n *cluster.Node) {
		if name >= "kube-node3" {
			lostFor(400 * time.Second)(n)
			tainted(t0.Add(-340 * time.Second))(n)
		}
		n.Unschedulable = name == "kube-node1" || name == "kube-node3" // a node that is off counts as off
	})
	for _, p := range c.Pods {
		if p.Node >= "kube-node3" {
			p.Deleting = t0.Add(-time.Minute)
		}
	}
	c.Deployments[0].Available = 8
	for i, name := range []string{"llm", "llm", "model", "a", "b"} {
		c.Pods = append(c.Pods, &cluster.Pod{Key: key("default", fmt.Sprint("waits", i)), Phase: "Pending", Deployment: name,
			Unplaced: "0/5 nodes are available: 2 node(s) had untolerated taint(s), 3 Insufficient nvidia.com/gpu."})
	}
	c.Pods[len(c.Pods)-2].Unplaced = "0/5 nodes are available: 1 node(s) were unschedulable, 1 node(s) didn't match pod topology spread constraints, 3 Insufficient cpu."
	c.Deployments = append(c.Deployments, &cluster.Deployment{Key: key("default", "model"), Replicas: 3, Total: 3})
	want := []string{
		"kube-node3 is off (o): 4 pods stay Terminating", "kube-node4 is down: 4 pods stay Terminating", "kube-node1 is cordoned (:uncordon)",
		"model 0/3: 1 pod waits for a node: Insufficient nvidia.com/gpu",
		"llm 8/16: 2 pods wait for a node: Insufficient nvidia.com/gpu",
		"a: 1 pod waits for a node: cordoned nodes: 1; pod topology spread constraints; Insufficient cpu",
		"more workloads: 1 pod waits for a node",
	}
	if got := (&Next{GoingOff: []string{"kube-node3"}}).Lines(cluster.NewSnapshot(c), []string{"kube-node3"}, t0); got[0] != "kube-node3 is going off: 4 pods stay Terminating" {
		t.Errorf("%q", got)
	}
	if got := (&Next{PowerOn: " (o)", Uncordon: func(string) string { return " (:uncordon)" }}).Lines(cluster.NewSnapshot(c), []string{"kube-node3"}, t0); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// A second node is lost right after the forecast for the first.
func TestNextCountsTheHomelessPodsOfEachNodeThatIsLost(t *testing.T) {
	after := func(at time.Time, nodes ...string) *cluster.Snapshot {
		c := mdx(func(name string, n *cluster.Node) {
			if slices.Contains(nodes, name) {
				lostFor(100 * time.Second)(n)
				tainted(t0.Add(-48 * time.Second))(n)
			}
		})
		c.At = at
		return cluster.NewSnapshot(c)
	}
	x := new(Next)
	for i, nodes := range [][]string{{"kube-node3"}, {"kube-node3", "kube-node4"}} {
		at := t0.Add(time.Duration(i) * 500 * time.Millisecond)
		want := fmt.Sprintf("%d pods get no node until the nodes return", 4*len(nodes))
		if got := x.Lines(after(at, nodes...), nil, at); !slices.Contains(got, want) {
			t.Errorf("%v are lost: %q", nodes, got)
		}
	}
	x = &Next{On: map[string]bool{"kube-node3": true}, Reboot: " (S)"}
	if got := x.Lines(after(t0, "kube-node3"), nil, t0); !slices.Contains(got, "kube-node3 is on, but NotReady (S)") {
		t.Errorf("its machine is on: %q", got)
	}
}

func TestEvictAtFollowsTheTaintAndThePodsOwnToleration(t *testing.T) {
	c := mdx(func(name string, n *cluster.Node) {
		if name == "kube-node3" {
			lostFor(time.Minute)(n)
			tainted(t0.Add(-10 * time.Second))(n)
		}
	})
	at := func(name string, change func(*cluster.Pod)) (time.Duration, bool) {
		p := *cluster.NewSnapshot(c).Pod(key("default", name))
		change(&p)
		when, ok := EvictAt(cluster.NewSnapshot(c), &p)
		return when.Sub(t0), ok
	}
	if d, ok := at("llm-30", func(*cluster.Pod) {}); !ok || d != 290*time.Second {
		t.Errorf("in %v, %v; want 290 s", d, ok)
	}
	if d, ok := at("llm-30", func(p *cluster.Pod) { p.UnreachableFor = 20 * time.Second }); !ok || d != 10*time.Second {
		t.Errorf("own toleration: in %v, %v; want 10 s", d, ok)
	}
	for name, change := range map[string]func(*cluster.Pod){
		"tolerated for ever":    func(p *cluster.Pod) { p.UnreachableFor = -1 },
		"already being deleted": func(p *cluster.Pod) { p.Deleting = t0 },
		"ended":                 func(p *cluster.Pod) { p.Phase = "Failed" },
		"on a healthy node":     func(p *cluster.Pod) { p.Node = "kube-node1" },
	} {
		if d, ok := at("llm-30", change); ok {
			t.Errorf("%s: evicted in %v, want never", name, d)
		}
	}
}

func TestNextForecastsHowMuchLaterTheOtherNodesFollow(t *testing.T) {
	lost := func(at map[string]time.Duration) cluster.Contents {
		return mdx(func(name string, n *cluster.Node) {
			if since, ok := at[name]; ok {
				lostFor(100 * time.Second)(n)
				if since > 0 {
					tainted(t0.Add(-since))(n)
				}
			}
		})
	}
	for _, tc := range []struct {
		at   map[string]time.Duration
		want []string
	}{
		{map[string]time.Duration{"kube-node3": 48 * time.Second, "kube-node4": 38 * time.Second},
			[]string{"pods of kube-node3 evicted in 4m12s, of kube-node4 10 s later", "8 pods get no node until the nodes return"}},
		{map[string]time.Duration{"kube-node3": 48 * time.Second, "kube-node4": 48*time.Second - 300*time.Millisecond},
			[]string{"pods of kube-node3 and kube-node4 evicted in 4m12s", "8 pods get no node until the nodes return"}},
		{map[string]time.Duration{"kube-node3": 48 * time.Second, "kube-node4": 0},
			[]string{"pods of kube-node3 evicted in 4m12s, the next node 10 s later", "8 pods get no node until the nodes return"}},
	} {
		if got := new(Next).Lines(cluster.NewSnapshot(lost(tc.at)), nil, t0); !slices.Equal(got, tc.want) {
			t.Errorf("got %q\nwant %q", got, tc.want)
		}
	}
	got := new(Next).Lines(cluster.NewSnapshot(lost(map[string]time.Duration{"kube-node2": 0, "kube-node3": 0, "kube-node4": 0})), nil, t0)
	if len(got) != 1 || !strings.Contains(got[0], "3 of 5 nodes not ready") {
		t.Errorf("zone rule: %q", got)
	}
}
