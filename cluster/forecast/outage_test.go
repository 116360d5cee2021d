package forecast

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
)

// inSeconds is an interval relative to t0, in seconds; for tests.
func inSeconds(i Interval) string {
	if i.IsZero() {
		return "none"
	}
	return fmt.Sprintf("%g to %g", i.From.Sub(t0).Seconds(), i.To.Sub(t0).Seconds())
}

func nodeOf(t *testing.T, s *cluster.Snapshot, node string, down ...string) Node {
	t.Helper()
	o, ok := Outage(s, down, nil, t0).Node(node)
	if !ok {
		t.Fatalf("no outlook of %s", node)
	}
	return o
}

func TestForecastOfAPowerCutFollowsTheControlPlanesRules(t *testing.T) {
	s := cluster.NewSnapshot(mdx(nil)) // the last heartbeats were 5 s ago
	for _, name := range []string{"kube-node3", "kube-node4"} {
		o := nodeOf(t, s, name, "kube-node4", "kube-node3", "kube-node9")
		for what, c := range map[string]struct{ got, want string }{
			// grace period 50 s, two passes of 5 s
			"detected":      {inSeconds(o.Detected), "44.5 to 55.5"},
			"endpoints out": {inSeconds(o.EndpointsOut), "44.5 to 57.7"},
			// one pass, and two nodes at 0.1 a second
			"tainted": {inSeconds(o.Tainted), "44.5 to 81.5"},
			"evicted": {inSeconds(o.Evicted), "344.5 to 382.5"},
		} {
			if c.got != c.want {
				t.Errorf("%s %s: %s, want %s", name, what, c.got, c.want)
			}
		}
		if o.Pods != 4 || o.NoDetection != "" || o.NoEviction != "" {
			t.Errorf("%+v", o)
		}
	}
	if o := Outage(s, []string{"kube-node4", "kube-node9"}, nil, t0); len(o.Nodes) != 1 || !o.Assumed {
		t.Errorf("%+v", o)
	}
}

func TestForecastGoesOnFromWhatHasHappened(t *testing.T) {
	found := cluster.NewSnapshot(mdx(func(name string, n *cluster.Node) {
		if name >= "kube-node3" {
			lostFor(55 * time.Second)(n)
			n.ReadySince = t0.Add(-2 * time.Second)
		}
		if name == "kube-node3" {
			tainted(t0.Add(-1 * time.Second))(n)
		}
	}))
	o := nodeOf(t, found, "kube-node3", "kube-node3", "kube-node4")
	if !o.Detected.IsZero() || !o.Tainted.IsZero() || inSeconds(o.Evicted) != "299 to 301" {
		t.Errorf("tainted: %+v", o)
	}
	o = nodeOf(t, found, "kube-node4", "kube-node3", "kube-node4")
	// The first taint was given 1 s ago, the next comes 10 s after it.
	if !o.Detected.IsZero() || inSeconds(o.Tainted) != "8 to 15" || inSeconds(o.Evicted) != "308 to 316" {
		t.Errorf("waiting: tainted %s, evicted %s", inSeconds(o.Tainted), inSeconds(o.Evicted))
	}
	f := Outage(found, []string{"kube-node4"}, nil, t0)
	h := f.Hits()
	said := strings.Join(append(texts(f.FollowLines(h)), texts(h.Lines())...), "\n")
	since := "kube-node4 is NotReady since " + t0.Add(-2*time.Second).Local().Format(time.TimeOnly) + "\npods on a machine that is proven off run nowhere: "
	if !strings.HasPrefix(said, since) || strings.Contains(said, "grace period") || !strings.Contains(said, ": stays at ") {
		t.Errorf("of a node that is lost: %s", said)
	}
}

// The condition of a node need not have a lastTransitionTime.
func TestForecastOfANodeThatIsNotReadySinceAnUnknownTime(t *testing.T) {
	for _, withTaint := range []bool{false, true} {
		s := cluster.NewSnapshot(mdx(func(name string, n *cluster.Node) {
			if name == "kube-node4" {
				lostFor(55 * time.Second)(n)
				if withTaint {
					tainted(t0.Add(-1 * time.Second))(n)
				}
			}
		}))
		for _, p := range s.PodsOn("kube-node4") {
			p.Ready = true // its endpoints are still to go
		}
		o := nodeOf(t, s, "kube-node4", "kube-node4")
		if !o.Detected.IsZero() || !o.EndpointsOut.IsZero() || !o.Tainted.IsZero() || !strings.Contains(o.NoDetection, "does not say since when") {
			t.Errorf("taint %t: %+v", withTaint, o)
		}
		if evicted := inSeconds(o.Evicted); withTaint && evicted != "299 to 301" || !withTaint && (evicted != "none" || o.NoEviction != o.NoDetection) {
			t.Errorf("taint %t: evicted %s, %q", withTaint, evicted, o.NoEviction)
		}
	}
}

func TestForecastTakesThePodsOwnTolerations(t *testing.T) {
	c := mdx(nil)
	for _, p := range c.Pods {
		switch p.Node {
		case "kube-node3":
			p.UnreachableFor = 20 * time.Second
		case "kube-node4":
			p.UnreachableFor = -1
		}
	}
	s := cluster.NewSnapshot(c)
	if o := nodeOf(t, s, "kube-node3", "kube-node3"); inSeconds(o.Evicted) != "64.5 to 92.5" {
		t.Errorf("evicted %s", inSeconds(o.Evicted))
	}
	if o := nodeOf(t, s, "kube-node4", "kube-node4"); !o.Evicted.IsZero() || !strings.Contains(o.NoEviction, "no pod on kube-node4") || o.Tainted.IsZero() {
		t.Errorf("tolerated for ever: %+v", o)
	}
}

func TestForecastKnowsWhenNothingIsEvicted(t *testing.T) {
	s := cluster.NewSnapshot(mdx(nil))
	o := nodeOf(t, s, "kube-node2", "kube-node2", "kube-node3", "kube-node4") // 3 of 5
	if !o.Evicted.IsZero() || !o.Tainted.IsZero() || o.Detected.IsZero() || !strings.Contains(o.NoEviction, "3 of 5 nodes not ready") {
		t.Errorf("zone rule: %+v", o)
	}
	o = nodeOf(t, s, "kube-node2", "kube-node1", "kube-node2", "kube-node3", "kube-node4", "kube-cp1")
	if !o.Evicted.IsZero() || !strings.Contains(o.NoEviction, "no node is ready") {
		t.Errorf("all nodes: %+v", o)
	}
	c := mdx(nil)
	c.Settings.EvictionRate = cluster.Setting[float64]{Value: 0, Source: "kube-controller-manager"}
	if o := nodeOf(t, cluster.NewSnapshot(c), "kube-node4", "kube-node4"); !o.Evicted.IsZero() || !strings.Contains(o.NoEviction, "switched off") {
		t.Errorf("rate 0: %+v", o)
	}
	c = mdx(func(_ string, n *cluster.Node) { n.RenewSeen = time.Time{} })
	if o := nodeOf(t, cluster.NewSnapshot(c), "kube-node4", "kube-node4"); !o.Detected.IsZero() || !o.Evicted.IsZero() || !strings.Contains(o.NoDetection, "heartbeats") {
		t.Errorf("no leases: %+v", o)
	}
}

func TestSettingsListSaysWhereEachValueComesFrom(t *testing.T) {
	c := mdx(nil)
	c.Pods[0].UnreachableFor = 20 * time.Second
	const manager = "kube-controller-manager"
	c.Settings.GracePeriod = cluster.Setting[time.Duration]{Value: 5 * time.Second, Source: manager}
	c.Settings.MonitorPeriod = cluster.Setting[time.Duration]{Value: 500 * time.Millisecond, Source: manager}
	c.Settings.KubeletErr = "forbidden"
	lines := map[string]Setting{}
	for _, l := range Settings(cluster.NewSnapshot(c), key("default", "llm")) {
		lines[l.Name] = l
	}
	for name, want := range map[string]Setting{
		"node-monitor-grace-period":                        {Value: "5s", Source: manager},
		"node-monitor-period":                              {Value: "0.5s", Source: manager},
		"node-eviction-rate":                               {Value: "0.1", Source: cluster.Assumed},
		"nodeLeaseDurationSeconds":                         {Value: "40s", Source: "lease"},
		"shutdownGracePeriod":                              {Value: "0s", Source: cluster.Assumed, Why: "forbidden"},
		"tolerationSeconds of " + cluster.TaintUnreachable: {Value: "20s and 300s", Source: "pod"},
	} {
		want.Name = name
		if lines[name] != want {
			t.Errorf("%+v, want %+v", lines[name], want)
		}
	}
}
