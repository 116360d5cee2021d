package place

import "lightsout/cluster"

// Settle gives the pods that wait the nodes that take them, in one of the possible orders, before the first forecast. down names nodes that take
// none, before is the cluster before the change that lets pods land: budgets count the pods that serve since.
func (w *World) Settle(down []string, before *World) {
	w.mark(sortedNodes(w, down))
	r := w.newRun(0)
	r.play(nil)
	w.mark(nil)
	w.used, w.load, w.idle = r.used, r.load, nil
	for _, c := range w.classes {
		c.pods, c.rules, c.waiting = nil, nil, 0
	}
	for i, n := range w.nodes {
		n.pods = r.on(i)
		for _, p := range n.pods {
			p.serves = p.serves && !p.waits
			p.class.pods = append(p.class.pods, p)
		}
	}
	for _, i := range r.asleep {
		if i.waiting == 0 {
			w.idle = append(w.idle, i.class)
		}
		i.waiting++
	}
	was, now := before.healthy(), w.healthy()
	for i, b := range w.budgets {
		after := *b.PodDisruptionBudget
		after.Status.CurrentHealthy += now[b.Key] - was[b.Key]
		after.Status.DisruptionsAllowed = max(0, after.Status.CurrentHealthy-after.Status.DesiredHealthy)
		w.budgets[i].PodDisruptionBudget = &after
	}
}

// healthy counts the pods that serve of each budget.
func (w *World) healthy() map[cluster.Key]int32 {
	out := map[cluster.Key]int32{}
	for _, c := range w.classes {
		for _, b := range c.budgetsIn(w) {
			for _, p := range c.pods {
				if p.serves {
					out[b.Key]++
				}
			}
		}
	}
	return out
}
