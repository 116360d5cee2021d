package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// at is an interval relative to t0, in seconds; for tests.
func inSeconds(i Interval) string {
	if i.IsZero() {
		return "none"
	}
	return fmt.Sprintf("%g to %g", i.From.Sub(t0).Seconds(), i.To.Sub(t0).Seconds())
}

func outlookOf(t *testing.T, s *Snapshot, node string, down ...string) NodeOutlook {
	t.Helper()
	o, ok := Forecast(s, down, t0).Node(node)
	if !ok {
		t.Fatalf("no outlook of %s", node)
	}
	return o
}

func TestForecastOfAPowerCutFollowsTheControlPlanesRules(t *testing.T) {
	s := NewSnapshot(mdx(nil)) // the last heartbeats were 5 s ago
	for _, name := range []string{"kube-node3", "kube-node4"} {
		o := outlookOf(t, s, name, "kube-node4", "kube-node3", "kube-node9")
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
	if o := Forecast(s, []string{"kube-node4", "kube-node9"}, t0); len(o.Nodes) != 1 || !o.Assumed {
		t.Errorf("%+v", o)
	}
}

func TestForecastOfALaterPowerCutAllowsForTheHeartbeatsUntilThen(t *testing.T) {
	o, _ := Forecast(NewSnapshot(mdx(nil)), []string{"kube-node4"}, t0.Add(time.Hour)).Node("kube-node4")
	if got := inSeconds(o.Detected); got != "3639.1 to 3660.5" {
		t.Errorf("detected %s", got)
	}
}

func TestForecastGoesOnFromWhatHasHappened(t *testing.T) {
	found := NewSnapshot(mdx(func(name string, n *Node) {
		if name >= "kube-node3" {
			lostFor(55 * time.Second)(n)
			n.ReadySince = t0.Add(-2 * time.Second)
		}
		if name == "kube-node3" {
			tainted(t0.Add(-1 * time.Second))(n)
		}
	}))
	o := outlookOf(t, found, "kube-node3", "kube-node3", "kube-node4")
	if !o.Detected.IsZero() || !o.Tainted.IsZero() || inSeconds(o.Evicted) != "299 to 301" {
		t.Errorf("tainted: %+v", o)
	}
	o = outlookOf(t, found, "kube-node4", "kube-node3", "kube-node4")
	// The first taint was given 1 s ago, the next comes 10 s after it.
	if !o.Detected.IsZero() || inSeconds(o.Tainted) != "8 to 15" || inSeconds(o.Evicted) != "308 to 316" {
		t.Errorf("waiting: tainted %s, evicted %s", inSeconds(o.Tainted), inSeconds(o.Evicted))
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
	s := NewSnapshot(c)
	if o := outlookOf(t, s, "kube-node3", "kube-node3"); inSeconds(o.Evicted) != "64.5 to 92.5" {
		t.Errorf("evicted %s", inSeconds(o.Evicted))
	}
	if o := outlookOf(t, s, "kube-node4", "kube-node4"); !o.Evicted.IsZero() || !strings.Contains(o.NoEviction, "no pod on kube-node4") || o.Tainted.IsZero() {
		t.Errorf("tolerated for ever: %+v", o)
	}
}

func TestForecastKnowsWhenNothingIsEvicted(t *testing.T) {
	s := NewSnapshot(mdx(nil))
	o := outlookOf(t, s, "kube-node2", "kube-node2", "kube-node3", "kube-node4") // 3 of 5
	if !o.Evicted.IsZero() || !o.Tainted.IsZero() || o.Detected.IsZero() || !strings.Contains(o.NoEviction, "3 of 5 nodes not ready") {
		t.Errorf("zone rule: %+v", o)
	}
	o = outlookOf(t, s, "kube-node2", "kube-node1", "kube-node2", "kube-node3", "kube-node4", "kube-cp1")
	if !o.Evicted.IsZero() || !strings.Contains(o.NoEviction, "no node is ready") {
		t.Errorf("all nodes: %+v", o)
	}
	c := mdx(nil)
	c.Settings.EvictionRate = Setting[float64]{0, controllerManager}
	if o := outlookOf(t, NewSnapshot(c), "kube-node4", "kube-node4"); !o.Evicted.IsZero() || !strings.Contains(o.NoEviction, "switched off") {
		t.Errorf("rate 0: %+v", o)
	}
	c = mdx(func(_ string, n *Node) { n.RenewSeen = time.Time{} })
	if o := outlookOf(t, NewSnapshot(c), "kube-node4", "kube-node4"); !o.Detected.IsZero() || !o.Evicted.IsZero() || !strings.Contains(o.NoDetection, "heartbeats") {
		t.Errorf("no leases: %+v", o)
	}
}

func TestStartTimesAreLearntFromPodsThatNeverRestarted(t *testing.T) {
	c := mdx(nil)
	for i, p := range c.Pods {
		p.Created, p.ReadySince = t0.Add(-time.Hour), t0.Add(-time.Hour+time.Duration(3+i)*time.Second)
		if i == 15 {
			p.Restarts, p.ReadySince = 1, t0
		}
	}
	least, most, n := NewSnapshot(c).StartTimes(Key{"default", "llm"})
	if least != 3*time.Second || most != 17*time.Second || n != 15 {
		t.Errorf("%v to %v of %d", least, most, n)
	}
}

func TestNextTellsHowMuchLaterTheOtherNodesFollow(t *testing.T) {
	lost := func(at map[string]time.Duration) Contents {
		return mdx(func(name string, n *Node) {
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
			[]string{"pods of kube-node3 evicted in 4m12s, of kube-node4 10 s later", "replacements will not fit: 8 Pending"}},
		{map[string]time.Duration{"kube-node3": 48 * time.Second, "kube-node4": 48*time.Second - 300*time.Millisecond},
			[]string{"pods of kube-node3 and kube-node4 evicted in 4m12s", "replacements will not fit: 8 Pending"}},
		{map[string]time.Duration{"kube-node3": 48 * time.Second, "kube-node4": 0},
			[]string{"pods of kube-node3 evicted in 4m12s, the next node 10 s later", "replacements will not fit: 8 Pending"}},
	} {
		if got := Next(NewSnapshot(lost(tc.at)), t0); !slices.Equal(got, tc.want) {
			t.Errorf("got %q\nwant %q", got, tc.want)
		}
	}
	got := Next(NewSnapshot(lost(map[string]time.Duration{"kube-node2": 0, "kube-node3": 0, "kube-node4": 0})), t0)
	if len(got) != 1 || !strings.Contains(got[0], "3 of 5 nodes not ready") {
		t.Errorf("zone rule: %q", got)
	}
}

func TestWontHappenNamesWhatIsHopedForInVain(t *testing.T) {
	c := mdx(nil)
	for _, p := range c.Pods {
		p.CPUMilli = 20000 // so that some fit elsewhere
	}
	on := func(name, owner string, change func(*Pod)) {
		p := &Pod{Key: Key{"db", name}, Node: "kube-node4", Phase: "Running", OwnerKind: owner, UnreachableFor: 300 * time.Second}
		if change != nil {
			change(p)
		}
		c.Pods = append(c.Pods, p)
	}
	on("pg-0", "StatefulSet", nil)
	on("lonely", "", nil)
	on("patient", "ReplicaSet", func(p *Pod) { p.UnreachableFor = -1 })
	on("agent", "DaemonSet", func(p *Pod) { p.UnreachableFor = -1 })
	s := NewSnapshot(c)
	got := strings.Join(WontHappen(s, Blast(s, []string{"kube-node4"})), "\n")
	for _, want := range []string{
		"db/pg-0 will hang in Terminating", "db/lonely will be deleted and not be replaced",
		"db/patient will not be evicted", "1 DaemonSet or static pod stays", "PodDisruptionBudgets will not",
		"4 pods that move will not move back",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	got = strings.Join(WontHappen(s, Blast(s, []string{"kube-node2", "kube-node3", "kube-node4"})), "\n")
	if !strings.Contains(got, "zone rule") || strings.Contains(got, "hang in Terminating") || strings.Contains(got, "move back") {
		t.Errorf("with the zone rule in force nothing is evicted:\n%s", got)
	}
	if got := WontHappen(s, Blast(s, nil)); len(got) != 0 {
		t.Errorf("nothing is selected: %q", got)
	}
}

func TestSettingsListSaysWhereEachValueComesFrom(t *testing.T) {
	c := mdx(nil)
	c.Pods[0].UnreachableFor = 20 * time.Second
	c.Settings = settingsFromArgs(controllerManager, []string{"--node-monitor-grace-period=5s", "--node-monitor-period=500ms"})
	c.Settings.KubeletErr = "forbidden"
	lines := map[string]SettingLine{}
	for _, l := range NewSnapshot(c).SettingsList(Key{"default", "llm"}) {
		lines[l.Name] = l
	}
	for name, want := range map[string]SettingLine{
		"node-monitor-grace-period":                {Value: "5s", Source: controllerManager},
		"node-monitor-period":                      {Value: "500ms", Source: controllerManager},
		"node-eviction-rate":                       {Value: "0.1", Source: Assumed},
		"nodeLeaseDurationSeconds":                 {Value: "40s", Source: "lease"},
		"shutdownGracePeriod":                      {Value: "0s", Source: "assumed (forbidden)"},
		"tolerationSeconds of " + taintUnreachable: {Value: "20s to 300s", Source: "pod"},
	} {
		want.Name = name
		if lines[name] != want {
			t.Errorf("%+v, want %+v", lines[name], want)
		}
	}
}
