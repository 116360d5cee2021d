package place

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"

	"lightsout/cluster"
)

// Blocking is a PodDisruptionBudget that blocks a drain: the API server does not evict pods because of it.
type Blocking struct {
	cluster.Key
	// Pods are those that it holds in one of the runs. Evicted is how many others the drain evicts.
	Pods    []cluster.Key
	Evicted int
	// Required is how many healthy pods it requires, Expected how many it counts on at most; 0 if unknown.
	Required, Expected int
}

// Holding returns the budgets, by key, that keep a pod from being evicted now. An empty list means nothing
// while cluster.KindBudget is unread.
func Holding(s *cluster.Snapshot, p *cluster.Pod) (out []cluster.Key) {
	if !p.Drained() || p.Finished() || !p.Gone.IsZero() || p.Phase == string(corev1.PodPending) || p.Labels == "" {
		return nil
	}
	set, spent := ParseLabels(p.Labels), false
	for _, o := range s.Objects(cluster.KindBudget) {
		b, ok := o.Value.(*policyv1.PodDisruptionBudget)
		if !ok || o.Namespace != p.Namespace || !selector(b.Spec.Selector).Matches(set) {
			continue
		}
		out = append(out, o.Key)
		spent = spent || refuses(b, p.Ready, 0)
	}
	if len(out) < 2 && !spent {
		return nil
	}
	return out
}

// Allowed is how many healthy pods like this one its disruption budgets allow to be away besides; math.MaxInt without any.
func Allowed(s *cluster.Snapshot, p *cluster.Pod) int {
	n, set := math.MaxInt, ParseLabels(p.Labels)
	for _, o := range s.Objects(cluster.KindBudget) {
		if b, ok := o.Value.(*policyv1.PodDisruptionBudget); ok && o.Namespace == p.Namespace && selector(b.Spec.Selector).Matches(set) {
			n = min(n, int(max(0, b.Status.CurrentHealthy-b.Status.DesiredHealthy)))
		}
	}
	return n
}

// refuses reports whether the API server refuses to evict a pod because of its only budget, after a number of
// disruptions (pkg/registry/core/pod/storage/eviction.go).
func refuses(b *policyv1.PodDisruptionBudget, ready bool, disruptions int32) bool {
	always := ptr.Deref(b.Spec.UnhealthyPodEvictionPolicy, "") == policyv1.AlwaysAllow
	free := !ready && (always || b.Status.CurrentHealthy >= b.Status.DesiredHealthy)
	return b.Status.DisruptionsAllowed <= disruptions && !free
}

// disrupt counts the end of a pod for its budgets, unless the pod is drained and they refuse its eviction.
func (r *run) disrupt(p *pod) (done bool) {
	budgets, drained := p.budgetsIn(r.World), !r.dead[p.node]
	if drained && !p.starts && (len(budgets) > 1 || len(budgets) == 1 && refuses(budgets[0].PodDisruptionBudget, p.serves, r.disruptions[budgets[0]])) {
		return false
	}
	for _, b := range budgets {
		if p.serves {
			r.disruptions[b]++
		}
		if drained {
			r.evicted[b]++
		}
	}
	return true
}

// restored counts a new pod for its budgets, each of which may then allow the eviction of one more.
func (r *run) restored(c *class) {
	for _, b := range c.budgetsIn(r.World) {
		r.disruptions[b]--
		if k := slices.IndexFunc(r.held, func(i *item) bool { return slices.Equal(i.budgetsIn(r.World), []*budget{b}) }); k >= 0 {
			r.queue, r.sorted = append(r.queue, r.held[k]), false
			r.held = slices.Delete(r.held, k, k+1)
		}
	}
}

// hold names the budgets that hold pods in a run.
func (s *sum) hold(r *run) {
	for _, i := range r.held {
		for _, b := range i.budgetsIn(s.w) {
			k, known := slices.BinarySearchFunc(s.o.Blockings, b.Key, func(x Blocking, k cluster.Key) int { return x.Compare(k) })
			if !known {
				s.o.Blockings = slices.Insert(s.o.Blockings, k, Blocking{Key: b.Key, Evicted: r.evicted[b], Required: int(b.Status.DesiredHealthy), Expected: int(b.Status.ExpectedPods)})
			}
			s.o.Blockings[k].Pods = append(s.o.Blockings[k].Pods, cluster.Key{Namespace: i.namespace, Name: i.lost.name})
		}
	}
}
