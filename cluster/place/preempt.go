package place

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// preemption makes room for a pod as the scheduler does (framework/preemption,
// defaultpreemption).
type preemption struct {
	*run
	item *item
	u    *rules
}

// do ends pods of lower priority on a node; false when no node helps.
func (r *preemption) do() bool {
	i, u := r.item, r.u
	if u.never != "" || i.spec.PreemptionPolicy != nil && *i.spec.PreemptionPolicy == corev1.PreemptNever || !r.below() {
		return false
	}
	var best *plan
	offset := r.dice.IntN(len(r.nodes))
	for k := range r.nodes {
		node := (k + offset) % len(r.nodes)
		if r.hopeless(node) {
			continue
		}
		if p := r.victims(node); p != nil && (best == nil || p.compare(best) < 0) {
			best = p
		}
	}
	if best == nil {
		return false
	}
	for _, p := range best.pods {
		r.remove(p)
		r.spend(p.class, -1)
		f := r.fates.of(p.class)
		f.victims++
		f.endFor(i.workload)
		f.unwait(p)
		r.replace(p.class, i.ready)
	}
	r.wake(i)
	return true
}

// below reports whether there is a pod with a lower priority.
func (r *preemption) below() bool {
	return slices.ContainsFunc(r.classes, func(c *class) bool { return c.priority < r.item.priority && (len(c.pods) > 0 || r.fates[c] != nil) })
}

// hopeless reports whether ending pods on the node would not help.
func (r *preemption) hopeless(node int) bool {
	c, u := r.item.class, r.u
	if r.dead[node] && !u.tolerates || at(u.before, node) != "" || at(u.after, node) != "" || !r.near(u, node) {
		return true
	}
	return slices.ContainsFunc(c.requests, func(a amount) bool { return a.n > r.nodes[node].capacity[a.resource] })
}

// plan is what preemption would end on a node.
type plan struct {
	pods       []*pod // in order of importance
	violations int    // violated disruption budgets
}

// compare orders plans as the scheduler does (pickOneNodeForPreemption).
func (a *plan) compare(b *plan) int {
	sum := func(p *plan) (n int64) {
		for _, v := range p.pods {
			n += int64(v.priority) + 1<<31
		}
		return n
	}
	return cmp.Or(cmp.Compare(a.violations, b.violations), cmp.Compare(a.pods[0].priority, b.pods[0].priority),
		cmp.Compare(sum(a), sum(b)), cmp.Compare(len(a.pods), len(b.pods)), b.pods[0].created.Compare(a.pods[0].created))
}

// victims returns the smallest set of pods on a node that has to end for the pod; nil
// when no set helps.
func (r *preemption) victims(node int) *plan {
	lower := slices.DeleteFunc(r.on(node), func(p *pod) bool { return p.priority >= r.item.priority || p.ending })
	if len(lower) == 0 {
		return nil
	}
	r.dice.Shuffle(len(lower), func(i, k int) { lower[i], lower[k] = lower[k], lower[i] }) // many are equally old
	slices.SortStableFunc(lower, importance)
	for _, p := range lower {
		r.remove(p)
	}
	out := &plan{}
	if r.why(r.item.class, r.u, node) == "" {
		guarded := r.guarded(lower)
		for _, first := range []bool{true, false} {
			for _, p := range lower {
				if guarded[p] != first {
					continue
				}
				if r.restore(p); r.why(r.item.class, r.u, node) != "" {
					r.remove(p)
					out.pods = append(out.pods, p)
					if first {
						out.violations++
					}
				}
			}
		}
		slices.SortStableFunc(out.pods, importance)
	}
	for _, p := range lower {
		if r.gone[p] {
			r.restore(p)
		}
	}
	if len(out.pods) == 0 {
		return nil
	}
	return out
}

// guarded returns the pods whose end would violate a disruption budget.
func (r *preemption) guarded(list []*pod) map[*pod]bool {
	out := map[*pod]bool{}
	spent := map[*budget]int32{}
	for _, p := range list {
		for _, b := range p.class.budgetsIn(r.World) {
			spent[b]++
			out[p] = out[p] || spent[b] > b.Status.DisruptionsAllowed
		}
	}
	return out
}

// budgetsIn returns the budgets that protect the pods of a class.
func (c *class) budgetsIn(w *World) []*budget {
	if c.budgets == nil {
		c.budgets = []*budget{}
		for i := range w.budgets {
			if b := &w.budgets[i]; b.Namespace == c.namespace && !b.selector.Empty() && len(c.labels) > 0 && b.selector.Matches(c.labelSet()) {
				c.budgets = append(c.budgets, b)
			}
		}
	}
	return c.budgets
}
