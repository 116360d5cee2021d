package place

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"lightsout/cluster"
)

// run is one simulated course of an outage: one order of pods, one sequence of random
// choices.
type run struct {
	*World
	dice *rand.Rand
	used []int64
	load []load
	gone map[*pod]bool
	// hangs has the evicted pods that wait in Terminating for their node.
	hangs map[*pod]bool
	more  map[int][]*pod // by node: pods that the run has put there

	log []change
	// version increases with each change.
	version int
	lowest  []lowest // by counter, like counts
	placed  int
	active  map[int][]*counter // counters in use, by the class that they count
	counts  [][]int32          // by counter; nil until used
	first   int                // node at which the next search begins
	wave    uint32             // of the pods that are evicted now

	jobs map[cluster.Key]*jobState
	// spent is what the quotas have given.
	spent map[*corev1.ResourceQuota]corev1.ResourceList
	// disruptions is by how many healthy pods each budget has fewer, evicted how many the drain has evicted.
	disruptions map[*budget]int32
	evicted     map[*budget]int

	queue  []*item  // pods that the scheduler will see
	ready  []*item  // pods that it sees now
	doomed []*class // of Jobs that have failed, whose pods still run
	sorted bool     // the queue is sorted
	asleep []*item  // pods that found no node
	unmade []*item  // pods that a quota forbids
	held   []*item  // drained pods that the API server does not evict
	fates  fates
	// fits are the nodes that fit the pod that is scheduled now, and scores their scores.
	fits   []int
	scores []int64
	parts  []int64 // scratch space: one score before it is scaled
}

// change is a change that counters have to apply.
type change struct {
	class *class
	node  int
	n     int32
	// living: the pod is being deleted, so only counters of living pods drop it.
	living bool
}

func (w *World) newRun(seed uint64) *run {
	return &run{World: w, dice: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)), used: slices.Clone(w.used), load: slices.Clone(w.load),
		version: 1, gone: map[*pod]bool{}, hangs: map[*pod]bool{}, more: map[int][]*pod{},
		active: map[int][]*counter{}, jobs: map[cluster.Key]*jobState{},
		spent: map[*corev1.ResourceQuota]corev1.ResourceList{}, disruptions: map[*budget]int32{}, evicted: map[*budget]int{}, fates: fates{}}
}

// of returns the current counts of a counter.
func (r *run) of(k *counter) []int32 {
	if k.id < len(r.counts) && r.counts[k.id] != nil {
		return r.counts[k.id]
	}
	if n := r.counters - len(r.counts); n > 0 {
		r.counts, r.lowest = append(r.counts, make([][]int32, n)...), append(r.lowest, make([]lowest, n)...)
	}
	r.counts[k.id] = slices.Clone(k.base)
	for _, ch := range r.log {
		r.follow(k, ch)
	}
	for _, id := range k.ids {
		r.active[id] = append(r.active[id], k)
	}
	return r.counts[k.id]
}

func (r *run) follow(k *counter, ch change) {
	if k.match[ch.class.id] && (!ch.living || k.living) {
		k.count(r.counts[k.id], ch.node, ch.n)
	}
}

func (r *run) note(ch change) {
	r.version++
	r.log = append(r.log, ch)
	for _, k := range r.active[ch.class.id] {
		r.follow(k, ch)
	}
}

// add puts a pod of a class on a node; sign -1 removes one.
func (r *run) add(c *class, node int, sign int64) {
	at := node * len(r.names)
	for _, a := range c.requests {
		r.used[at+a.resource] += sign * a.n
	}
	l := &r.load[node]
	l.add(c, sign)
	l.balance = balance(r.used[at+cpu], r.used[at+memory], r.nodes[node].capacity)
	r.note(change{c, node, int32(sign), false})
}

// remove takes a pod from its node; restore puts it back.
func (r *run) remove(p *pod)  { r.gone[p] = true; r.add(p.class, p.node, -1) }
func (r *run) restore(p *pod) { delete(r.gone, p); r.add(p.class, p.node, 1) }

// on returns the pods that are on a node now.
func (r *run) on(node int) []*pod {
	return slices.DeleteFunc(slices.Concat(r.nodes[node].pods, r.more[node]), func(p *pod) bool { return r.gone[p] })
}

// why returns the reason why a node takes no pod of the class. Like the scheduler it
// stops at the first rule that refuses the pod; only the rule on resources returns
// several reasons, one for each resource.
func (r *run) why(c *class, u *rules, node int) string {
	if r.dead[node] && !u.tolerates {
		return taints
	}
	if why := at(u.before, node); why != "" {
		return why
	}
	if why := r.blocked(u.ports, node); why != "" {
		return why
	}
	if !r.room(c, node) {
		return insufficient
	}
	return r.ruled(u, node)
}

// ruled returns the reason of the rules behind the one on resources.
func (r *run) ruled(u *rules, node int) string {
	if why := at(u.after, node); why != "" {
		return why
	}
	if why := r.uneven(u, node); why != "" {
		return why
	}
	if !r.near(u, node) {
		return affinity
	}
	return r.blocked(u.anti, node)
}

func (r *run) blocked(list []blocker, node int) string {
	for i := range list {
		if d := list[i].counter.of[node]; d >= 0 && r.of(list[i].counter)[d] > 0 {
			return list[i].why
		}
	}
	return ""
}

// room reports whether a node has the resources for one more pod of the class.
func (r *run) room(c *class, node int) bool {
	n := r.nodes[node]
	if r.Roomy {
		return true
	}
	if r.load[node].pods >= n.maxPods {
		return false
	}
	at := node * len(r.names)
	for _, a := range c.requests {
		if a.n > n.capacity[a.resource]-r.used[at+a.resource] {
			return false
		}
	}
	return true
}

// uneven returns the reason when a topology spread constraint keeps the pod off the
// node.
func (r *run) uneven(u *rules, node int) string {
	for i := range u.spreads {
		s := &u.spreads[i]
		d := s.counter.of[node]
		if d < 0 {
			return noSpreadLabel
		}
		counts := r.of(s.counter)
		n := counts[d]
		if s.self {
			n++
		}
		if n-r.lowest[s.id].of(r, s, counts) > s.skew {
			return unevenSpread
		}
	}
	return ""
}

// lowest is a cached minimum and the version of the run for which it holds.
type lowest struct {
	version int
	n       int32
}

// of returns the minimum of a spread's counts, which have changed only with the run's version.
func (l *lowest) of(r *run, s *spread, counts []int32) int32 {
	if l.version != r.version {
		*l = lowest{r.version, s.minimum(counts, r.dead)}
	}
	return l.n
}

// near reports whether the domain has the pods that the class requires nearby.
func (r *run) near(u *rules, node int) bool {
	present, any := true, false
	for _, k := range u.affinity {
		d := k.of[node]
		if d < 0 {
			return false
		}
		present = present && r.of(k)[d] > 0
	}
	if present || !u.alone {
		return present
	}
	for _, k := range u.affinity {
		any = any || slices.ContainsFunc(r.of(k), func(n int32) bool { return n > 0 })
	}
	return !any
}

// find returns the node that the scheduler would choose for a pod of the class; -1 when
// no node takes it. In a large cluster it checks a part of the nodes and continues
// there next time, as the scheduler does.
func (r *run) find(c *class) int {
	u := r.rulesOf(c)
	if u.never != "" {
		return -1
	}
	enough := sampled(len(r.nodes))
	fits := r.fits[:0]
	i := r.first
	for range r.nodes {
		if r.why(c, u, i) == "" {
			fits = append(fits, i)
			if len(fits) == enough {
				break
			}
		}
		i = (i + 1) % len(r.nodes)
	}
	r.first, r.fits = i, fits
	switch len(fits) {
	case 0:
		return -1
	case 1:
		return fits[0]
	}
	return r.best(c, u)
}

// sampled is the number of fitting nodes at which the scheduler stops searching
// (numFeasibleNodesToFind).
func sampled(nodes int) int {
	const least = 100
	if nodes < least {
		return nodes
	}
	return max(least, nodes*max(5, 50-nodes/125)/100)
}

// put places a pod of the class on a node.
func (r *run) put(c *class, node int) *pod {
	p := &pod{class: c, node: node, created: r.s.At, serves: true, stays: c.stays}
	r.more[node] = append(r.more[node], p)
	r.placed++
	r.add(c, node, 1)
	return p
}
