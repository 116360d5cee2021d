package survey

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/cluster/place"
	"lightsout/internal/text"
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

// A zone takes its nodes of the control plane with it: without half of them, nobody replaces pods.
func TestAZoneLosesItsNodesOfTheControlPlane(t *testing.T) {
	for planes, tt := range map[string]struct{ off, why, how string }{
		"": {how: "room on other nodes for 1"}, "a": {"", "without 1 of 1 control-plane node etcd has no quorum: nobody replaces pods; ", "2 more control-plane nodes and room on other nodes for 1"}, "ade": {how: "room on other nodes for 1"},
		"adf": {"d", "without 2 of 3 control-plane nodes etcd has no quorum: nobody replaces pods; ", "bring back d and room on other nodes for 1"}, "d": {off: "d", how: "room on other nodes for 1"},
	} {
		c := tiny("abcdef")
		for i, n := range c.Nodes {
			n.ControlPlane = strings.Contains(planes, n.Name)
			n.Zone = []string{"/1", "/1", "/2", "", "", ""}[i]
			if strings.Contains("adef", n.Name) {
				n.MaxPods = 0
			}
		}
		put(c, "ReplicaSet", "web", "b", cpus("3"))
		put(c, "ReplicaSet", "db", "c", cpus("3"))
		r := make_(t, cluster.NewSnapshot(*c), Options{Off: strings.Fields(tt.off)})
		if got := line(t, r, "1"); !strings.HasPrefix(got, "zone 1 (2 nodes) | no | 1 | "+tt.why+"d/web: 0 of 1 left, 1 ") {
			t.Errorf("control plane %q: %s\nwant %s", planes, got, tt.why)
		}
		if got := headline(r); !strings.Contains(got, "Can't spare: ") || !strings.Contains(got, "zone 1: "+tt.how) || r.Unmet("zone") == "" {
			t.Errorf("control plane %q: %s", planes, got)
		}
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

// line returns the cells of a loss without the empty ones.
func line(t *testing.T, r *Report, name string) string {
	t.Helper()
	return strings.Join(slices.DeleteFunc(loss(t, r, name).Cells(), func(s string) bool { return s == "-" || s == "" }), " | ")
}

// A survey names the nodes that it can spare only without some of their pods, in the sentence
// on top as well, and a cell of the map does not claim that all of them find a node.
func TestPodsWithoutACertainReplacementAreNamed(t *testing.T) {
	none := int32(0)
	for what, tt := range map[string]struct {
		kind string
		add  func(c *cluster.Contents)
		row  string
	}{
		"a StatefulSet":       {"StatefulSet", nil, "a | partial | 1 | d/x: 0 of 1 left, 1 waits for its node"},
		"no owner":            {"", nil, "a | partial | 1 | d/x: 0 of 1 left, 1 is not replaced: no controller owns it"},
		"a custom controller": {"StrimziPodSet", nil, "a | partial | 1 | d/x: 0 of 1 left, lightsout cannot tell whether its StrimziPodSet replaces 1 pod"},
		"a Job that fails": {"Job", func(c *cluster.Contents) {
			put(c, "Job", "x", "a", cpus("1"))
			c.Objects = []*cluster.Object{{Kind: cluster.KindJob, Key: cluster.Key{Namespace: "d", Name: "x"}, Value: &batchv1.Job{Spec: batchv1.JobSpec{BackoffLimit: &none}}}}
		}, "a | partial | 2 | d/x: 0 of 2 left, its Job exceeds its backoffLimit: 2 pods end with it"},
		"a pod that is never evicted": {"ReplicaSet", func(c *cluster.Contents) { c.Pods[0].UnreachableFor = -1 }, "a | partial | 1 | d/x: 0 of 1 left, 1 waits for its node"},
	} {
		c := tiny("abc")
		put(c, tt.kind, "x", "a", cpus("1"))
		if tt.add != nil {
			tt.add(c)
		}
		r := make_(t, cluster.NewSnapshot(*c), Options{Pairs: true})
		may := "lack pods"
		if strings.Contains(tt.row, "waits") {
			may = "wait"
		}
		want := fmt.Sprintf("Can spare, one at a time: b and c; a only if d/x may %s; pair b + c; pairs a + b and a + c only if d/x may %[1]s", may)
		if got := headline(r); got != want {
			t.Errorf("%s: %s\nwant %s", what, got, want)
		}
		if got := line(t, r, "a"); got != tt.row {
			t.Errorf("%s: %s\nwant %s", what, got, tt.row)
		}
		var b bytes.Buffer
		if err := r.Write(&b, JSON, 0); err != nil || strings.Count(b.String(), `"spare": "partial"`) != 3 || !strings.Contains(b.String(), `"spare": "yes",
      "kind": "pair",
      "name": "b + c",`) {
			t.Errorf("%s: %v\n%s", what, err, &b)
		}
		if m := r.Map(); m[0][0].Heat() != 1 || m[0][1].Heat() != 1 || m[0][1].Nodes == nil || m[1][2].Heat() != 0 {
			t.Errorf("%s: %+v", what, m)
		}
	}
}

// A pair has a row if it breaks more than its nodes alone, or takes most pods of a workload.
func TestOnlyPairsThatBreakMoreHaveARow(t *testing.T) {
	c := tiny("abcde")
	put(c, "ReplicaSet", "web", "a", cpus("3"))
	put(c, "ReplicaSet", "api", "b", cpus("3"))
	put(c, "StatefulSet", "db", "c", cpus("3"))
	put(c, "StatefulSet", "db", "e", cpus("3"))
	r := make_(t, cluster.NewSnapshot(*c), Options{Pairs: true})
	var rows []string
	for _, l := range r.Rows()[5:] {
		rows = append(rows, l.Name)
	}
	if got, want := strings.Join(rows, ", "), "a + b, a + d, b + d, c + e"; got != want || len(r.Of(Pair)) != 10 {
		t.Errorf("%s\nwant %s", got, want)
	}
	if notes := r.Notes(); !slices.Contains(notes, "6 pairs break no more than their nodes do alone, and have no line.") {
		t.Errorf("%q", notes)
	}
}

// A workload has so many pods left of those that its specification wants, from a file as well; db has a pod that hangs, and two of web wait.
func TestTheSurveyCountsTheWantedPods(t *testing.T) {
	c := tiny("abc")
	c.Nodes[2].Ready = cluster.TriUnknown
	for _, node := range []string{"a", "b", "c"} {
		put(c, "StatefulSet", "db", node, cpus("1"))
	}
	c.Pods[2].Ready, c.Pods[2].Deleting = false, t0
	c.Objects = []*cluster.Object{{Kind: cluster.KindStatefulSet, Key: cluster.Key{Namespace: "d", Name: "db"}, Value: &cluster.Workload{Kind: cluster.KindStatefulSet, Desired: 3}}}
	c.Deployments = []*cluster.Deployment{{Key: cluster.Key{Namespace: "d", Name: "web"}, Replicas: 4}}
	for _, node := range []string{"a", "b", "", ""} {
		put(c, "ReplicaSet", "web", node, cpus("3"))
	}
	c.Pods[5].Phase, c.Pods[6].Phase = "Pending", "Pending"
	var file bytes.Buffer
	if err := Save(&file, cluster.NewSnapshot(*c), false); err != nil {
		t.Fatal(err)
	}
	s, err := Load(&file)
	if err != nil {
		t.Fatal(err)
	}
	r := make_(t, s, Options{})
	want := "d/web: 1 of 4 left (2 waiting already), 1 Pending: 0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s); d/db: 1 of 3 left (1 waiting already), 1 waits for its node"
	if l := loss(t, r, "a"); l.Why() != want || fmt.Sprint(l.ToSpare.Min) != "[d/web=1]" {
		t.Errorf("%s, --min %q\nwant %s", l.Why(), l.ToSpare.Min, want)
	}
}

// A remedy for many workloads names three on a terminal, and all in a file; those with one rule share its name.
func TestARemedyForManyWorkloadsIsShort(t *testing.T) {
	c := tiny("ab")
	for i := range 10 {
		spec := cpus([]string{"100m", "5"}[i%2])
		spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "a"}
		put(c, "ReplicaSet", fmt.Sprintf("web%d", i), "a", spec)
	}
	r := make_(t, cluster.NewSnapshot(*c), Options{})
	for most, want := range map[int]string{
		remediesMost:  "loosen the node affinity or selector of d/web0, d/web1, d/web2 and 7 more workloads (room on the nodes left does not help)\n  and room on other nodes for 1 more pod of d/web1 (5 cpu), 1 more pod of d/web3 (5 cpu), 1 more pod of d/web5 (5 cpu) and 2 more workloads",
		remediesTried: "d/web7, d/web8 and d/web9 (room on the nodes left does not help)\n  and room on other nodes for",
	} {
		if got := strings.Join(r.Headline(most), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// A terminal shows three remedies; a file has all of them.
func TestAFileHasEveryRemedy(t *testing.T) {
	c := tiny("abcd")
	c.Context = "site"
	for _, node := range []string{"a", "b", "c", "d"} {
		put(c, "ReplicaSet", "web-"+node, node, cpus("3"))
	}
	r := make_(t, cluster.NewSnapshot(*c), Options{})
	for format, want := range map[string]string{Table: "web-c (3 cpu)\n1 more change: lightsout survey -o json\n", HTML: "<title>site: which nodes can be spared, 2026-11-22</title>", JSON: "web-d (3 cpu)"} {
		var b bytes.Buffer
		if err := r.Write(&b, format, 200); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, want) || strings.Contains(got, "To spare d: ") == (format == Table) {
			t.Errorf("%s without %q:\n%s", format, want, got)
		}
	}
	if got, want := headline(make_(t, cluster.NewSnapshot(*c), Options{Pairs: true})), "lightsout survey --pairs -o json"; !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A pod that no eviction moves counts as away in minimums and budgets.
func TestPodsThatAreNeverEvictedBreakMinimumsAndBudgets(t *testing.T) {
	c := tiny("abc")
	put(c, "ReplicaSet", "ingress", "a", cpus("1")).UnreachableFor = -1
	key := cluster.Key{Namespace: "d", Name: "ingress"}
	c.Objects = []*cluster.Object{{Kind: cluster.KindBudget, Key: key, Value: &policyv1.PodDisruptionBudget{
		Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "ingress"}}},
		Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1, DesiredHealthy: 1}}}}
	r := make_(t, cluster.NewSnapshot(*c), Options{Pairs: true, Min: map[cluster.Key]int{key: 1}})
	if got, want := headline(r), "Can spare, one at a time: b and c; pair b + c. Can't spare: a; pairs a + b and a + c. No change was found that spares a; pairs a + b and a + c"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if l := loss(t, r, "a"); len(l.Broken) != 1 || len(l.Budgets) != 1 {
		t.Errorf("%+v", l)
	}
	if got, want := headline(make_(t, cluster.NewSnapshot(*c), Options{})), "To spare a: lower what the budget requires (d/ingress: 0 healthy, the budget requires 1); then still: d/ingress may wait"; !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// The control plane evicts no pod of a rack that is most of the zone, nor of the last nodes.
func TestPodsThatTheZoneRuleHoldsAreAway(t *testing.T) {
	c := tiny("abcde")
	for i, n := range c.Nodes {
		n.Labels += fmt.Sprintf(",rack=%d", i/3)
		if i < 3 {
			put(c, "ReplicaSet", "web", n.Name, cpus("1"))
		}
	}
	r := make_(t, cluster.NewSnapshot(*c), Options{By: []string{"rack"}})
	if got, want := headline(r), "Can spare, one at a time: any node; rack 1. Can't spare: rack 0. No change was found that spares rack 0"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := line(t, r, "0"); !strings.HasPrefix(got, "rack 0 (3 nodes) | no | 3 | zone rule: 3 of 5 nodes") || !strings.HasSuffix(got, "; d/web: 0 of 3 left, 3 wait for their node") {
		t.Error(got)
	}
	c = tiny("ab")
	put(c, "ReplicaSet", "web", "a", cpus("1"))
	r = make_(t, cluster.NewSnapshot(*c), Options{Pairs: true})
	if got, want := headline(r), "Can spare, one at a time: any node. Can't spare: pair a + b. To spare pair a + b: one more node like a (in its zone, with its labels and size)"; got != want || !strings.Contains(line(t, r, "a + b"), "no node is ready") {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// The pods of a node that is down already need the room that a loss leaves. The pods
// that find no node without a loss are not its effect.
func TestTheNodesThatAreDownAlreadyNeedRoom(t *testing.T) {
	c := tiny("abcd")
	a := c.Nodes[0]
	a.Ready, a.ReadySince = cluster.TriUnknown, t0.Add(-60*time.Second)
	a.Taints = []cluster.Taint{{Key: cluster.TaintUnreachable, Effect: "NoExecute", TimeAdded: t0.Add(-60 * time.Second)}}
	a.RenewSeen, a.Renewed = t0.Add(-110*time.Second), t0.Add(-110*time.Second)
	c.Nodes[3].Unschedulable, c.Nodes[3].Taints = true, []cluster.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: "NoSchedule"}}
	put(c, "ReplicaSet", "x", "a", cpus("3"))
	put(c, "ReplicaSet", "huge", "a", cpus("5"))
	put(c, "StatefulSet", "db", "a", cpus("1"))
	put(c, "ReplicaSet", "y", "b", cpus("3"))
	r := make_(t, cluster.NewSnapshot(*c), Options{Pairs: true})
	if got, want := headline(r), "a is down. d is cordoned. Can spare, one at a time: d. Can't spare: b and c; all 3 pairs. "+
		"To spare, one at a time, b and c: uncordon d. To spare, one at a time, pairs b + d and c + d: bring back a. To spare pair b + c: bring back a and uncordon d"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for name, want := range map[string]string{"b": "b | no | 1 | ", "d": "d | yes"} {
		if got := line(t, r, name); !strings.HasPrefix(got, want) || strings.Contains(got, "db") {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if n := len(r.Of(Node)); n != 3 || len(r.Names) != 3 {
		t.Errorf("a node that is down is lost again: %d of %v", n, r.Names)
	}
	notes := strings.Join(r.Notes(), "\n")
	for _, want := range []string{"a counts as down already (not Ready, or off or going off by lightsout): each line counts the room that its pods need.", "Without another loss, 1 of these pods gets no node; the table does not count them."} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in\n%s", want, notes)
		}
	}
}

// Nodes that are down are in neither list, nor is a zone that is down as a whole.
func TestNodesThatAreDownCannotBeSpared(t *testing.T) {
	for off, want := range map[string]string{
		"c":     "c is down. Can spare, one at a time: a; b only if d/db may wait. Can't spare: zone 1. To spare zone 1: bring back c; then still: d/db may wait",
		"c,a":   "a and c are down. Can spare: nothing. Can't spare: b; zone 1. To spare, one at a time, b; zone 1: bring back c; then still: d/db may wait",
		"a,b,c": "a, b and c are down. Can spare: nothing",
	} {
		c := tiny("abc")
		put(c, "StatefulSet", "db", "b", cpus("1"))
		for i, zone := range []string{"1", "1", "2"} {
			c.Nodes[i].Zone = "/" + zone
		}
		if got := headline(make_(t, cluster.NewSnapshot(*c), Options{Off: strings.Split(off, ",")})); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// A node that lightsout drained and shut down is brought back and uncordoned; losses share a line only if the same workloads lack pods
// then. Room is for all that a pod requests.
func TestANodeThatIsDownAndCordonedIsBroughtBack(t *testing.T) {
	c := tiny("abcd")
	c.Nodes[3].Unschedulable, c.Nodes[3].Taints = true, []cluster.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: "NoSchedule"}}
	both := cpus("3")
	both.Containers[0].Resources.Requests["memory"] = resource.MustParse("1Gi")
	for _, node := range []string{"a", "b", "c"} {
		put(c, "ReplicaSet", "web", node, both)
	}
	put(c, "StatefulSet", "db", "a", cpus("0"))
	put(c, "StatefulSet", "log", "b", cpus("0"))
	want := "d is down and cordoned. Can spare: nothing. Can't spare: a, b and c. To spare a: bring back and uncordon d; or fewer pods are enough (--min d/web=2); then still: d/db may wait. " +
		"To spare b: bring back and uncordon d; or fewer pods are enough (--min d/web=2); then still: d/log may wait. To spare c: bring back and uncordon d; or fewer pods are enough (--min d/web=2)"
	if got := headline(make_(t, cluster.NewSnapshot(*c), Options{Off: []string{"d"}})); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	c.Nodes = c.Nodes[:3]
	if got, want := headline(make_(t, cluster.NewSnapshot(*c), Options{})), "room on other nodes for 1 more pod of d/web (3 cpu and 1Gi memory)"; !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// The API server calls a node Ready for most of a minute after its machine is off.
func TestAMachineThatIsOffIsDownAlready(t *testing.T) {
	c := tiny("abcd") // only d has room for another pod
	for _, node := range []string{"a", "b", "c"} {
		put(c, "ReplicaSet", "web", node, cpus("3"))
	}
	for _, tt := range []struct {
		off      []string
		homeless int
	}{{nil, 0}, {[]string{"d"}, 1}, {[]string{"gone"}, 0}} {
		r := make_(t, cluster.NewSnapshot(*c), Options{Off: tt.off})
		if n := loss(t, r, "b").Pending.High; n != tt.homeless || len(r.Down) != tt.homeless {
			t.Errorf("off %v: %d pods get no node, and %v are down already", tt.off, n, r.Down)
		}
	}
}

// A remedy is played through: a loosened rule may need room besides, also for pods that others preempt then, or may not help.
func TestARemedyIsPlayedThrough(t *testing.T) {
	high := int32(1000)
	cordoned := func(c *cluster.Contents) {
		c.Nodes[1].Unschedulable, c.Pods, c.Deployments = true, nil, []*cluster.Deployment{{Key: cluster.Key{Namespace: "d", Name: "x"}, Replicas: 4, Available: 2}}
		for _, node := range []string{"a", "c", "", ""} {
			put(c, "ReplicaSet", "x", node, cpus("3")).Ready = node > ""
		}
	}
	apart := func(app, cpu string) *corev1.PodSpec {
		spec := cpus(cpu)
		spec.Priority = &high
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}}}
		return spec
	}
	for what, tt := range map[string]struct {
		others func(c *cluster.Contents)
		cpu    string
		want   string
	}{
		"a rule":          {nil, "1", "loosen the pod anti-affinity of d/web (room on the nodes left does not help)"},
		"a rule and room": {nil, "3", "loosen the pod anti-affinity of d/web (room on the nodes left does not help)\n  and room on other nodes for 1 more pod of d/web (3 cpu)"},
		"room for the weaker": {func(c *cluster.Contents) {
			put(c, "ReplicaSet", "batch", "b", cpus("2"))
			put(c, "ReplicaSet", "log", "c", cpus("2"))
		}, "1500m", "loosen the pod anti-affinity of d/web (room on the nodes left does not help)\n  and room on other nodes for 1 more pod of d/"},
		"another's rule": {func(c *cluster.Contents) {
			put(c, "DaemonSet", "rival", "b", apart("web", "0"))
			put(c, "DaemonSet", "rival", "c", apart("web", "0"))
		}, "1", "fewer pods are enough"},
		"a rule of pods with other labels":       {func(c *cluster.Contents) { c.Pods[1].Labels += ",zone=1" }, "1", "loosen the pod anti-affinity of d/web (room on the nodes left does not help)"},
		"a rule, or one more node":               {nil, "1", "loosen the pod anti-affinity of d/web (room on the nodes left does not help)\n  or, instead of looser rules, one more node like a (in its zone, with its labels and size)\n"},
		"a node that is there spares room":       {cordoned, "", "uncordon b\n  and room on other nodes for 2 more pods of d/x (3 cpu each)"},
		"a pod that waits counts in the minimum": {cordoned, "", "uncordon b"},
		"workloads that compete": {func(c *cluster.Contents) {
			c.Pods = nil
			put(c, "ReplicaSet", "web", "a", cpus("2"))
			put(c, "ReplicaSet", "log", "a", cpus("3"))
			put(c, "ReplicaSet", "all", "a", cpus("5"))
			put(c, "StatefulSet", "db", "b", cpus("3"))
		}, "", "room on other nodes for 1 more pod of d/all (5 cpu) and 1 more pod of d/log or d/web (3 cpu)"},
		"a pod that waits takes the node that returns": {func(c *cluster.Contents) {
			c.Nodes[1].Ready, c.Pods = cluster.TriUnknown, nil
			put(c, "ReplicaSet", "x", "a", cpus("3"))
			put(c, "ReplicaSet", "y", "c", cpus("3"))
			put(c, "ReplicaSet", "new", "", cpus("3")).Phase = "Pending"
		}, "", "room on other nodes for 1 more pod of d/x (3 cpu)"},
		"a StatefulSet's pod returns with its node": {func(c *cluster.Contents) {
			c.Nodes[1].Ready, c.Pods = cluster.TriUnknown, nil
			for _, node := range []string{"a", "b", "c"} {
				put(c, "StatefulSet", "db", node, cpus("1"))
			}
			c.Pods[1].Ready, c.Pods[1].Deleting = false, t0
			c.Objects = []*cluster.Object{{Kind: cluster.KindBudget, Key: cluster.Key{Namespace: "d", Name: "db"}, Value: &policyv1.PodDisruptionBudget{
				Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}},
				Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 2, DesiredHealthy: 2}}}}
		}, "", "bring back b"},
	} {
		c := tiny("abc")
		c.Nodes[0].Labels += ",rack=1"
		for _, node := range []string{"a", "b", "c"} {
			put(c, "ReplicaSet", "web", node, apart("web", cmp.Or(tt.cpu, "0")))
		}
		if tt.others != nil {
			tt.others(c)
		}
		q := Options{By: []string{"rack"}}
		if tt.want == "uncordon b" {
			q.Min = map[cluster.Key]int{{Namespace: "d", Name: "x"}: 2}
		}
		r := make_(t, cluster.NewSnapshot(*c), q)
		name := "1" // a rack, as another node may do for a node
		if strings.Contains(tt.want, "one more") {
			name = "a"
		}
		got, _, _ := strings.Cut(r.remedy(loss(t, r, name), remediesMost), "; or ")
		if !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q\nwant %q", what, got, tt.want)
		}
	}
}

// A pod that gets a node only after the loss makes up for none of another workload.
func TestAPodThatWaitsNowMakesUpForNoOther(t *testing.T) {
	c := tiny("ab")
	put(c, "ReplicaSet", "web", "b", cpus("3"))
	put(c, "ReplicaSet", "log", "a", cpus("2"))
	put(c, "ReplicaSet", "new", "", cpus("1")).Phase = "Pending"
	r := make_(t, cluster.NewSnapshot(*c), Options{})
	if got := loss(t, r, "b"); got.Pending.Low != 1 || r.Unmet("n-1") == "" {
		t.Errorf("%+v\n%s", got, headline(r))
	}
}

// Losses that lack the same share a search, each with its own test of the change; and harmless nodes have no row.
func TestLossesThatLackTheSameShareASearch(t *testing.T) {
	c := tiny("")
	c.Nodes = nil
	for i := range 70 {
		n := *tiny("a").Nodes[0]
		n.Name = fmt.Sprintf("n%d", i)
		n.Labels = "kubernetes.io/hostname=" + n.Name
		c.Nodes = append(c.Nodes, &n)
	}
	spec := cpus("3")
	spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "n0"}
	put(c, "ReplicaSet", "web", "n0", spec)
	r := make_(t, cluster.NewSnapshot(*c), Options{Pairs: true})
	if got := headline(r); !strings.Contains(got, "Can't spare: n0; 69 of 2415 pairs. ") || !strings.Contains(got, "; 69 of 2415 pairs: loosen the ") {
		t.Error(got)
	}
	want := "69 nodes go without an effect: n1, n2, n3, "
	if notes := r.Notes(); len(r.Rows()) != 1 || !strings.HasPrefix(notes[0], want) || !strings.HasSuffix(notes[0], ", n68, n69.") {
		t.Errorf("%d rows, %q\nwant %s…", len(r.Rows()), notes, want)
	}
}

// Nodes that are there already do what a change promises: the survey of the cluster after it can spare the nodes, and no other workloads lack
// pods. Pods that waited have nodes then, also for a minimum.
func TestTheSurveyAfterAChangeKeepsItsPromise(t *testing.T) {
	kept := 0
	for seed := range uint64(8) {
		dice, c, min := rand.New(rand.NewPCG(seed, 1)), tiny("abcdef"), map[cluster.Key]int{}
		for i, n := range c.Nodes {
			n.Unschedulable, n.Zone = i > 3 && dice.IntN(2) == 0, fmt.Sprintf("/%d", i%3)
			n.Ready = map[bool]cluster.Tri{true: cluster.TriTrue, false: cluster.TriUnknown}[i != 3 || dice.IntN(2) == 0]
		}
		for set := range 4 {
			d := &cluster.Deployment{Key: cluster.Key{Namespace: "d", Name: fmt.Sprint(set)}, Replicas: 3}
			for spec := cpus(fmt.Sprint(1 + dice.IntN(3))); d.Total < 3; d.Total++ {
				node := strings.TrimSpace([]string{" ", "a", "b", "c", "d", "e"}[dice.IntN(6)])
				p := put(c, []string{"ReplicaSet", "StatefulSet"}[set/3], d.Name, node, spec)
				p.Ready = node > ""
				d.Available += map[bool]int{true: 1}[p.Ready]
			}
			c.Deployments, min[d.Key] = append(c.Deployments, d), 1
		}
		s := cluster.NewSnapshot(*c)
		r := make_(t, s, Options{Pairs: true, Min: min})
		for i := range r.Losses {
			l, m := &r.Losses[i], r.Losses[i].ToSpare
			if m == nil || len(m.Up) == 0 || m.news() > 0 {
				continue
			}
			all := s.Contents()
			all.Nodes = text.Each(all.Nodes, func(n *cluster.Node) *cluster.Node {
				x := *n
				if slices.Contains(m.Up, n.Name) {
					x.Ready, x.Unschedulable = cluster.TriTrue, false
				}
				return &x
			})
			after := cluster.NewSnapshot(all)
			then := loss(t, make_(t, place.New(after).Settled(forecast.Down(after, nil), s), Options{Pairs: true, Min: min}), l.Name)
			if kept++; then.TooMuch() || !slices.Equal(then.waiting(), m.Still) {
				t.Errorf("seed %d, %s: %s\nthen %s: %s", seed, l.Title(), r.remedy(l, 9), then.Why(), then.waiting())
			}
		}
	}
	if kept < 10 {
		t.Errorf("only %d changes of nodes", kept)
	}
}
