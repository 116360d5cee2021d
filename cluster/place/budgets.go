package place

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"lightsout/cluster"
)

// Blocking is a PodDisruptionBudget by which the API server refuses evictions now.
type Blocking struct {
	cluster.Key
	// Pods are those that it holds, in order, and Nodes theirs.
	Pods  []cluster.Key
	Nodes []string
}

// Blockings lists, by key, the budgets by which the API server would now refuse to evict a pod that a
// drain of the nodes evicts: those that allow no disruption, and those that share a pod. An empty list
// means nothing while cluster.KindBudget is unread.
func Blockings(s *cluster.Snapshot, nodes ...string) (out []Blocking) {
	budgets := s.Objects(cluster.KindBudget)
	for _, n := range nodes {
		for _, p := range s.PodsOn(n) {
			for _, k := range holding(budgets, p) {
				i, known := slices.BinarySearchFunc(out, k, func(b Blocking, k cluster.Key) int { return b.Compare(k) })
				if !known {
					out = slices.Insert(out, i, Blocking{Key: k})
				}
				out[i].Pods = append(out[i].Pods, p.Key)
				if !slices.Contains(out[i].Nodes, n) {
					out[i].Nodes = append(out[i].Nodes, n)
				}
			}
		}
	}
	for _, b := range out {
		slices.SortFunc(b.Pods, cluster.Key.Compare)
	}
	return out
}

// holding returns the budgets that keep a pod from being evicted now, as the API server decides it
// (pkg/registry/core/pod/storage/eviction.go).
func holding(budgets []*cluster.Object, p *cluster.Pod) (out []cluster.Key) {
	if !p.Drained() || p.Finished() || !p.Gone.IsZero() || p.Phase == string(corev1.PodPending) || p.Labels == "" {
		return nil
	}
	set, spent := ParseLabels(p.Labels), false
	for _, o := range budgets {
		b, ok := o.Value.(*policyv1.PodDisruptionBudget)
		if !ok || o.Namespace != p.Namespace || !selector(b.Spec.Selector).Matches(set) {
			continue
		}
		out = append(out, o.Key)
		always := b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
		free := !p.Ready && (always || b.Status.CurrentHealthy >= b.Status.DesiredHealthy)
		spent = spent || b.Status.DisruptionsAllowed == 0 && !free
	}
	if len(out) < 2 && !spent {
		return nil
	}
	return out
}
