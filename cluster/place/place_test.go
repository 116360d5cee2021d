package place

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lightsout/cluster"
	"lightsout/internal/testenv"
)

var t0 = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// tiny returns a cluster of equal nodes a, b, c and so on, with 4 CPUs and 8 GiB each.
func tiny(nodes int) *cluster.Contents {
	c := &cluster.Contents{At: t0, ServerVersion: "v1.36.3"}
	for i := range nodes {
		name := string(rune('a' + i))
		c.Nodes = append(c.Nodes, &cluster.Node{Name: name, Ready: cluster.TriTrue, CPUMilli: 4000, MemoryBytes: 8 << 30, MaxPods: 110,
			Labels: "kubernetes.io/hostname=" + name, RenewSeen: t0, Renewed: t0, LeaseDuration: 40 * time.Second})
	}
	return c
}

func asking(pairs ...string) *corev1.PodSpec {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return &corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list}}}}
}

// put adds a pod of a ReplicaSet with this name to a node.
func put(c *cluster.Contents, set, node string, spec *corev1.PodSpec) {
	name := fmt.Sprintf("%s-%d", set, len(c.Pods))
	c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "d", Name: name}, UID: name, Node: node, Phase: "Running", Ready: true,
		OwnerKind: "ReplicaSet", OwnerName: set, Deployment: set, Labels: "app=" + set, UnreachableFor: 300 * time.Second, Spec: cluster.NewSpec(spec, "ReplicaSet")})
}

func lose(c *cluster.Contents, nodes ...string) *Outcome {
	return New(cluster.NewSnapshot(*c)).Lose(nodes, Options{})
}

func TestMemoryAndDevicesKeepPodsOut(t *testing.T) {
	c := tiny(3)
	put(c, "big", "a", asking("memory", "6Gi"))
	put(c, "old", "b", asking("memory", "6Gi"))
	put(c, "old", "c", asking("memory", "6Gi"))
	put(c, "gpu", "a", asking("nvidia.com/gpu", "1"))
	o := lose(c, "a")
	if o.Pending != (Range{2, 2}) || o.Likely != 2 {
		t.Fatalf("%+v", o)
	}
	want := map[string]string{
		"big": "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient memory.",
		"gpu": "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient nvidia.com/gpu.",
	}
	for _, w := range o.Workloads {
		if !slices.Equal(w.Reasons, []string{want[w.Name]}) {
			t.Errorf("%s: %q", w.Name, w.Reasons)
		}
	}
}

func TestARandomOutcomeIsARange(t *testing.T) {
	c := tiny(3)
	// Two pods of 2 CPUs and one of 3: whether all of them fit on nodes with 4 and 3
	// free CPUs depends on the node of the first pod.
	put(c, "two", "a", asking("cpu", "2"))
	put(c, "two", "a", asking("cpu", "2"))
	put(c, "three", "a", asking("cpu", "3"))
	put(c, "base", "c", asking("cpu", "1"))
	o := lose(c, "a")
	if o.Pending.Exact() || o.Pending.Low != 0 || o.Pending.High != 1 {
		t.Errorf("%v", o.Pending)
	}
}

func TestALostNodeStaysADomain(t *testing.T) {
	ignore, honor := corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor
	for what, tt := range map[string]struct {
		taints, affinity *corev1.NodeInclusionPolicy
		tainted          bool
		want             int
	}{
		"its 0 pods allow others 1":                         {want: 1},
		"unless a lost node is no domain":                   {taints: &honor, want: 0},
		"nor is one that the selector excludes, if counted": {taints: &honor, affinity: &ignore, want: 1},
		"nor a tainted one":                                 {taints: &honor, affinity: &ignore, tainted: true, want: 0},
	} {
		c := tiny(4)
		spec := asking("cpu", "100m")
		spec.NodeSelector = map[string]string{"web": "yes"}
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			NodeTaintsPolicy: tt.taints, NodeAffinityPolicy: tt.affinity, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
		for _, n := range c.Nodes[:3] {
			n.Labels += ",web=yes"
			put(c, "web", n.Name, spec)
		}
		if tt.tainted {
			c.Nodes[3].Taints = []cluster.Taint{{Key: "other", Effect: "NoSchedule"}}
		}
		if o := lose(c, "a"); o.Pending != (Range{tt.want, tt.want}) {
			t.Errorf("%s: %v", what, o.Pending)
		}
	}
}

// The pods of the second node count in its domain until they are evicted: meanwhile a
// constraint admits the replacement of the first node's pod.
func TestAPodCountsUntilItsEviction(t *testing.T) {
	c := tiny(4)
	spec := asking("cpu", "100m")
	spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	for i, n := range c.Nodes {
		n.Labels += fmt.Sprintf(",rack=%d", i/2)
		put(c, "web", n.Name, spec)
	}
	if o := lose(c, "a", "b"); o.Pending != (Range{1, 1}) {
		t.Errorf("both nodes' pods were evicted before the first replacement: %v", o.Pending)
	}
}

func TestPreemptionMakesOthersHomeless(t *testing.T) {
	c := tiny(2)
	low, high := asking("cpu", "3"), asking("cpu", "3")
	value := int32(100)
	high.Priority = &value
	put(c, "important", "a", high)
	put(c, "spare", "b", low)
	o := lose(c, "a")
	if o.Pending != (Range{1, 1}) || o.Victims != (Range{1, 1}) {
		t.Fatalf("%+v", o)
	}
	for _, w := range o.Workloads {
		if want := map[string]int{"important": 0, "spare": 1}[w.Name]; w.Pending != (Range{want, want}) {
			t.Errorf("%s: %v", w.Name, w.Pending)
		}
	}
}

// A pod of a higher priority that waits, and may not preempt, takes the room for which
// another one preempts.
func TestAWaitingPodTakesFreedRoom(t *testing.T) {
	c := tiny(2)
	top, high, never := int32(500), int32(100), corev1.PreemptNever
	patient, important := asking("cpu", "3"), asking("cpu", "3")
	patient.Priority, patient.PreemptionPolicy, important.Priority = &top, &never, &high
	put(c, "patient", "", patient)
	put(c, "important", "a", important)
	put(c, "spare", "b", asking("cpu", "3"))
	o := lose(c, "a")
	for _, w := range o.Workloads {
		if want := map[string]int{"important": 1, "spare": 1}[w.Name]; w.Pending != (Range{want, want}) {
			t.Errorf("%s: %v", w.Name, w.Pending)
		}
	}
}

// A Job replaces its pods all at once, the later the more of them failed.
func TestAJobReplacesItsPodsAtOnce(t *testing.T) {
	c := tiny(2)
	put(c, "two", "a", asking("cpu", "2"))
	put(c, "two", "a", asking("cpu", "2"))
	put(c, "one", "a", asking("cpu", "4"))
	for _, p := range c.Pods {
		p.OwnerKind = "Job"
	}
	for _, name := range []string{"one", "two"} {
		c.Objects = append(c.Objects, &cluster.Object{Kind: cluster.KindJob, Key: cluster.Key{Namespace: "d", Name: name}, Value: &batchv1.Job{}})
	}
	if o := lose(c, "a"); o.Pending != (Range{2, 2}) {
		t.Errorf("the pod that comes after 10 s does not fill the node: %v", o.Pending)
	}
}

// The controller takes a second to end a Job that fails, so the first pods that come do
// not find its room.
func TestAFailedJobFreesItsRoomAfterTheFirstPods(t *testing.T) {
	c := tiny(2)
	put(c, "failing", "a", asking("cpu", "1"))
	put(c, "failing", "b", asking("cpu", "1"))
	for _, p := range c.Pods {
		p.OwnerKind, p.Deployment = "Job", ""
	}
	none := int32(0)
	c.Objects = []*cluster.Object{{Kind: cluster.KindJob, Key: cluster.Key{Namespace: "d", Name: "failing"}, Value: &batchv1.Job{Spec: batchv1.JobSpec{BackoffLimit: &none}}}}
	put(c, "large", "a", asking("cpu", "2"))
	put(c, "small", "a", asking("cpu", "1"))
	put(c, "base", "b", asking("cpu", "2"))
	for _, w := range lose(c, "a").Workloads {
		if want := map[string]int{"large": 1}[w.Name]; w.Pending != (Range{want, want}) {
			t.Errorf("%s: %v", w.Name, w.Pending)
		}
	}
}

// The nodes of a zone are evicted one after the other, so their pods do not mix.
func TestNodesAreEvictedOneByOne(t *testing.T) {
	c := tiny(3)
	for range 4 {
		put(c, "small", "a", asking("cpu", "1"))
	}
	for range 2 {
		put(c, "large", "b", asking("cpu", "2"))
	}
	w := New(cluster.NewSnapshot(*c))
	for seed := range uint64(40) {
		if o := w.Lose([]string{"a", "b"}, Options{Orders: 1, Seed: seed}); o.Pending.Low == 3 {
			t.Fatalf("seed %d: the pods of both nodes came together", seed)
		}
	}
}

// A quota does not count the pods that hang on lost nodes in the end: it keeps only those missing
// that it does not allow even then. One with scopes is named.
func TestAQuotaKeepsPodsMissing(t *testing.T) {
	for what, tt := range map[string]struct {
		hard, cpu        string
		missing, pending int
		scopes           []corev1.ResourceQuotaScope
	}{
		"room in the quota":    {hard: "3", cpu: "1"},
		"full":                 {hard: "2", cpu: "1"},
		"full, and the node":   {hard: "2", cpu: "3", pending: 1},
		"smaller than its use": {hard: "1", cpu: "1", missing: 1},
		"with scopes":          {hard: "1", cpu: "1", scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}},
	} {
		c := tiny(2)
		put(c, "web", "a", asking("cpu", tt.cpu))
		put(c, "web", "b", asking("cpu", tt.cpu))
		c.Objects = []*cluster.Object{{Kind: cluster.KindQuota, Key: cluster.Key{Namespace: "d", Name: "q"}, Value: &corev1.ResourceQuota{
			Spec:   corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse(tt.hard)}, Scopes: tt.scopes},
			Status: corev1.ResourceQuotaStatus{Used: corev1.ResourceList{"pods": resource.MustParse("2")}}}}}
		o := lose(c, "a")
		if w := o.Workloads[0]; o.Missing != (Range{tt.missing, tt.missing}) || o.Pending != (Range{tt.pending, tt.pending}) ||
			w.After != (Range{2 - tt.missing - tt.pending, 2 - tt.missing - tt.pending}) || len(o.Unknown) != len(tt.scopes) {
			t.Errorf("%s: %+v", what, o)
		}
	}
}

// crowd returns a half-full cluster of the given size.
func crowd(nodes, podsEach int) *cluster.Snapshot {
	c := cluster.Contents{At: t0, ServerVersion: "v1.36.3"}
	for i := range nodes {
		name := fmt.Sprintf("n%04d", i)
		c.Nodes = append(c.Nodes, &cluster.Node{Name: name, Ready: cluster.TriTrue, CPUMilli: 32000, MemoryBytes: 128 << 30, MaxPods: 110,
			Labels: fmt.Sprintf("kubernetes.io/hostname=%s,topology.kubernetes.io/zone=%c", name, 'a'+i%3), RenewSeen: t0, Renewed: t0, LeaseDuration: 40 * time.Second})
		for k := range podsEach {
			set := (i*podsEach + k*7) % (nodes * 2)
			spec := asking("cpu", fmt.Sprintf("%dm", 100+set%7*100), "memory", fmt.Sprintf("%dMi", 256+set%5*512))
			if set%10 == 0 {
				spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("s%d", set)}}}}
			}
			put(&c, fmt.Sprintf("s%d", set), name, spec)
		}
	}
	return cluster.NewSnapshot(c)
}

// BenchmarkOutageQuestion measures the forecast in a question with 1,000 nodes and
// 30,000 pods.
func BenchmarkOutageQuestion(b *testing.B) {
	s := crowd(1000, 30)
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		defer testenv.Measure(b)()
		for b.Loop() {
			New(s)
		}
	})
	b.Run("two nodes", func(b *testing.B) {
		b.ReportAllocs()
		defer testenv.Measure(b)()
		for b.Loop() {
			New(s).Lose([]string{"n0001", "n0500"}, Options{})
		}
	})
}

// A run ends even when preemption finds no node.
func TestARunEndsWhenPreemptionFindsNoNode(t *testing.T) {
	c := tiny(2)
	high := asking("cpu", "4")
	value := int32(100)
	high.Priority = &value
	put(c, "important", "a", high)
	put(c, "spare", "b", asking("cpu", "1"))
	c.Nodes[1].CPUMilli = 3000
	put(c, "stuck", "a", asking("cpu", "2500m"))
	if o := lose(c, "a"); o.Pending != (Range{2, 2}) || o.Victims.High != 0 {
		t.Errorf("%+v", o)
	}
}

// If Fits is certain, no order of pods disproves it.
func TestFitsIsCertain(t *testing.T) {
	w := New(crowd(30, 30))
	sure := 0
	for i, n := range w.nodes {
		names := []string{n.name, w.nodes[(i*7+3)%len(w.nodes)].name}
		if _, fits := w.Fits(names...); !fits {
			continue
		}
		sure++
		for seed := range uint64(5) {
			r := w.newRun(seed)
			r.play(sortedNodes(w, names))
			if len(r.asleep) > 0 {
				t.Fatalf("%v: %d pods found no node", names, len(r.asleep))
			}
		}
	}
	if sure == 0 {
		t.Error("nothing is certain in a cluster that is half empty")
	}
	t.Logf("certain for %d of %d pairs", sure, len(w.nodes))
}

// BenchmarkFits measures Fits for one pair of 1,000 nodes.
func BenchmarkFits(b *testing.B) {
	w := New(crowd(1000, 30))
	sure, k := 0, 0
	for b.Loop() {
		k++
		if _, fits := w.Fits(w.nodes[k%1000].name, w.nodes[(k*37+11)%1000].name); fits {
			sure++
		}
	}
	b.ReportMetric(100*float64(sure)/float64(k), "%certain")
}
