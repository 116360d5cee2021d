package forecast

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/place"
)

func TestZoneRule(t *testing.T) {
	for _, tc := range []struct {
		cp, workers, off int
		partial, full    bool
	}{
		{0, 4, 2, false, false}, {0, 4, 3, true, false}, {0, 4, 4, false, true},
		{1, 4, 2, false, false}, {1, 4, 3, true, false}, {0, 6, 3, false, false}, {1, 2, 1, false, false}, {1, 2, 2, false, false},
	} {
		var c cluster.Contents
		down := map[string]bool{}
		for i := range tc.cp {
			c.Nodes = append(c.Nodes, node(fmt.Sprintf("cp%d", i), func(n *cluster.Node) { n.ControlPlane = true }))
		}
		for i := range tc.workers {
			c.Nodes = append(c.Nodes, node(fmt.Sprintf("w%d", i)))
			down[fmt.Sprintf("w%d", i)] = i < tc.off
		}
		if got := zones(cluster.NewSnapshot(c), down); len(got) != 1 || got[0].partial != tc.partial || allFull(got) != tc.full {
			t.Errorf("%d control plane + %d workers, %d off: %+v, want %+v", tc.cp, tc.workers, tc.off, got, tc)
		}
	}
	c := cluster.Contents{}
	for i := range 6 {
		c.Nodes = append(c.Nodes, node(fmt.Sprintf("w%d", i), func(n *cluster.Node) { n.ExcludeDisruption = i >= 4 }))
	}
	got := zones(cluster.NewSnapshot(c), map[string]bool{"w0": true, "w1": true, "w2": true})
	if len(got) != 1 || got[0].Nodes != 4 || !got[0].partial {
		t.Errorf("excluded nodes are counted: %+v", got)
	}
}

// texts gives lines as they are read, those to think about with a "! " in front.
func texts(lines []Line) (out []string) {
	for _, l := range lines {
		if l.Warn {
			l.Text = "! " + l.Text
		}
		out = append(out, l.Text)
	}
	return out
}

// lines are the sum and the impact.
func lines(f *Forecast) []Line { return append([]Line{f.Sum(f.Hits())}, f.Hits().Lines()...) }

func TestWhatTheLossOfTwoOfFourNodesHits(t *testing.T) {
	c := mdx(nil)
	c.Pods = append(c.Pods,
		&cluster.Pod{Key: key("db", "pg-0"), Node: "kube-node3", Phase: "Running", OwnerKind: "StatefulSet", OwnerName: "pg", Ready: true, LocalData: true},
		&cluster.Pod{Key: key("kube-system", "proxy"), Node: "kube-node3", Phase: "Running", OwnerKind: "DaemonSet", OwnerName: "proxy", UnreachableFor: -1})
	f := Outage(cluster.NewSnapshot(c), []string{"kube-node4", "kube-node3", "kube-node9", "kube-node9"}, nil, t0)
	h := f.Hits()
	if len(f.Nodes) != 2 {
		t.Errorf("%+v", f.Nodes)
	}
	want := Impact{Key: key("default", "llm"), Wanted: 16, AvailableBefore: 16, AvailableAfter: 8,
		CapacityBefore: 16, CapacityAfter: 8, Minimum: 16, BelowMinimum: true, Knative: c.Deployments[0].Knative}
	if len(h.Deployments) != 1 || h.Deployments[0] != want {
		t.Errorf("deployments %+v\nwant %+v", h.Deployments, want)
	}
	d := Drain(cluster.NewSnapshot(c), []string{"kube-node3"}, nil, t0)
	drained, held, unread := d.Hits(), h, h
	o := *h.Place
	o.Budgets, o.Blockings = []place.Budget{{Key: key("db", "pg"), Healthy: place.Range{Low: 1, High: 1}, Required: 2}}, []place.Blocking{
		{Key: key("db", "pg"), Pods: []cluster.Key{key("db", "pg-0")}}, {Key: key("db", "slow"), Pods: []cluster.Key{key("db", "slow-0")}, Evicted: 1},
		{Key: key("db", "solo"), Pods: []cluster.Key{key("db", "solo-0")}, Required: 1, Expected: 1}}
	held.Place = &o
	unread.BlockingsUnknown = "the account may not list disruption budgets"
	for what, lines := range map[string]struct {
		got  []Line
		want []string
	}{
		"sum": {[]Line{f.Sum(h)}, []string{"! 8 pods get no node · lasting: pg 0/1, llm 8/16 · 10 pods stop · 2 Ready workers left"}},
		"hits": {h.Lines(), []string{
			"! default/llm: 16 → 8 available, capacity 16 → 8, below minScale 16 (Knative)"}},
		"follows": {f.FollowLines(h), []string{"NotReady 50s–1m00s after the last heartbeat (grace period 50s, assumed)",
			"their pods are evicted 0s to 5m00s later (from each pod's own toleration)",
			"! default/llm: 8 pods Pending: 0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s)."}},
		"won't": {f.WontLines(h), []string{"! db/pg-0 will hang in Terminating and not be replaced until its node returns (StatefulSet)",
			"1 DaemonSet or static pod stays where it is and is not replaced",
			"PodDisruptionBudgets protect pods from a drain, not from a machine that goes off"}},
		"held": {append([]Line{f.Sum(held)}, held.BudgetLines()...), []string{
			"! 8 pods get no node · lasting: pg 0/1, llm 8/16 · 10 pods stop · 2 Ready workers left",
			"! budget db/pg requires 2 healthy pods, 1 is left", "! budget db/pg blocks the drain now: it holds db/pg-0",
			"! budget db/slow will block the drain: it allows 1 of 2 evictions, and their replacements find no node",
			"! budget db/solo blocks the drain always, as it requires 1 of 1 pod: it holds db/solo-0"}},
		"rolls": {Hits{Deployments: []Impact{{Key: key("shop", "web"), AvailableBefore: 6, AvailableAfter: 3, CapacityBefore: 6, CapacityAfter: 6, Minimum: 5, BelowMinimum: true}}}.Lines(), []string{
			"! shop/web: 6 → 3 available, below the 5 that its rolling update keeps"}},
		"unread": {unread.BudgetLines(), []string{"! whether a disruption budget blocks the drain is unknown: the account may not list disruption budgets"}},
		"drain":  {drained.BudgetLines(), []string{"! draining deletes the emptyDir data of 1 pod: db/pg-0"}},
	} {
		if got := texts(lines.got); !slices.Equal(got, lines.want) {
			t.Errorf("%s: %q\nwant %q", what, got, lines.want)
		}
	}
}

// A drain has a forecast of its own: the pods that it evicts end, so that of a StatefulSet needs a node at once, whatever
// it tolerates; nobody hangs, nothing is marked NotReady, and a pod without a controller stays.
func TestADrainMovesPodsWhoseNodeStaysOn(t *testing.T) {
	c := mdx(nil)
	c.Pods = append(c.Pods,
		&cluster.Pod{Key: key("db", "pg-0"), Node: "kube-node3", Phase: "Running", OwnerKind: "StatefulSet", OwnerName: "pg", Ready: true, CPUMilli: 1000, UnreachableFor: -1},
		&cluster.Pod{Key: key("db", "bare"), Node: "kube-node3", Phase: "Running"},
		&cluster.Pod{Key: key("kube-system", "proxy"), Node: "kube-node3", Phase: "Running", OwnerKind: "DaemonSet", OwnerName: "proxy", UnreachableFor: -1})
	f := Drain(cluster.NewSnapshot(c), []string{"kube-node3"}, nil, t0)
	got := texts(slices.Concat(lines(f), f.FollowLines(f.Hits()), f.WontLines(f.Hits())))
	want := []string{"! 5 pods get no node · lasting: pg 0/1, llm 12/16 · 5 pods are evicted · 3 Ready workers left",
		"! db/pg: 1 pod, default/llm: 4 pods Pending: 0/5 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 3 Insufficient cpu.",
		"! db/bare is not evicted: no controller owns it"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if got, want := f.Sum(f.Hits().Off()).Text, "5 pods get no node · lasting: pg 0/1, bare 0/1, llm 12/16 · 5 pods are evicted · 3 Ready workers left"; got != want {
		t.Errorf("then off: %q\nwant %q", got, want)
	}
	f = Drain(cluster.NewSnapshot(mdx(func(name string, n *cluster.Node) {
		if name == "kube-node3" {
			lostFor(400 * time.Second)(n)
		}
	})), []string{"kube-node3"}, nil, t0)
	if got := texts(f.WontLines(f.Hits())); len(got) != 1 || !strings.HasPrefix(got[0], "! kube-node3 is silent: its pods stay Terminating until it returns") {
		t.Errorf("of a node that is down: %q", got)
	}
}

// What lacked before is not what the outage takes: no warning, below what it takes. Of two deployments of one
// name, the sum tells the namespace.
func TestWhatLackedBeforeIsNotTheOutages(t *testing.T) {
	c := mdx(nil)
	c.Deployments = append(c.Deployments, &cluster.Deployment{Key: key("aaa", "llm"), Replicas: 3})
	c.Pods = append(c.Pods, &cluster.Pod{Key: key("aaa", "llm-1"), Node: "kube-node4", Phase: "Pending", OwnerKind: "ReplicaSet", OwnerName: "llm-a", Deployment: "llm"})
	got := texts(lines(Outage(cluster.NewSnapshot(c), []string{"kube-node4"}, nil, t0)))
	want := []string{"! 4 pods get no node · lasting: default/llm 12/16 · 5 pods stop · 3 Ready workers left",
		"! default/llm: 16 → 12 available, capacity 16 → 12, below minScale 16 (Knative)", "aaa/llm: stays at 0 of 3 available"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// The warning before a drain counts the pods that the drain evicts, and not those that it
// leaves on the node or that somebody deletes anyway.
func TestADrainDeletesTheDataOnlyOfPodsThatItEvicts(t *testing.T) {
	c := mdx(nil)
	for _, p := range []cluster.Pod{
		{Key: key("db", "pg-0"), OwnerKind: "StatefulSet"},
		{Key: key("db", "bare")},
		{Key: key("db", "agent"), OwnerKind: "DaemonSet"},
		{Key: key("db", "static"), OwnerKind: "Node", Static: true},
		{Key: key("db", "deleted"), OwnerKind: "ReplicaSet", Deleting: t0},
	} {
		p.Node, p.Phase, p.LocalData = "kube-node3", "Running", true
		c.Pods = append(c.Pods, &p)
	}
	got := texts(Drain(cluster.NewSnapshot(c), []string{"kube-node3"}, nil, t0).Hits().BudgetLines())
	if want := []string{"! draining deletes the emptyDir data of 1 pod: db/pg-0"}; !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// An operator who is about to switch a node off sees that the Knative service is not Ready
// even now, and why, and which part of its requests the deployment gets.
// Without the right to list pods their number is unknown, not 0. The pods of namespaces that
// lightsout does not watch count as such.
func TestPodsThatLightsoutCannotSeeAreNotNone(t *testing.T) {
	lines := func(change func(c *cluster.Contents)) string {
		c := mdx(nil)
		change(&c)
		return strings.Join(texts(lines(Outage(cluster.NewSnapshot(c), []string{"kube-node3"}, nil, t0))), "\n")
	}
	forbid := func(k cluster.Kind) func(c *cluster.Contents) {
		return func(c *cluster.Contents) {
			c.Access = map[cluster.Kind]cluster.Access{cluster.KindPod: {Synced: true}, cluster.KindDeployment: {Synced: true}}
			c.Access[k] = cluster.Access{Forbidden: true}
		}
	}
	for want, change := range map[string]func(c *cluster.Contents){
		"! impact unknown: the account may not list pods":        forbid(cluster.KindPod),
		"! impact unknown: the account may not list deployments": forbid(cluster.KindDeployment),
		"! pods of namespaces that lightsout does not watch stop too; their number is unknown: the account may not list pods of other namespaces": forbid(cluster.KindNeighbour),
		"! 2 pods of namespaces that lightsout does not watch stop too": func(c *cluster.Contents) {
			for i, n := range []string{"kube-node3", "kube-node3", "kube-node4"} {
				k := key("other", fmt.Sprint("p", i))
				c.Objects = append(c.Objects, &cluster.Object{Kind: cluster.KindNeighbour, Key: k, Value: &cluster.Pod{Key: k, Node: n}})
			}
		},
	} {
		if got := lines(change); !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestTheForecastNamesTheStateOfTheKnativeService(t *testing.T) {
	const rest = "default/llm: 16 → 12 available, capacity 16 → 12, below minScale 16 (Knative)"
	ready := cluster.Readiness{Ready: cluster.TriTrue}
	for want, k := range map[string]cluster.Knative{
		rest: {ServiceReady: ready, RevisionReady: ready, Traffic: []cluster.Split{{Revision: "llm-00001", Percent: 100}}},
		rest + ", gets 20% of the requests to llm": {ServiceReady: ready, RevisionReady: ready,
			Traffic: []cluster.Split{{Revision: "llm-00001", Percent: 20}, {Revision: "llm-00002", Percent: 80}}},
		rest + ", its Knative service is not Ready now (RevisionFailed: no room)": {
			ServiceReady: cluster.Readiness{Ready: cluster.TriFalse, Reason: "RevisionFailed", Message: "no room"}},
		rest + ", its revision is not Ready now (Deploying)": {ServiceReady: ready,
			RevisionReady: cluster.Readiness{Ready: cluster.TriUnknown, Reason: "Deploying"}},
	} {
		c := mdx(nil)
		k.Service, k.Revision, k.MinScale, k.ContainerConcurrency = "llm", "llm-00001", 16, 1
		c.Deployments[0].Knative = &k
		h := Outage(cluster.NewSnapshot(c), []string{"kube-node4"}, nil, t0).Hits()
		if got := texts(h.Lines()); len(got) != 1 || got[0] != "! "+want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}

func TestRoomAndTheZoneRuleAreSeen(t *testing.T) {
	c := mdx(nil)
	for _, p := range c.Pods {
		p.CPUMilli = 20000 // four leave room for two more
	}
	s := cluster.NewSnapshot(c)
	f := Outage(s, []string{"kube-node4"}, nil, t0)
	if got := f.Sum(f.Hits()).Text; got != "until replaced: llm 12/16 · 4 pods stop · 3 Ready workers left" {
		t.Errorf("%q", got)
	}
	if got := texts(f.FollowLines(f.Hits())); !slices.Contains(got, "its pods are evicted 5m00s later (from each pod's own toleration)") ||
		!slices.Contains(got, "all 4 replacements fit on the nodes left") {
		t.Errorf("one node: %q", got)
	}
	f = Outage(s, []string{"kube-node2", "kube-node3", "kube-node4", "kube-cp1"}, nil, t0)
	h := f.Hits()
	if got := f.Sum(h).Text; got != "lasting: llm 4/16 · 12 pods stop · 1 Ready worker left" {
		t.Errorf("%q", got)
	}
	if got := texts(f.FollowLines(h)); len(got) != 2 || got[1] != "nothing to replace" {
		t.Errorf("nothing is evicted: %q", got)
	}
	if got := texts(f.WontLines(h)); !slices.Equal(got, []string{
		"! zone rule: 4 of 5 nodes not ready (at least 55 % and more than 2): only pods of nodes that are tainted already are evicted, the others will NOT move"}) {
		t.Errorf("%q", got)
	}
}

// A dialog names some workloads, and one more rather than "1 more"; printed lines have all.
func TestTheSumNamesSomeWorkloadsOrAll(t *testing.T) {
	for sets, want := range map[string][2]string{
		"abc":   {"lasting: a 0/1, b 0/1, c 0/1, llm 12/16 · ", "lasting: a 0/1, b 0/1, c 0/1, llm 12/16 · "},
		"abcde": {"lasting: a 0/1, b 0/1, c 0/1, 3 more · ", "lasting: a 0/1, b 0/1, c 0/1, d 0/1, e 0/1, llm 12/16 · "},
	} {
		c := mdx(nil)
		for _, name := range strings.Split(sets, "") {
			c.Pods = append(c.Pods, &cluster.Pod{Key: key("db", name+"-0"), Node: "kube-node3", Phase: "Running", OwnerKind: "StatefulSet", OwnerName: name, Ready: true})
		}
		f := Outage(cluster.NewSnapshot(c), []string{"kube-node3"}, nil, t0)
		if l := f.Sum(f.Hits()); !strings.Contains(l.Short, want[0]) || !strings.Contains(l.Text, want[1]) {
			t.Errorf("%q, %q in %+v", want[0], want[1], l)
		}
	}
}

func TestWontHappenNamesWhatIsHopedForInVain(t *testing.T) {
	c := mdx(nil)
	for _, p := range c.Pods {
		p.CPUMilli = 20000 // so that some fit elsewhere
	}
	on := func(name, owner string, change func(*cluster.Pod)) {
		p := &cluster.Pod{Key: key("db", name), Node: "kube-node4", Phase: "Running", OwnerKind: owner, UnreachableFor: 300 * time.Second}
		if change != nil {
			change(p)
		}
		c.Pods = append(c.Pods, p)
	}
	on("pg-0", "StatefulSet", nil)
	on("lonely", "", nil)
	on("patient", "ReplicaSet", func(p *cluster.Pod) { p.UnreachableFor = -1 })
	on("agent", "DaemonSet", func(p *cluster.Pod) { p.UnreachableFor = -1 })
	s := cluster.NewSnapshot(c)
	wont := func(nodes ...string) string {
		f := Outage(s, nodes, nil, t0)
		return strings.Join(texts(f.WontLines(f.Hits())), "\n")
	}
	got := wont("kube-node4")
	for _, want := range []string{
		"db/pg-0 will hang in Terminating", "db/lonely will be deleted and not be replaced",
		"db/patient will not be evicted", "1 DaemonSet or static pod stays", "PodDisruptionBudgets protect pods from a drain",
		"4 pods that move stay where they are",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	got = wont("kube-node2", "kube-node3", "kube-node4")
	if !strings.Contains(got, "zone rule") || strings.Contains(got, "hang in Terminating") || strings.Contains(got, "move back") {
		t.Errorf("with the zone rule in force nothing is evicted:\n%s", got)
	}
	if got := wont(); got != "" {
		t.Errorf("nothing is selected: %q", got)
	}
}

func FuzzForecast(f *testing.F) {
	f.Add(uint8(1), int64(23), "a", int64(40))
	f.Add(uint8(3), int64(-5), "\x1b[0m", int64(-1))
	f.Fuzz(func(t *testing.T, ready uint8, silence int64, name string, lease int64) {
		n := node("a", func(n *cluster.Node) {
			n.Ready, n.RenewSeen, n.LeaseDuration = cluster.Tri(ready%4), t0.Add(-time.Duration(silence)), time.Duration(lease)
		})
		p := &cluster.Pod{Key: key("d", "p"), Node: "a", Phase: "Running"}
		s := cluster.NewSnapshot(cluster.Contents{At: t0, Nodes: []*cluster.Node{n}, Pods: []*cluster.Pod{p}})
		new(Next).Lines(s, nil, t0)
		o := Outage(s, []string{"a", "a", name}, nil, t0)
		h := o.Hits()
		if h.Pods != 1 || len(o.FollowLines(h)) == 0 || o.Sum(h).Text == "" {
			t.Errorf("%+v", h)
		}
	})
}

// A node is down, whatever the API server calls it: its machine is off, or it is silent.
func TestNodesThatAreDownAlreadyTakeNoPods(t *testing.T) {
	roomy := func(change func(name string, n *cluster.Node)) *cluster.Snapshot {
		c := mdx(change)
		for _, p := range c.Pods {
			p.CPUMilli = 20_000 // each node has room for 2 more
		}
		return cluster.NewSnapshot(c)
	}
	silent := roomy(func(name string, n *cluster.Node) {
		if name == "kube-node4" {
			silentFor(35 * time.Second)(n)
			n.Overdue = true
		}
	})
	for name, tt := range map[string]struct {
		s         *cluster.Snapshot
		off       []string
		left      int
		homeless  int
		room      string
		available string
	}{
		"all on":            {roomy(nil), nil, 3, 0, "all 4 replacements fit on the nodes left", "16 → 12 available"},
		"its own":           {roomy(nil), []string{"kube-node3", "kube-node9"}, 3, 0, "all 4 replacements fit on the nodes left", "16 → 12 available"},
		"a machine off":     {roomy(nil), []string{"kube-node4"}, 2, 4, "default/llm: 4 pods Pending: ", "12 → 8 available"},
		"a silent node":     {silent, nil, 2, 4, "default/llm: 4 pods Pending: ", "12 → 8 available"},
		"silent and so off": {silent, []string{"kube-node4", "kube-node4"}, 2, 4, "default/llm: 4 pods Pending: ", "12 → 8 available"},
	} {
		f := Outage(tt.s, []string{"kube-node3"}, tt.off, t0)
		h := f.Hits()
		text := strings.Join(append(texts(h.Lines()), texts(f.FollowLines(h))...), "\n")
		if h.Pods != 4 || h.ReadyWorkersLeft != tt.left || h.Place.Homeless().High != tt.homeless || !strings.Contains(text, tt.room) || !strings.Contains(text, tt.available) {
			t.Errorf("%s: %d pods stop, %d workers left, %v without a node:\n%s", name, h.Pods, h.ReadyWorkersLeft, h.Place.Homeless(), text)
		}
		if h.Place.Moved != 4 {
			t.Errorf("%s: %d pods move", name, h.Place.Moved)
		}
	}
}
