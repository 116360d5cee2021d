package place

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// counter counts the pods that match a rule, for each domain of a topology.
type counter struct {
	*topology
	id    int
	match []bool // indexed by class
	ids   []int  // the classes that match
	// living: the counter skips pods that are being deleted.
	living bool
	// skip marks nodes whose pods do not count; nil for none.
	skip []bool
	base []int32 // by domain, before the outage
}

// newCounter returns a counter for the pods of the classes that match.
func (w *World) newCounter(t *topology, living bool, skip []bool, match func(*class) bool) *counter {
	k := &counter{topology: t, id: w.counters, living: living, skip: skip, match: make([]bool, len(w.classes)), base: make([]int32, len(t.names))}
	w.counters++
	for i, c := range w.classes {
		if match(c) {
			k.match[i], k.ids = true, append(k.ids, i)
			for _, p := range c.pods {
				if !living || !p.ending {
					k.count(k.base, p.node, 1)
				}
			}
		}
	}
	return k
}

func (k *counter) count(into []int32, node int, n int32) {
	if d := k.of[node]; d >= 0 && (k.skip == nil || !k.skip[node]) {
		into[d] += n
	}
}

// blocker keeps pods out of the domains where its count is not 0.
type blocker struct {
	*counter
	why string
}

// weighted is a preference: a weight for each pod that it counts.
type weighted struct {
	*counter
	weight int64
}

// spread is a topology spread constraint.
type spread struct {
	*counter
	skew, least int32 // maxSkew and minDomains
	self        bool  // counts the pod itself
	hostname    bool
	taints      bool    // a node that is down is not eligible
	domains     [][]int // the eligible nodes of each domain
}

// minimum returns the smallest count among the domains with an eligible node; dead are the nodes that are down.
func (s *spread) minimum(counts []int32, dead []bool) int32 {
	least, n := int32(math.MaxInt32), int32(0)
	for d, nodes := range s.domains {
		if slices.ContainsFunc(nodes, func(i int) bool { return !s.taints || !dead[i] }) {
			least, n = min(least, counts[d]), n+1
		}
	}
	if n < s.least {
		return 0
	}
	return least
}

// affinityCounters returns a counter for each required affinity term; a pod must match
// all terms to count. alone: the class matches its own terms.
func (w *World) affinityCounters(c *class) (out []*counter, alone bool) {
	terms := w.terms(c, c.affinity.RequiredDuringSchedulingIgnoredDuringExecution)
	all := func(x *class) bool {
		return !slices.ContainsFunc(terms, func(t term) bool { return !t.matches(w, x) })
	}
	for i := range terms {
		out = append(out, w.newCounter(w.topology(terms[i].key), false, nil, all))
	}
	return out, len(terms) > 0 && all(c)
}

// antiBlockers keep the class away from pods that it must avoid, and from pods that
// must avoid it.
func (w *World) antiBlockers(c *class) (out []blocker) {
	for _, t := range w.apart(c) {
		out = append(out, blocker{w.newCounter(w.topology(t.key), false, nil, func(x *class) bool { return t.matches(w, x) }), antiAffinity})
	}
	keys := map[string][]*class{}
	for _, g := range w.guards {
		for _, t := range w.apart(g) {
			if g != c && t.matches(w, c) { // its own terms are above
				keys[t.key] = append(keys[t.key], g)
			}
		}
	}
	for _, key := range sortedKeys(keys) {
		out = append(out, blocker{w.newCounter(w.topology(key), false, nil, func(x *class) bool { return slices.Contains(keys[key], x) }), existingAnti})
	}
	return out
}

// apart are the required anti-affinity terms of a class; a loosened rule holds for pods that run no more either, since these are replaced.
func (w *World) apart(c *class) []term {
	if slices.Contains(w.Loose[c.workload], ruleOf[antiAffinity]) {
		return nil
	}
	return w.terms(c, c.anti.RequiredDuringSchedulingIgnoredDuringExecution)
}

// portBlocker keeps the class off nodes where one of its host ports is taken; nil when
// it has no host port.
func (w *World) portBlocker(c *class) []blocker {
	if len(c.ports) == 0 {
		return nil
	}
	return []blocker{{w.newCounter(w.topology(corev1.LabelHostname), false, nil, func(x *class) bool {
		return slices.ContainsFunc(c.ports, func(a corev1.ContainerPort) bool {
			return slices.ContainsFunc(x.ports, func(b corev1.ContainerPort) bool { return portsMeet(a, b) })
		})
	}), hostPorts}}
}

func portsMeet(a, b corev1.ContainerPort) bool {
	protocol := func(p corev1.ContainerPort) corev1.Protocol { return cmp.Or(p.Protocol, corev1.ProtocolTCP) }
	any := func(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }
	return a.HostPort == b.HostPort && protocol(a) == protocol(b) && (any(a.HostIP) || any(b.HostIP) || a.HostIP == b.HostIP)
}

// spreads returns the topology spread constraints of the class: the soft ones
// (ScheduleAnyway) or the hard ones (DoNotSchedule).
func (w *World) spreads(c *class, soft bool) (out []spread) {
	action := corev1.DoNotSchedule
	if soft {
		action = corev1.ScheduleAnyway
	}
	unfit := w.unselected(c)
	for _, t := range c.spec.TopologySpreadConstraints {
		if t.WhenUnsatisfiable != action {
			continue
		}
		honor := ptr.Deref(t.NodeTaintsPolicy, corev1.NodeInclusionPolicyIgnore) == corev1.NodeInclusionPolicyHonor
		selected := ptr.Deref(t.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor) == corev1.NodeInclusionPolicyHonor
		s := spread{skew: t.MaxSkew, least: ptr.Deref(t.MinDomains, 1), hostname: t.TopologyKey == corev1.LabelHostname, taints: honor && !c.rules.tolerates}
		sel := selector(t.LabelSelector)
		for _, key := range t.MatchLabelKeys {
			if v, ok := c.labelSet()[key]; ok {
				if one, err := labels.NewRequirement(key, "=", []string{v}); err == nil {
					sel = sel.DeepCopySelector().Add(*one)
				}
			}
		}
		skip := make([]bool, len(w.nodes))
		for i, n := range w.nodes {
			for _, other := range c.spec.TopologySpreadConstraints {
				if other.WhenUnsatisfiable == action {
					_, has := n.api.Labels[other.TopologyKey]
					skip[i] = skip[i] || !has
				}
			}
			why := at(c.rules.before, i)
			skip[i] = skip[i] || selected && at(unfit, i) || honor && (why == unschedulable || why == taints)
		}
		empty := sel.Empty()
		s.counter = w.newCounter(w.topology(t.TopologyKey), true, skip, func(x *class) bool {
			return !empty && x.namespace == c.namespace && sel.Matches(x.labelSet())
		})
		s.self = sel.Matches(c.labelSet())
		s.domains = make([][]int, len(s.names))
		for i, d := range s.of {
			if d >= 0 && !skip[i] {
				s.domains[d] = append(s.domains[d], i)
			}
		}
		out = append(out, s)
	}
	return out
}

// defaultSpreads are the constraints that the scheduler itself applies to pods without
// any: it spreads the pods of a ReplicaSet or StatefulSet over nodes and zones.
func (w *World) defaultSpreads(c *class) (out []spread) {
	if len(c.spec.TopologySpreadConstraints) > 0 || !slices.Contains([]string{"ReplicaSet", "ReplicationController", "StatefulSet"}, c.kind) {
		return nil
	}
	unfit := w.unselected(c)
	for _, d := range []struct {
		key  string
		skew int32
	}{{corev1.LabelHostname, 3}, {corev1.LabelTopologyZone, 5}} {
		out = append(out, spread{skew: d.skew, hostname: d.key == corev1.LabelHostname, counter: w.newCounter(w.topology(d.key), true, unfit, func(x *class) bool {
			return x.namespace == c.namespace && x.kind == c.kind && x.owner == c.owner
		})})
	}
	return out
}

// preferences returns the preferred affinity terms of the class, and those of other
// classes that match it. A required affinity of another pod counts 1.
func (w *World) preferences(c *class) (out []weighted) {
	add := func(t term, weight int64, match func(*class) bool) {
		out = append(out, weighted{w.newCounter(w.topology(t.key), false, nil, match), weight})
	}
	toward := func(x *class, list []corev1.WeightedPodAffinityTerm, sign int64) {
		for i := range list {
			t := w.term(x, &list[i].PodAffinityTerm)
			if x == c {
				add(t, sign*int64(list[i].Weight), func(o *class) bool { return t.matches(w, o) })
			}
			if t.matches(w, c) {
				add(t, sign*int64(list[i].Weight), func(o *class) bool { return o == x })
			}
		}
	}
	for _, x := range w.guards {
		toward(x, x.affinity.PreferredDuringSchedulingIgnoredDuringExecution, 1)
		for _, t := range w.terms(x, x.affinity.RequiredDuringSchedulingIgnoredDuringExecution) {
			if t.matches(w, c) {
				add(t, 1, func(o *class) bool { return o == x })
			}
		}
		toward(x, x.anti.PreferredDuringSchedulingIgnoredDuringExecution, -1)
	}
	return out
}
