package place

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	resources "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/utils/ptr"

	"lightsout/cluster"
)

// Indexes of resources. Further resources get the next indexes as New finds them.
const (
	cpu = iota // in thousandths
	memory
	storage // ephemeral
)

// amount is a quantity of one resource.
type amount struct {
	resource int
	n        int64
}

// class is a set of equal pods: one owner, the same labels, the same specification. The
// pods of one ReplicaSet are one class.
type class struct {
	id        int
	namespace string
	labels    string // in the format of cluster.Pod.Labels
	kind      string // kind of the owner
	owner     string
	workload  cluster.Key
	*needs

	set     labels.Set    // parsed labels; nil until needed
	pods    []*pod        // pods that have a node at first
	waiting int           // pods without a node at first
	stays   time.Duration // that of a new pod
	rules   *rules        // nil until a pod of the class needs a node
	budgets []*budget     // those that protect its pods; nil until needed
	// alone names its volumes that one node at a time can attach.
	alone []string
}

// needs is the demand of a specification on a node. Classes with the same specification
// share it.
type needs struct {
	pod      *corev1.Pod // an example: its specification
	spec     *corev1.PodSpec
	requests []amount
	cpu, mem int64 // requests; 0 without one
	// scoreCPU and scoreMem are the amounts for the least-allocated score, which counts
	// a container without a request as 100m and 200 Mi.
	scoreCPU, scoreMem int64
	priority           int32
	affinity           corev1.PodAffinity
	anti               corev1.PodAntiAffinity
	ports              []corev1.ContainerPort
}

func (w *World) compile(spec cluster.Spec) *needs {
	if n := w.specs[spec]; n != nil {
		return n
	}
	n := &needs{pod: &corev1.Pod{Spec: *spec.Decode()}}
	n.spec, w.specs[spec] = &n.pod.Spec, n
	for name, q := range resources.PodRequests(n.pod, resources.PodResourcesOptions{}) {
		v := q.Value()
		if name == corev1.ResourceCPU {
			v = q.MilliValue()
			n.cpu = v
		} else if name == corev1.ResourceMemory {
			n.mem = v
		}
		if v > 0 {
			n.requests = append(n.requests, amount{w.resource(string(name)), v})
		}
	}
	counted := resources.PodRequests(n.pod, resources.PodResourcesOptions{NonMissingContainerRequests: missing})
	n.scoreCPU, n.scoreMem = counted.Cpu().MilliValue(), counted.Memory().Value()
	n.priority = ptr.Deref(n.spec.Priority, 0)
	if a := n.spec.Affinity; a != nil {
		n.affinity, n.anti = ptr.Deref(a.PodAffinity, n.affinity), ptr.Deref(a.PodAntiAffinity, n.anti)
	}
	for _, c := range slices.Concat(n.spec.Containers, n.spec.InitContainers) {
		n.ports = append(n.ports, c.Ports...)
	}
	return n
}

// Requests are those of a pod of each workload.
func (w *World) Requests() map[cluster.Key]corev1.ResourceList {
	all := map[cluster.Key]corev1.ResourceList{}
	for _, c := range w.classes {
		all[c.workload] = resources.PodRequests(c.pod, resources.PodResourcesOptions{})
	}
	return all
}

// Waiting is how many pods of each workload wait for a node already.
func (w *World) Waiting() map[cluster.Key]int {
	out := map[cluster.Key]int{}
	for _, c := range w.idle {
		out[c.workload] += c.waiting
	}
	return out
}

// resource returns the index of a resource.
func (w *World) resource(name string) int {
	i, ok := w.resources[name]
	if !ok {
		i = len(w.names)
		w.resources[name], w.names = i, append(w.names, name)
	}
	return i
}

// classKey identifies a class.
type classKey struct {
	spec                           cluster.Spec
	milli                          int64
	namespace, labels, kind, owner string
}

func (w *World) classOf(p *cluster.Pod) *class {
	k := classKey{p.Spec, p.CPUMilli, p.Namespace, p.Labels, p.OwnerKind, p.OwnerName}
	if w.last != nil && k == w.lastKey { // a snapshot lists the pods of an owner side by side
		return w.last
	}
	if c := w.byKey[k]; c != nil {
		w.lastKey, w.last = k, c
		return c
	}
	c := &class{id: len(w.classes), namespace: p.Namespace, labels: p.Labels, kind: p.OwnerKind, owner: p.OwnerName, needs: w.compile(p.Spec)}
	if p.Spec == (cluster.Spec{}) && p.CPUMilli > 0 { // the format of records
		c.needs = &needs{pod: c.pod, spec: c.spec, cpu: p.CPUMilli, scoreCPU: p.CPUMilli, requests: []amount{{cpu, p.CPUMilli}}}
	}
	ref := p.Workload()
	if o := w.s.Workload(ref); o != nil && ref.Kind != cluster.KindJob { // which wants completions
		w.wanted[ref.Key] = o.Desired
	}
	c.workload = ref.Key
	w.byKey[k], w.classes = c, append(w.classes, c)
	if a := c.spec.Affinity; a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
		w.guards = append(w.guards, c)
	}
	return c
}

func (c *class) labelSet() labels.Set {
	if c.set == nil {
		c.set = ParseLabels(c.labels)
	}
	return c.set
}

// ParseLabels reads the labels of a cluster.Node or Pod, "a=b,c=d".
func ParseLabels(text string) labels.Set {
	out := labels.Set{}
	for pair := range strings.SplitSeq(text, ",") {
		if k, v, ok := strings.Cut(pair, "="); ok {
			out[k] = v
		}
	}
	return out
}

// term is a term of pod affinity or anti-affinity, parsed for matching.
type term struct {
	key        string // topology key
	namespaces sets.Set[string]
	spaces     labels.Selector // selects namespaces by their labels
	selector   labels.Selector
}

func (w *World) term(c *class, t *corev1.PodAffinityTerm) term {
	out := term{t.TopologyKey, sets.New(t.Namespaces...), selector(t.NamespaceSelector), selector(t.LabelSelector)}
	if t.NamespaceSelector == nil && len(t.Namespaces) == 0 {
		out.namespaces.Insert(c.namespace)
	}
	return out
}

func (t *term) matches(w *World, c *class) bool {
	return (t.namespaces.Has(c.namespace) || t.spaces.Matches(w.spaces[c.namespace])) && t.selector.Matches(c.labelSet())
}

// selector parses a label selector; an invalid one selects nothing, as does nil. The API server
// merged matchLabelKeys of affinity terms into it when the pod was created.
func selector(s *metav1.LabelSelector) labels.Selector {
	out, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return out
}

func (w *World) terms(c *class, list []corev1.PodAffinityTerm) []term {
	out := make([]term, 0, len(list))
	for i := range list {
		out = append(out, w.term(c, &list[i]))
	}
	return out
}

// unselected marks the nodes that the node selector or the required node affinity of a class
// excludes; nil when it has none.
func (w *World) unselected(c *class) []bool {
	if len(c.spec.NodeSelector) == 0 && (c.spec.Affinity == nil || c.spec.Affinity.NodeAffinity == nil) {
		return nil
	}
	required, out := nodeaffinity.GetRequiredNodeAffinity(c.pod), make([]bool, len(w.nodes))
	for i, n := range w.nodes {
		fits, _ := required.Match(n.api)
		out[i] = !fits
	}
	return out
}
