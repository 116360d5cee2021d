package place

import (
	"cmp"
	"slices"
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
		if r.jobFailed(i) {
			continue
		}
		r.try(i)
	}
}

// jobFailed reports whether the Job of a waiting pod has failed meanwhile.
func (r *run) jobFailed(i *item) bool {
	if i.kind != "Job" || !r.jobs.owner(i.class).over {
		return false
	}
	r.fates.of(i.class).over++
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
		node = (&preemption{r, i, i.rules}).do()
	}
	if node < 0 {
		r.asleep = append(r.asleep, i)
		return
	}
	r.put(i.class, node)
	r.fates.of(i.class).placed++
}

// retryUnmade creates the pods for which the quota has room now.
func (r *run) retryUnmade() {
	list := r.unmade
	r.unmade = nil
	for _, i := range list {
		r.create(i)
	}
}
