package place_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// families are the rules that worlds exercise.
var families = []string{"cpu", "pods", "memory", "gpu", "storage", "anti-affinity", "spread", "volumes", "ports", "affinity", "taints", "priority",
	"init", "quota", "jobs", "namespaces", "mixed"}

// world is a random cluster that loses some nodes.
type world struct {
	family  string
	seed    uint64
	dice    *rand.Rand
	prefix  string // prefix of its namespaces
	objects []runtime.Object
	nodes   []*corev1.Node
	lost    []string
	sets    int
}

func (w *world) one(of ...string) string { return of[w.dice.IntN(len(of))] }
func (w *world) n(least, most int) int   { return least + w.dice.IntN(most-least+1) }
func (w *world) chance(percent int) bool { return w.dice.IntN(100) < percent }

func amounts(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func newWorld(seed uint64, family string) *world {
	w := &world{family: family, seed: seed, dice: rand.New(rand.NewPCG(seed, 21)), prefix: fmt.Sprintf("w%d-", seed)}
	zones := w.n(2, 3)
	for i := range w.n(6, 12) {
		name := fmt.Sprintf("%sn%d", w.prefix, i)
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name,
			corev1.LabelTopologyZone: string(rune('a' + i%zones)), "pool": w.one("x", "x", "y")}}}
		n.Status.Allocatable = amounts("cpu", w.one("4", "8"), "memory", w.one("8Gi", "16Gi"), "pods", "110", "ephemeral-storage", "100Gi")
		if family == "pods" || family == "mixed" && w.chance(10) {
			n.Status.Allocatable["pods"] = resource.MustParse(w.one("6", "8", "10"))
		}
		if (family == "gpu" || family == "mixed") && w.chance(60) {
			n.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse(w.one("2", "4"))
		}
		if (family == "taints" || family == "mixed") && w.chance(30) {
			n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: w.one("a", "b"), Effect: corev1.TaintEffectNoSchedule}}
		}
		n.Status.Capacity = n.Status.Allocatable
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		w.nodes = append(w.nodes, n)
	}
	for _, i := range w.dice.Perm(len(w.nodes))[:w.n(1, 3)] {
		w.lost = append(w.lost, w.nodes[i].Name)
	}
	w.populate()
	return w
}

// populate fills the world until pods request a given share of its CPU or memory.
func (w *world) populate() {
	var have, asked int64
	key := corev1.ResourceCPU
	tight := w.n(55, 90)
	switch w.family {
	case "memory":
		key = corev1.ResourceMemory
	case "storage":
		key = corev1.ResourceEphemeralStorage
	case "pods":
		key = corev1.ResourcePods
	case "gpu":
		key = "nvidia.com/gpu"
	case "anti-affinity", "spread", "volumes", "ports":
		tight = w.n(25, 60)
	}
	for _, n := range w.nodes {
		q := n.Status.Allocatable[key]
		have += q.MilliValue() / 1000
		if key == corev1.ResourceCPU {
			have += q.MilliValue() - q.MilliValue()/1000
		}
	}
	most := map[string]int{"ports": 8, "anti-affinity": 14, "volumes": 14}[w.family]
	if most == 0 {
		most = 40
	}
	for asked*100 < have*int64(tight) && w.sets < most {
		replicas := w.n(1, 7)
		spec := w.podSpec(replicas)
		q := spec.Containers[0].Resources.Requests[key]
		one := q.Value()
		if key == corev1.ResourceCPU {
			one = q.MilliValue()
		} else if key == corev1.ResourcePods {
			one = 1
		}
		asked += max(1, one) * int64(replicas)
		w.add(spec, replicas)
	}
	if w.family == "quota" || w.family == "mixed" && w.chance(30) {
		w.objects = append(w.objects, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: w.space(0)},
			Spec: corev1.ResourceQuotaSpec{Hard: amounts("pods", fmt.Sprint(w.n(8, 40)), "requests.cpu", fmt.Sprint(w.n(8, 30)))}})
	}
}

func (w *world) space(i int) string { return fmt.Sprintf("%s%d", w.prefix, i) }

// podSpec returns a random pod of the family.
func (w *world) podSpec(replicas int) *corev1.PodSpec {
	is := func(family string, percent int) bool {
		return w.family == family && w.chance(70) || w.family == "mixed" && w.chance(percent)
	}
	labels := w.labels()
	cpus := w.one("200m", "500m", "1", "1500m", "2")
	if w.family != "cpu" && w.family != "priority" && w.family != "mixed" {
		cpus = w.one("100m", "200m", "500m")
	}
	c := corev1.Container{Name: "main", Image: "i", Resources: corev1.ResourceRequirements{Requests: amounts("cpu", cpus, "memory", w.one("64Mi", "256Mi"))}}
	if w.family == "affinity" || w.family == "taints" || w.family == "init" {
		c.Resources.Requests["cpu"] = resource.MustParse(w.one("500m", "1", "2"))
	}
	grace := int64(1) // a quota counts a pod that hangs for twice as long
	spec := &corev1.PodSpec{Containers: []corev1.Container{c}, TerminationGracePeriodSeconds: &grace}
	requests := spec.Containers[0].Resources.Requests
	if is("memory", 20) {
		requests["memory"] = resource.MustParse(w.one("1Gi", "2Gi", "3Gi", "5Gi"))
	}
	if is("storage", 10) {
		requests["ephemeral-storage"] = resource.MustParse(w.one("10Gi", "20Gi", "40Gi"))
	}
	if is("gpu", 15) {
		q := amounts("nvidia.com/gpu", w.one("1", "1", "2"))
		requests["nvidia.com/gpu"] = q["nvidia.com/gpu"]
		spec.Containers[0].Resources.Limits = q
	}
	if is("anti-affinity", 10) {
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: w.one(corev1.LabelHostname, corev1.LabelHostname, corev1.LabelHostname, corev1.LabelTopologyZone), LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}}}}
		if w.chance(20) {
			spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": w.one("0", "1")}}
		}
	}
	if is("spread", 12) {
		w.spread(spec, labels)
	}
	if is("affinity", 12) {
		w.affinity(spec)
	}
	if is("taints", 20) {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: w.one("a", "b"), Effect: corev1.TaintEffectNoSchedule})
	}
	if is("ports", 6) {
		spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: int32(w.n(8080, 8083))}}
	}
	if is("priority", 25) {
		spec.PriorityClassName = w.one("low", "high", "top", "patient")
	}
	if is("init", 15) {
		w.inits(spec)
	}
	if is("volumes", 10) && replicas > 0 {
		w.volume(spec)
	}
	return spec
}

func (w *world) labels() map[string]string {
	return map[string]string{"app": fmt.Sprintf("s%d", w.sets)}
}

func (w *world) spread(spec *corev1.PodSpec, labels map[string]string) {
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone}[:w.n(1, 2)] {
		t := corev1.TopologySpreadConstraint{MaxSkew: int32(w.n(1, 2)), TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}
		if w.chance(20) {
			t.MinDomains = new(int32)
			*t.MinDomains = int32(w.n(2, 3))
		}
		if w.chance(20) {
			t.WhenUnsatisfiable, t.MinDomains = corev1.ScheduleAnyway, nil
		}
		spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, t)
	}
}

func (w *world) affinity(spec *corev1.PodSpec) {
	pool := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: []string{w.one("x", "y")}}}}
	near := corev1.PodAffinityTerm{TopologyKey: w.one(corev1.LabelHostname, corev1.LabelTopologyZone), LabelSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{"app": fmt.Sprintf("s%d", w.n(max(0, w.sets-2), w.sets))}}}
	spec.Affinity = &corev1.Affinity{}
	switch w.n(0, 3) {
	case 0:
		spec.NodeSelector = map[string]string{"pool": w.one("x", "y")}
	case 1:
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{pool}}}
	case 2:
		spec.Affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{near}}
	case 3:
		spec.Affinity.PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 50, PodAffinityTerm: near}}}
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 80, Preference: pool}}}
	}
}

func (w *world) inits(spec *corev1.PodSpec) {
	c := corev1.Container{Name: "init", Image: "i", Resources: corev1.ResourceRequirements{Requests: amounts("cpu", w.one("1", "2", "3"))}}
	if w.chance(40) {
		always := corev1.ContainerRestartPolicyAlways
		c.RestartPolicy = &always
	}
	spec.InitContainers = []corev1.Container{c}
	if w.chance(30) {
		over := "over"
		spec.RuntimeClassName = &over
	}
	if pod := resource.MustParse("4Gi"); w.chance(20) && pod.Cmp(spec.Containers[0].Resources.Requests["memory"]) >= 0 { // else the API server refuses the pod
		spec.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu", "5500m", "memory", "4Gi")}
	}
}

// volume adds a volume to a pod, on one node or in one zone.
func (w *world) volume(spec *corev1.PodSpec) {
	name := fmt.Sprintf("%sv%d", w.prefix, w.sets)
	key, at, mode := corev1.LabelHostname, w.nodes[w.n(0, len(w.nodes)-1)].Name, corev1.ReadWriteOnce
	if w.chance(50) {
		key, at = corev1.LabelTopologyZone, w.one("a", "b")
	}
	class, size := "", amounts("storage", "1Gi")
	w.objects = append(w.objects, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		Capacity: size, AccessModes: []corev1.PersistentVolumeAccessMode{mode}, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: w.space(0), Name: name},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.rig", VolumeHandle: name}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{at}}}}}}},
	}}, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.space(0)}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{mode}, StorageClassName: &class, VolumeName: name, Resources: corev1.VolumeResourceRequirements{Requests: size}}})
	spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
}

// add creates an owner of such pods.
func (w *world) add(spec *corev1.PodSpec, replicas int) {
	labels := w.labels()
	labels["tier"] = w.one("0", "1")
	space := 0
	if (w.family == "namespaces" || w.family == "quota") && spec.Volumes == nil {
		space = w.n(0, 1)
	}
	meta := metav1.ObjectMeta{Name: fmt.Sprintf("s%d", w.sets), Namespace: w.space(space), Labels: labels}
	n := int32(replicas)
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: *spec}
	choose := &metav1.LabelSelector{MatchLabels: map[string]string{"app": labels["app"]}}
	kind := "set"
	if w.family == "jobs" && w.chance(60) || w.family == "mixed" && w.chance(12) {
		kind = w.one("job", "job", "stateful", "bare")
	}
	switch kind {
	case "job":
		limit := int32(w.n(0, 2))
		if w.chance(40) {
			limit = 6
		}
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
		w.objects = append(w.objects, &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: &n, BackoffLimit: &limit, Template: template}})
	case "stateful":
		w.objects = append(w.objects, &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: &n, Selector: choose, Template: template,
			PodManagementPolicy: appsv1.ParallelPodManagement}})
	case "bare":
		w.objects = append(w.objects, &corev1.Pod{ObjectMeta: meta, Spec: *spec})
	default:
		w.objects = append(w.objects, &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &n, Selector: choose, Template: template}})
	}
	w.sets++
}

// spaces returns the world's namespaces.
func (w *world) spaces() []string { return []string{w.space(0), w.space(1)} }

func (w *world) quota() bool {
	return slices.ContainsFunc(w.objects, func(o runtime.Object) bool { _, ok := o.(*corev1.ResourceQuota); return ok })
}
