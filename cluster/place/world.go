package place

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"lightsout/cluster"
)

var missing = corev1.ResourceList{corev1.ResourceCPU: quantity.MustParse("100m"), corev1.ResourceMemory: quantity.MustParse("200Mi")}

// World is a compiled cluster that forecasts where its pods go. One goroutine may use
// it.
type World struct {
	// Loose lists rules, by their names in Workload.Rules, that do not hold for new pods of a workload; Roomy: each
	// node has room for any pod. Both are set before the first forecast.
	Loose map[cluster.Key][]string
	Roomy bool

	s         *cluster.Snapshot
	nodes     []*node // sorted by name
	byName    map[string]int
	pods      []pod
	names     []string // names of resources
	resources map[string]int
	specs     map[cluster.Spec]*needs
	classes   []*class
	wanted    map[cluster.Key]int // pods of a workload, by its specification
	byKey     map[classKey]*class
	lastKey   classKey // of last
	last      *class
	guards    []*class // classes with pod affinity or anti-affinity
	spaces    map[string]labels.Set
	tops      map[string]*topology

	budgets []budget
	quotas  map[string][]*corev1.ResourceQuota // by namespace, without those with scopes
	scoped  map[string]bool                    // namespaces with a quota that has scopes

	// used holds the requests on each node, node by node, len(names) each. load holds
	// the number of its pods and the amounts for the score.
	used []int64
	load []load

	counters int      // number of counters
	dead     []bool   // by node: lost before or in the current forecast
	marked   []int    // the nodes of the current forecast
	idle     []*class // classes with pods that wait for a node
	scratch  movers   // of Fits
}

// load is the use of a node apart from the resources.
type load struct {
	pods     int64
	cpu, mem int64 // as the least-allocated score counts them
	balance  int64 // of its CPU and memory; see balance
}

// node is a node before the outage.
type node struct {
	name     string
	api      *corev1.Node
	capacity []int64
	maxPods  int64
	pods     []*pod
	unwell   bool // silent or not Ready before the outage
}

// pod is a pod that has a node.
type pod struct {
	*class
	node    int
	name    string
	created time.Time
	// ending: the pod is being deleted, and its node is down and cannot confirm that.
	ending bool
	serves bool
	starts bool          // its phase is Pending
	waits  bool          // the run gave it a node, where it waits for its volume
	stays  time.Duration // how long it tolerates a node that is down; negative is for ever
	static bool
}

// bound reports whether the pod belongs to its node, so that no other one replaces it.
func (p *pod) bound() bool { return p.static || p.kind == "DaemonSet" }

// moves reports whether a pod is evicted when its node is down or, if it is not down, drained. A
// drain leaves a pod without a controller, and waits for no toleration.
func (w *World) moves(p *pod) (after time.Duration, moves bool) {
	if w.dead[p.node] {
		return p.stays, p.stays >= 0 && !p.ending && !p.bound()
	}
	return 0, p.kind != "" && !p.bound() // only a node that is down has pods that are ending
}

// budget is a PodDisruptionBudget.
type budget struct {
	cluster.Key
	selector labels.Selector
	*policyv1.PodDisruptionBudget
}

// topology assigns each node to a domain by the value of a label.
type topology struct {
	of    []int32 // by node; -1 without the label
	names []string
}

// New compiles a Snapshot. Its cost follows the number of pods: about 15 ms for
// 30,000.
func New(s *cluster.Snapshot) *World {
	w := &World{
		s: s, byName: map[string]int{}, resources: map[string]int{}, specs: map[cluster.Spec]*needs{},
		byKey: map[classKey]*class{}, spaces: map[string]labels.Set{}, tops: map[string]*topology{},
		wanted: map[cluster.Key]int{}, quotas: map[string][]*corev1.ResourceQuota{}, scoped: map[string]bool{},
	}
	for _, name := range []string{"cpu", "memory", "ephemeral-storage"} {
		w.resource(name)
	}
	w.addObjects()
	unwell := map[string]bool{}
	for _, n := range s.Unwell(s.At) {
		unwell[n.Name] = true
	}
	for _, n := range s.Nodes() {
		if n.Gone.IsZero() {
			w.addNode(n, unwell[n.Name])
		}
	}
	neighbours := s.Objects(cluster.KindNeighbour)
	w.pods = make([]pod, 0, s.PodCount()+len(neighbours)) // pointers lead into it: it must not grow
	for _, piece := range s.PodPieces() {
		for _, p := range piece {
			w.addPod(p)
		}
	}
	for _, o := range neighbours {
		w.addPod(o.Value.(*cluster.Pod))
	}
	w.fill()
	return w
}

// object returns an object of the cluster; nil if there is none.
func object[T any](w *World, kind cluster.Kind, namespace, name string) *T {
	o, _ := w.s.Object(kind, cluster.Key{Namespace: namespace, Name: name}).(*T)
	return o
}

func (w *World) addObjects() {
	for _, kind := range cluster.PlaceKinds {
		for _, o := range w.s.Objects(kind) {
			switch x := o.Value.(type) {
			case *corev1.ResourceQuota:
				if len(x.Spec.Scopes) > 0 || x.Spec.ScopeSelector != nil {
					w.scoped[o.Namespace] = true
				} else {
					w.quotas[o.Namespace] = append(w.quotas[o.Namespace], x)
				}
			case *policyv1.PodDisruptionBudget:
				w.budgets = append(w.budgets, budget{o.Key, selector(x.Spec.Selector), x})
			case *corev1.Namespace:
				w.spaces[o.Name] = x.Labels
			}
		}
	}
}

func (w *World) addNode(n *cluster.Node, unwell bool) {
	api := &corev1.Node{}
	api.Name, api.Labels, api.Spec.Unschedulable = n.Name, ParseLabels(n.Labels), n.Unschedulable
	for _, t := range n.Taints {
		api.Spec.Taints = append(api.Spec.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	out := &node{name: n.Name, api: api, capacity: []int64{n.CPUMilli, n.MemoryBytes}, maxPods: n.MaxPods, unwell: unwell}
	for pair := range strings.SplitSeq(n.Resources, ",") {
		if name, text, ok := strings.Cut(pair, "="); ok {
			v, _ := strconv.ParseInt(text, 10, 64) // cluster.extraResources wrote the text
			i := w.resource(name)
			out.capacity = append(out.capacity, make([]int64, max(0, i+1-len(out.capacity)))...)
			out.capacity[i] = v
		}
	}
	w.byName[n.Name] = len(w.nodes)
	w.nodes, w.dead = append(w.nodes, out), append(w.dead, unwell)
}

func (w *World) addPod(p *cluster.Pod) {
	if !p.Gone.IsZero() || p.Finished() {
		return
	}
	at, bound := w.byName[p.Node]
	ending := !p.Deleting.IsZero()
	if ending && (!bound || !w.nodes[at].unwell) || p.Node != "" && !bound {
		return // its node deletes it in a moment
	}
	c := w.classOf(p)
	c.stays = p.UnreachableFor
	if !bound {
		if len(c.spec.SchedulingGates) == 0 { // the scheduler does not even try a gated pod
			c.waiting++
		}
		return
	}
	w.pods = append(w.pods, pod{class: c, node: at, name: p.Name, created: p.Created, ending: ending, serves: p.Serving(), starts: p.Phase == string(corev1.PodPending), stays: p.UnreachableFor, static: p.Static})
	x := &w.pods[len(w.pods)-1]
	c.pods, w.nodes[at].pods = append(c.pods, x), append(w.nodes[at].pods, x)
}

// fill adds up the use of each node; every resource must have its index by then.
func (w *World) fill() {
	for _, c := range w.classes {
		if len(c.spec.Volumes) > 0 {
			c.alone = w.s.AttachedAlone(c.namespace, c.spec)
		}
		if c.waiting > 0 {
			w.idle = append(w.idle, c)
		}
	}
	w.used, w.load = make([]int64, len(w.nodes)*len(w.names)), make([]load, len(w.nodes))
	for i, n := range w.nodes {
		n.capacity = append(n.capacity, make([]int64, len(w.names)-len(n.capacity))...)
		used := w.used[i*len(w.names):][:len(w.names)]
		for _, p := range n.pods {
			for _, r := range p.requests {
				used[r.resource] += r.n
			}
			w.load[i].add(p.class, 1)
		}
		w.load[i].balance = balance(used[cpu], used[memory], n.capacity)
	}
}

// frees reports whether the evicted pods of a node end, and their volumes are detached: the node is
// not down, or the control plane does so although the node cannot confirm that.
func (w *World) frees(node int) bool {
	return !w.dead[node] || slices.ContainsFunc(w.nodes[node].api.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cluster.TaintOutOfService })
}

func (l *load) add(c *class, sign int64) {
	l.pods += sign
	l.cpu += sign * c.scoreCPU
	l.mem += sign * c.scoreMem
}

// topology returns the domains of a label's key.
func (w *World) topology(key string) *topology {
	if t := w.tops[key]; t != nil {
		return t
	}
	t := &topology{of: make([]int32, len(w.nodes))}
	known := map[string]int32{}
	for i, n := range w.nodes {
		v, ok := n.api.Labels[key]
		if !ok {
			t.of[i] = -1
			continue
		}
		d, ok := known[v]
		if !ok {
			d = int32(len(t.names))
			known[v], t.names = d, append(t.names, v)
		}
		t.of[i] = d
	}
	w.tops[key] = t
	return t
}

// importance orders pods as preemption does: by priority, then by age, the oldest
// first.
func importance(a, b *pod) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), a.created.Compare(b.created))
}

func sortedNodes(w *World, names []string) (out []int) {
	for _, name := range names {
		if i, ok := w.byName[name]; ok {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
