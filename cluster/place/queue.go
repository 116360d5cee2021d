package place

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// play simulates the loss of the dead nodes: evictions, new pods and scheduling until
// nothing changes any more.
func (r *run) play(evicted []int) {
	if len(r.nodes) > 0 {
		r.first = r.dice.IntN(len(r.nodes))
	}
	for _, c := range r.classes {
		for range c.waiting {
			r.asleep = append(r.asleep, &item{class: c, order: r.dice.Uint32(), old: true})
		}
	}
	for _, node := range evicted {
		for _, p := range r.nodes[node].pods {
			r.evict(p)
		}
	}
	for {
		r.schedule()
		before := r.placed
		r.retryUnmade()
		if len(r.queue) > 0 {
			continue
		}
		// The change may admit pods that the scheduler refused before.
		r.queue, r.asleep, r.sorted = r.asleep, nil, false
		r.schedule()
		if r.placed == before {
			return
		}
	}
}

// schedule empties the queue. Pods arrive at their time, in random order if the times
// are equal. Of the pods that have arrived, the one with the highest priority is next.
func (r *run) schedule() {
	strict := r.dice.IntN(2) == 0
	var ready []*item
	for len(r.queue) > 0 || len(ready) > 0 {
		if len(r.queue) > 0 {
			if !r.sorted {
				r.sorted = true
				slices.SortFunc(r.queue, func(a, b *item) int { return cmp.Or(cmp.Compare(a.ready, b.ready), cmp.Compare(a.order, b.order)) })
			}
			n := 1 + r.dice.IntN(3)
			if strict {
				n = len(r.queue)
			}
			n = min(n, len(r.queue))
			for k := 1; k < n; k++ {
				if r.queue[k].ready != r.queue[0].ready {
					n = k
				}
			}
			ready = append(ready, r.queue[:n]...)
			r.queue = r.queue[n:]
		}
		next := 0
		for k, i := range ready {
			if i.priority > ready[next].priority {
				next = k
			}
		}
		i := ready[next]
		ready = slices.Delete(ready, next, next+1)
		if r.job0(i) {
			continue
		}
		r.try(i)
	}
}

// job0 reports whether the Job of a waiting pod has failed meanwhile.
func (r *run) job0(i *item) bool {
	if i.kind != "Job" || !r.job(i.class).over {
		return false
	}
	r.fate(i.class).over++
	return true
}

// try schedules one pod, with preemption if necessary.
func (r *run) try(i *item) {
	if len(i.spec.SchedulingGates) > 0 || i.spec.SchedulerName != "" {
		r.asleep = append(r.asleep, i)
		return
	}
	node := r.find(i.class)
	if node < 0 {
		node = r.preempt(i)
	}
	if node < 0 {
		r.asleep = append(r.asleep, i)
		return
	}
	r.put(i.class, node)
	r.fate(i.class).placed++
}

// retryUnmade creates the pods for which the quota has room now.
func (r *run) retryUnmade() {
	list := r.unmade
	r.unmade = nil
	for _, i := range list {
		r.create(i)
	}
}

// preempt ends pods of lower priority on a node to make room for a pod, and returns the
// node; -1 when no node helps (framework/preemption, defaultpreemption).
func (r *run) preempt(i *item) int {
	u := i.rules
	if u.never != "" || i.spec.PreemptionPolicy != nil && *i.spec.PreemptionPolicy == corev1.PreemptNever || !r.below(i.priority) {
		return -1
	}
	var best *plan
	offset := r.dice.IntN(len(r.nodes))
	for k := range r.nodes {
		node := (k + offset) % len(r.nodes)
		if r.hopeless(i.class, u, node) {
			continue
		}
		if p := r.victims(i, u, node); p != nil && (best == nil || p.compare(best) < 0) {
			best = p
		}
	}
	if best == nil {
		return -1
	}
	for _, p := range best.pods {
		r.remove(p)
		r.release(p.class)
		f := r.fate(p.class)
		f.victims++
		r.replace(p.class, i.ready)
	}
	return best.node
}

// below reports whether there is a pod with a lower priority.
func (r *run) below(priority int32) bool {
	return slices.ContainsFunc(r.classes, func(c *class) bool { return c.priority < priority && (len(c.pods) > 0 || r.fates[c] != nil) })
}

// hopeless reports whether ending pods on the node would not help.
func (r *run) hopeless(c *class, u *rules, node int) bool {
	if r.dead[node] && !u.tolerates || at(u.before, node) != "" || at(u.after, node) != "" || u.binds && r.volume(u, node) == nil || !r.near(u, node) {
		return true
	}
	for _, a := range c.requests {
		if a.n > r.nodes[node].capacity[a.resource] {
			return true
		}
	}
	return false
}

// plan is a node with the pods that preemption would end on it.
type plan struct {
	node       int
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

// victims returns the smallest set of pods on a node that has to end for a pod; nil
// when no set helps.
func (r *run) victims(i *item, u *rules, node int) *plan {
	var lower []*pod
	for _, p := range r.on(node) {
		if p.priority < i.priority && !p.ending {
			lower = append(lower, p)
		}
	}
	if len(lower) == 0 {
		return nil
	}
	slices.SortStableFunc(lower, importance)
	for _, p := range lower {
		r.remove(p)
	}
	out := &plan{node: node}
	if r.why(i.class, u, node) == "" {
		guarded := r.guarded(lower)
		for _, first := range []bool{true, false} {
			for _, p := range lower {
				if guarded[p] != first {
					continue
				}
				if r.restore(p); r.why(i.class, u, node) != "" {
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
func (r *run) guarded(list []*pod) map[*pod]bool {
	out := map[*pod]bool{}
	left := make([]int32, len(r.budgets))
	for k := range r.budgets {
		left[k] = r.budgets[k].Status.DisruptionsAllowed
	}
	for _, p := range list {
		for k := range r.budgets {
			if b := &r.budgets[k]; b.Namespace == p.namespace && !b.selector.Empty() && len(p.labels) > 0 && b.selector.Matches(p.labelSet()) {
				left[k]--
				out[p] = out[p] || left[k] < 0
			}
		}
	}
	return out
}
