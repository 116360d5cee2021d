package survey

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lightsout/cluster"
	"lightsout/cluster/place"
	"lightsout/internal/testenv"
	"lightsout/internal/text"
)

var t0 = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// small has six nodes in two zones. Two of them have GPUs, three of which are in use. A
// web server must not have two pods on one node.
func small() *cluster.Snapshot {
	c := cluster.Contents{At: t0, Context: "secret-context", ServerVersion: "v1.36.3"}
	for i := range 6 {
		name := fmt.Sprintf("secret-node-%d", i)
		n := &cluster.Node{Name: name, Ready: cluster.TriTrue, CPUMilli: 4000, MemoryBytes: 8 << 30, MaxPods: 110, Zone: fmt.Sprintf("/%c", 'a'+i%2),
			Labels:    fmt.Sprintf("kubernetes.io/hostname=%s,rack=secret-%d,topology.kubernetes.io/zone=%c", name, i/3, 'a'+i%2),
			RenewSeen: t0, Renewed: t0, LeaseDuration: 40 * time.Second}
		if i < 2 {
			n.Resources = "nvidia.com/gpu=2"
		}
		c.Nodes = append(c.Nodes, n)
	}
	add := func(set string, node int, spec *corev1.PodSpec) {
		c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "secret-space", Name: fmt.Sprintf("%s-%d", set, len(c.Pods))}, Node: fmt.Sprintf("secret-node-%d", node),
			Phase: "Running", Ready: true, OwnerKind: "ReplicaSet", OwnerName: set + "-abc", Deployment: set, Labels: "app=" + set,
			UnreachableFor: 300 * time.Second, Spec: cluster.NewSpec(spec, "ReplicaSet")})
	}
	asks := func(name, amount string) *corev1.PodSpec {
		return &corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceName(name): resource.MustParse(amount)}}}}}
	}
	for i := range 3 {
		add("secret-model", i%2, asks("nvidia.com/gpu", "1"))
	}
	web := asks("cpu", "500m")
	web.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "secret-web"}}}}}}
	for i := range 4 {
		add("secret-web", 2+i, web)
	}
	return cluster.NewSnapshot(c)
}

func make_(t *testing.T, s *cluster.Snapshot, q Options) *Report {
	t.Helper()
	r, err := Make(t.Context(), s, q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// headline has the facts of each change in one line.
func headline(r *Report) string {
	return strings.NewReplacer(".   and ", " and ", ".   ", "; ").Replace(strings.Join(r.Headline(3), ". "))
}

// A deployment with all pods on one node is gone until the control plane replaces them; a minimum counts until then, a budget does not.
func TestTheSurveyNamesWhatIsAwayUntilReplaced(t *testing.T) {
	c := cluster.Contents{At: t0}
	for _, name := range []string{"a", "b", "c"} {
		c.Nodes = append(c.Nodes, &cluster.Node{Name: name, Ready: cluster.TriTrue, CPUMilli: 4000, MemoryBytes: 8 << 30, MaxPods: 110, RenewSeen: t0, Renewed: t0, LeaseDuration: 40 * time.Second})
	}
	add := func(deployment string, nodes ...string) {
		c.Deployments = append(c.Deployments, &cluster.Deployment{Key: cluster.Key{Namespace: "default", Name: deployment}, Replicas: len(nodes), Available: len(nodes)})
		for i, node := range nodes {
			c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: fmt.Sprintf("%s-%d", deployment, i)}, Node: node, Phase: "Running", Ready: true,
				OwnerKind: "ReplicaSet", OwnerName: deployment + "-1", Deployment: deployment, UnreachableFor: 300 * time.Second, Spec: cluster.NewSpec(&corev1.PodSpec{}, "ReplicaSet")})
		}
	}
	add("crowded", "b", "b", "b")
	add("spread", "a", "b")
	add("alone", "c")
	r := make_(t, cluster.NewSnapshot(c), Options{})
	var b bytes.Buffer
	if err := r.Write(&b, Table, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Can spare, one at a time: any node (for b and c, default/alone 0/1 and default/crowded 0/3 until replaced)\n",
		"\nb        yes    until replaced: default/crowded 0/3\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
	if got := loss(t, r, "c").Until; !slices.Equal(got, []Left{{cluster.Key{Namespace: "default", Name: "alone"}, 0, 1}}) || r.Unmet("n-1") != "" {
		t.Errorf("%+v", got)
	}
	spread := cluster.Key{Namespace: "default", Name: "spread"}
	for min, want := range map[int]string{1: "", 2: "can't spare a and b"} {
		if got := make_(t, cluster.NewSnapshot(c), Options{Min: map[cluster.Key]int{spread: min}}).Unmet("n-1"); got != want {
			t.Errorf("--min %d: %q, want %q", min, got, want)
		}
	}
	for _, p := range c.Pods {
		p.Labels = "app=" + p.Deployment
	}
	c.Objects = []*cluster.Object{{Kind: cluster.KindBudget, Key: spread, Value: &policyv1.PodDisruptionBudget{
		Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "spread"}}},
		Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 2, DesiredHealthy: 2}}}}
	if l := loss(t, make_(t, cluster.NewSnapshot(c), Options{}), "a"); l.Why() != "until replaced: default/spread 1/2" || l.TooMuch() {
		t.Errorf("%+v", l)
	}
}

// The GPUs of one node cannot take the pods of the other; the web server survives the
// loss of any two nodes.
func TestTheSurveyOfASmallCluster(t *testing.T) {
	r := make_(t, small(), Options{Pairs: true, By: []string{"rack"}})
	const nodes, pairs, zones = "secret-node-0 and secret-node-1", "; 9 of 15 pairs", "zones a and b"
	const not = nodes + pairs + "; rack secret-0 and secret-1; " + zones
	want := "Can spare, one at a time: secret-node-2, secret-node-3, secret-node-4 and secret-node-5; pairs secret-node-2 + secret-node-3, secret-node-2 + secret-node-4, secret-node-2 + secret-node-5, " +
		"secret-node-3 + secret-node-4, secret-node-3 + secret-node-5 and secret-node-4 + secret-node-5. Can't spare: " + not +
		". To spare, one at a time, secret-node-0 and secret-node-1; 8 of 15 pairs: room on other nodes for 1 more pod of secret-space/secret-model (1 nvidia.com/gpu); or fewer pods are enough (--min secret-space/secret-model=2)" +
		". To spare pair secret-node-0 + secret-node-1: room on other nodes for 3 more pods of secret-space/secret-model (1 nvidia.com/gpu each)" +
		". To spare rack secret-1: loosen the pod anti-affinity of secret-space/secret-web (room on the nodes left does not help); or fewer pods are enough (--min secret-space/secret-web=3)" +
		". To spare rack secret-0: loosen the pod anti-affinity of secret-space/secret-web (room on the nodes left does not help) and room on other nodes for 3 more pods of secret-space/secret-model (1 nvidia.com/gpu each)" +
		". To spare, one at a time, zones a and b: loosen the pod anti-affinity of secret-space/secret-web (room on the nodes left does not help) and room on other nodes for 1 more pod of secret-space/secret-model (1 nvidia.com/gpu); " +
		"or fewer pods are enough (--min secret-space/secret-model=2 --min secret-space/secret-web=3)"
	if got := headline(r); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for requirement, not := range map[string]string{"n-1": nodes, "n-2": nodes + pairs, "zone": zones} {
		if got := r.Unmet(requirement); got != "can't spare "+not {
			t.Errorf("%s: %q", requirement, got)
		}
	}
	l := r.Of(Node)[0]
	if l.Pending.Low != 1 || !strings.Contains(l.Why(), "Insufficient nvidia.com/gpu") {
		t.Errorf("%+v", l)
	}
	if m := r.Map(); len(m) != 6 || m[0][0].Heat() != 2 || m[2][2].Heat() != 0 || m[0][3].Heat() == 0 || m[3][0] != m[0][3] {
		t.Errorf("%+v", m)
	}
}

// The loss of nodes together is that of the rack that they make up; a minimum counts until pods are replaced.
func TestNodesAreLostTogether(t *testing.T) {
	c := small().Contents()
	c.Deployments = []*cluster.Deployment{{Key: cluster.Key{Namespace: "secret-space", Name: "secret-model"}, Replicas: 3, Available: 3}}
	s := cluster.NewSnapshot(c)
	for set, want := range map[string][2]string{
		"secret-node-0 secret-node-1 secret-node-2": {"secret-0", "Can spare: nothing. Can't spare: secret-node-0 + secret-node-1 + secret-node-2. To spare secret-node-0 + secret-node-1 + secret-node-2: " +
			"loosen the pod anti-affinity of secret-space/secret-web (room on the nodes left does not help) and room on other nodes for 3 more pods of secret-space/secret-model (1 nvidia.com/gpu each)"},
		"secret-node-2 secret-node-3": {"secret-node-2 + secret-node-3", "Can spare: secret-node-2 + secret-node-3"},
		"secret-node-0": {"secret-node-0", "Can spare: nothing. Can't spare: secret-node-0. To spare secret-node-0: room on other nodes for 1 more pod of secret-space/secret-model (1 nvidia.com/gpu); " +
			"or fewer pods are enough (--min secret-space/secret-model=1; secret-space/secret-model 1/3 until replaced)"},
	} {
		r := make_(t, s, Options{Together: strings.Fields(set)})
		if got := headline(r); got != want[1] {
			t.Errorf("%s\nwant %s", got, want[1])
		}
		same := loss(t, make_(t, s, Options{Pairs: true, By: []string{"rack"}}), want[0])
		if l := r.Losses[0]; len(r.Losses) != 1 || l.Losses != same.Losses || l.Why() != same.Why() {
			t.Errorf("%+v\nwant %+v", r.Losses, same)
		}
	}
}

func TestAMinimumIsARequirement(t *testing.T) {
	key := cluster.Key{Namespace: "secret-space", Name: "secret-model"}
	r := make_(t, small(), Options{Min: map[cluster.Key]int{key: 3}})
	if l := r.Of(Node)[0]; len(l.Broken) != 1 || !strings.Contains(l.Broken[0], "2 left, fewer than 3") {
		t.Errorf("%+v", l)
	}
}

// A minimum that holds is enough for its workload, and says nothing of another.
func TestAMinimumIsEnough(t *testing.T) {
	model, other := cluster.Key{Namespace: "d", Name: "model"}, cluster.Key{Namespace: "d", Name: "other"}
	for _, tt := range []struct {
		kind, want string
		min        map[cluster.Key]int
	}{
		{"ReplicaSet", "Can spare: nothing. Can't spare: a, b and c. To spare, one at a time, a, b and c: room on other nodes for 1 more pod of d/model (3 cpu); or fewer pods are enough (--min d/model=2)", nil},
		{"ReplicaSet", "Can spare, one at a time: any node", map[cluster.Key]int{model: 2}},
		{"ReplicaSet", "Can spare: nothing. Can't spare: a, b and c. To spare, one at a time, a, b and c: room on other nodes for 1 more pod of d/model (3 cpu)", map[cluster.Key]int{model: 3}},
		{"ReplicaSet", "Can spare: nothing. Can't spare: a, b and c. To spare, one at a time, a, b and c: room on other nodes for 1 more pod of d/model (3 cpu); or fewer pods are enough (--min d/model=2)", map[cluster.Key]int{other: 0}},
		{"StatefulSet", "Can spare, one at a time: any node only if d/model may wait", nil},
		{"StatefulSet", "Can spare, one at a time: any node", map[cluster.Key]int{model: 2}},
	} {
		c := tiny("abc")
		for _, node := range []string{"a", "b", "c"} {
			put(c, tt.kind, "model", node, cpus("3"))
		}
		put(c, "ReplicaSet", "other", "a", cpus("0"))
		put(c, "ReplicaSet", "other", "", cpus("9")).Phase = "Pending" // waits already
		r := make_(t, cluster.NewSnapshot(*c), Options{Min: tt.min})
		if got := strings.Replace(headline(r), " (not counted: 1 pod of d/other, which waits for a node already)", "", 1); got == headline(r) || got != tt.want || (r.Unmet("n-1") == "") != !strings.Contains(tt.want, "Can't") {
			t.Errorf("%s, minimum %v: %s\nwant %s", tt.kind, tt.min, got, tt.want)
		}
	}
}

// Preempted pods have a name, and those that take their place as well.
func TestTheSurveyNamesPreemptedPods(t *testing.T) {
	c := tiny("abc")
	high := int32(1000)
	web := cpus("3")
	web.Priority = &high
	put(c, "ReplicaSet", "web", "a", web)
	put(c, "ReplicaSet", "batch", "b", cpus("2"))
	put(c, "StatefulSet", "db", "a", cpus("0"))
	log := cpus("3")
	log.Priority = &high
	put(c, "StatefulSet", "log", "c", log)
	q := Options{Min: map[cluster.Key]int{{Namespace: "d", Name: "batch"}: 0}}
	r := make_(t, cluster.NewSnapshot(*c), q)
	if got, want := headline(r), "Can spare, one at a time: b; a (pods of d/batch may end) only if d/db may wait; c only if d/log may wait"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := fmt.Sprint(loss(t, r, "a").Victims), "[ends 1 of d/batch for d/web]"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	var b bytes.Buffer
	if err := r.Write(&b, JSON, 0); err != nil || !strings.Contains(b.String(), `"victims": [`) {
		t.Errorf("%v\n%s", err, &b)
	}
}

// The label of zones names no other domains, a page has room for each reason, and nobody reads six pairs for "all".
func TestNothingIsNamedTwiceOrLeftOut(t *testing.T) {
	c := tiny("abcd")
	for i, n := range c.Nodes {
		n.Zone, n.Labels = fmt.Sprintf("/%d", i/2), n.Labels+fmt.Sprintf(",topology.kubernetes.io/zone=%d", i/2)
		for _, set := range []string{"one", "two", "three"} {
			put(c, "ReplicaSet", set, n.Name, cpus("1"))
		}
	}
	r := make_(t, cluster.NewSnapshot(*c), Options{Pairs: true, By: []string{corev1.LabelTopologyZone}})
	if got, want := headline(r), "Can spare, one at a time: any node. Can't spare: all 6 pairs; zones 0 and 1. "+
		"To spare, one at a time, all 6 pairs; zones 0 and 1: room on other nodes for 4 more pods of d/one, d/three or d/two (1 cpu each); or fewer pods are enough (--min d/one=2 --min d/three=2 --min d/two=2)"; got != want || len(r.Of(corev1.LabelTopologyZone)) != 2 {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, tt := range []struct {
		format string
		width  int
	}{{Table, 80}, {Table, 0}, {HTML, 0}} {
		var b bytes.Buffer
		if err := r.Write(&b, tt.format, tt.width); err != nil || !strings.Contains(b.String(), "d/two: 2") || strings.Count(b.String(), "<h1>") > 1 {
			t.Errorf("%v\n%s", err, &b)
		}
	}
}

// A budget that a loss violates makes the loss too much, also when the pods only wait for
// their node. The reason names what is left.
func TestABrokenBudget(t *testing.T) {
	c := small().Contents()
	for i, p := range c.Pods {
		web := *p
		if web.Deployment == "secret-web" {
			web.OwnerKind, web.OwnerName, web.Deployment = "StatefulSet", "secret-web", ""
			c.Pods[i] = &web
		}
	}
	key := cluster.Key{Namespace: "secret-space", Name: "secret-web"}
	c.Objects = []*cluster.Object{{Kind: cluster.KindBudget, Key: key, Value: &policyv1.PodDisruptionBudget{
		Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "secret-web"}}},
		Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 4, DesiredHealthy: 3}}}}
	r := make_(t, cluster.NewSnapshot(c), Options{Pairs: true})
	if l := r.Of(Node)[5]; l.TooMuch() || l.Cells()[8] != "secret-space/secret-web: 3 of 4 left, 1 waits for its node" {
		t.Errorf("one pod of four away: %+v", l)
	}
	for _, l := range r.Of(Pair) {
		const why = "secret-space/secret-web: 2 healthy, the budget requires 3; secret-space/secret-web: 2 of 4 left, 2 wait for their node"
		if slices.Equal(l.Nodes, []string{"secret-node-4", "secret-node-5"}) && l.Why() == why && l.Cells()[7] == "1" {
			return
		}
	}
	t.Errorf("no pair breaks the budget: %v", r.Of(Pair))
}

// A file gives the same answer as the cluster; a redacted one contains no name.
func TestASurveyOfAFile(t *testing.T) {
	s := small()
	q := Options{Pairs: true}
	want := make_(t, s, q)
	for _, redact := range []bool{false, true} {
		var b bytes.Buffer
		if err := Save(&b, s, redact); err != nil {
			t.Fatal(err)
		}
		if redact && strings.Contains(b.String(), "secret") {
			t.Errorf("a redacted file contains a name: %.200s", b.String()[strings.Index(b.String(), "secret"):])
		}
		loaded, err := Load(&b)
		if err != nil {
			t.Fatal(err)
		}
		got := make_(t, loaded, q)
		if len(got.Of(Pair)) != len(want.Of(Pair)) || (got.Unmet("n-1") == "") != (want.Unmet("n-1") == "") || (!redact && headline(got) != headline(want)) {
			t.Errorf("redact %t: %s\nwant %s", redact, headline(got), headline(want))
		}
	}
	if _, err := Load(strings.NewReader(`{"Lightsout":1,"Pods":[null],"Specs":[null]}`)); err == nil {
		t.Error("Load accepted a broken file")
	}
}

// crowd has 1,000 nodes with 30,000 pods of 2,000 owners; one owner in ten spreads its
// pods over zones.
func crowd() *cluster.Snapshot {
	c := cluster.Contents{At: t0, ServerVersion: "v1.36.3"}
	var specs []cluster.Spec
	for set := range 2000 {
		spec := &corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			"cpu": resource.MustParse(fmt.Sprintf("%dm", 100+set%7*100)), "memory": resource.MustParse(fmt.Sprintf("%dMi", 256+set%5*512))}}}}}
		if set%10 == 0 {
			spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("s%d", set)}}}}
		}
		specs = append(specs, cluster.NewSpec(spec, "ReplicaSet"))
	}
	for i := range 1000 {
		name := fmt.Sprintf("n%04d", i)
		c.Nodes = append(c.Nodes, &cluster.Node{Name: name, Ready: cluster.TriTrue, CPUMilli: 32000, MemoryBytes: 128 << 30, MaxPods: 110, Zone: fmt.Sprintf("/%c", 'a'+i%3),
			Labels: fmt.Sprintf("kubernetes.io/hostname=%s,topology.kubernetes.io/zone=%c", name, 'a'+i%3), RenewSeen: t0, Renewed: t0, LeaseDuration: 40 * time.Second})
		for k := range 30 {
			set := (i*30 + k*7) % 2000
			owner := fmt.Sprintf("s%d", set)
			c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "d", Name: fmt.Sprintf("%s-%d", owner, len(c.Pods))}, Node: name, Phase: "Running", Ready: true,
				OwnerKind: "ReplicaSet", OwnerName: owner, Deployment: owner, Labels: "app=" + owner, UnreachableFor: 300 * time.Second, Spec: specs[set]})
		}
	}
	return cluster.NewSnapshot(c)
}

// BenchmarkSurvey surveys 1,000 nodes: each node and zone, and all 499,500 pairs.
func BenchmarkSurvey(b *testing.B) {
	s := crowd()
	for _, pairs := range []bool{false, true} {
		b.Run(fmt.Sprintf("pairs=%t", pairs), func(b *testing.B) {
			b.ReportAllocs()
			defer testenv.Measure(b)()
			for b.Loop() {
				r, err := Make(b.Context(), s, Options{Pairs: pairs})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(r.Of(Pair))), "pairs-too-many")
			}
		})
	}
}

// Anybody may have written the file: an object without contents is an error.
func TestAFileWithAnEmptyObjectIsRefused(t *testing.T) {
	for _, part := range []string{`"Nodes":[null]`, `"Deployments":[null]`, `"Endpoints":[null]`, `"Pods":[null],"Specs":[null]`} {
		if _, err := Load(strings.NewReader(`{"Lightsout":1,` + part + `}`)); err == nil || !strings.Contains(err.Error(), "empty") {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// Names in a file may come from anybody: none of them reaches a terminal as it is.
func TestTheNamesOfAFileAreHarmless(t *testing.T) {
	var b, out bytes.Buffer
	if err := Save(&b, small(), false); err != nil {
		t.Fatal(err)
	}
	name := small().Nodes()[0].Name
	s, err := Load(strings.NewReader(strings.ReplaceAll(b.String(), `"`+name+`"`, `"n\u001b]0;x\u0007\u009b\u202e"`)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Make(t.Context(), s, Options{Pairs: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Write(&out, Table, 0); err != nil || strings.ContainsAny(out.String(), "\x1b\a\u009b\u202e") {
		t.Errorf("%v: %q", err, out.String())
	}
}

// On a terminal no line is wider than it is and no word is split; the map has the same marks as in HTML.
func TestTheTableFitsATerminal(t *testing.T) {
	r := make_(t, small(), Options{Pairs: true})
	for _, width := range []int{80, 120} {
		var b bytes.Buffer
		if err := r.Write(&b, Table, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := text.Width(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d cells of %d: %s", n, width, line)
			}
		}
		for _, want := range []string{"1 secret-node-0  1  3  1  1  1  1\n", "~  some pods wait", "\n  secret-space/secret-model: 2 of 3 left, 1 Pending: Insufficient nvidia.com/gpu\n"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%q is not in\n%s", want, &b)
			}
		}
	}
	var page bytes.Buffer
	if err := r.Write(&page, HTML, 0); err != nil {
		t.Fatal(err)
	}
	for _, m := range r.Legend() {
		if !strings.Contains(page.String(), "<b>"+m.Mark+"</b> "+m.Means) {
			t.Errorf("the page does not explain %q", m.Mark)
		}
	}
}

// A broken budget has its mark, also beside pods without a node.
func TestTheMapMarksBrokenBudgets(t *testing.T) {
	for want, l := range map[string]Loss{"·": {}, "~": {Losses: place.Losses{Stuck: place.Range{Low: 1, High: 1}}}, "2": {Losses: place.Losses{Pending: place.Range{Low: 1, High: 1}, Missing: place.Range{Low: 1, High: 1}}},
		"!": {Budgets: []string{"b"}}, "0–1!": {Losses: place.Losses{Pending: place.Range{High: 1}}, Broken: []string{"m"}}} {
		l.counts = l.Losses
		if got := l.Mark(); got != want {
			t.Errorf("%+v is marked %q, want %q", l, got, want)
		}
	}
}

// The name of a long pair gives way to the numbers.
func TestTheTableOfLongNamesFitsATerminal(t *testing.T) {
	one := place.Range{Low: 1, High: 1}
	nodes := []string{"worker-0001.rack-07.hall-b.example.internal", "worker-0002.rack-07.hall-b.example.internal"}
	r := &Report{Losses: []Loss{{Name: nodes[0]}, {Name: nodes[1]}, {Sort: Pair, Name: pairName(nodes[0], nodes[1]), Nodes: nodes, Losses: place.Losses{Pending: one, Missing: one, Stuck: one, Orphans: one}, Preempted: one, Broken: []string{"b"}}}}
	lines := r.lossLines(120)
	for _, line := range lines {
		if n := text.Width(line); n > 120 {
			t.Errorf("%d cells: %s", n, line)
		}
	}
	if !strings.HasPrefix(lines[3], "worker-0001.") || !strings.Contains(lines[3], "example.internal  no     1        1            1      1             1          1") {
		t.Errorf("%q", lines[3])
	}
}
