package place

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"

	"lightsout/cluster"
)

// Settled is the World's Snapshot with the pods that wait on the nodes that take them, in one of the possible orders. down names nodes
// that take none, before is the cluster before the change that lets pods land: deployments and budgets count the pods that serve since.
func (w *World) Settled(down []string, before *cluster.Snapshot) *cluster.Snapshot {
	w.mark(sortedNodes(w, down))
	r := w.newRun(0)
	r.play(nil)
	landed, ended := map[*class][]*pod{}, map[cluster.Key]bool{}
	for i := range w.nodes {
		for _, p := range r.more[i] {
			if !r.gone[p] {
				landed[p.class] = append(landed[p.class], p)
			}
		}
	}
	for p := range r.gone {
		ended[cluster.Key{Namespace: p.namespace, Name: p.name}] = true
	}
	more := map[cluster.Ref]int{} // pods that serve
	land := func(p *cluster.Pod) *cluster.Pod {
		x, c := *p, w.classOf(p)
		if ended[p.Key] {
			x.Node, x.Phase, x.Ready = "", "Pending", false
		}
		if to := landed[c]; x.Node == "" && x.Deleting.IsZero() && len(to) > 0 {
			x.Node, x.Phase, x.Ready, landed[c] = w.nodes[to[0].node].name, "Running", !to[0].waits, to[1:]
		}
		if was := before.Pod(p.Key); was != nil && was.Serving() != x.Serving() {
			by := map[bool]int{true: 1, false: -1}[x.Serving()]
			more[p.Workload()] += by
			for _, b := range c.budgetsIn(w) {
				more[cluster.Ref{Kind: cluster.KindBudget, Key: b.Key}] += by
			}
		}
		return &x
	}
	all := w.s.Contents()
	all.Pods, all.Deployments, all.Objects = slices.Clone(all.Pods), slices.Clone(all.Deployments), slices.Clone(all.Objects)
	for i, p := range all.Pods {
		all.Pods[i] = land(p)
	}
	for i, d := range all.Deployments {
		x := *d
		x.Available += more[cluster.Ref{Kind: cluster.KindDeployment, Key: d.Key}]
		all.Deployments[i] = &x
	}
	for i, o := range all.Objects {
		x := *o
		switch v := o.Value.(type) {
		case *cluster.Pod:
			x.Value = land(v)
		case *policyv1.PodDisruptionBudget:
			b := *v
			b.Status.CurrentHealthy += int32(more[cluster.Ref{Kind: o.Kind, Key: o.Key}])
			b.Status.DisruptionsAllowed = max(0, b.Status.CurrentHealthy-b.Status.DesiredHealthy)
			x.Value = &b
		}
		all.Objects[i] = &x
	}
	return cluster.NewSnapshot(all)
}
