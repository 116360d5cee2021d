package place

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// waves is the largest number of waves that have an order.
const waves = 1 << 8

// play simulates what happens to the pods of these nodes: evictions, new pods and scheduling until
// nothing changes any more.
func (r *run) play(evicted []int) {
	if len(r.nodes) > 0 {
		r.first = r.dice.IntN(len(r.nodes))
	}
	for _, c := range r.classes {
		for range c.waiting {
			r.asleep = append(r.asleep, r.item(c, 0))
		}
	}
	// The controller evicts the nodes of one zone one after the other.
	ahead := map[string]uint32{}
	for _, k := range r.dice.Perm(len(evicted)) {
		n := r.nodes[evicted[k]]
		zone := n.api.Labels[corev1.LabelTopologyZone]
		r.wave = min(ahead[zone], waves-1)
		ahead[zone]++
		for _, p := range n.pods {
			if after, moves := r.moves(p); moves {
				i := r.item(p.class, after)
				i.lost = p
				r.queue = append(r.queue, i)
			} else if r.dead[p.node] {
				r.fates.keep(p)
			}
		}
	}
	for {
		r.schedule()
		before := r.placed
		unmade := r.unmade
		r.unmade = nil
		for _, i := range unmade { // the quota may have room now
			r.create(i)
		}
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

// schedule empties the queue. Pods are evicted and arrive at their time and in their wave,
// in random order if those are equal. Of the pods that have arrived, the one with the
// highest priority is next. When none is left, the next wave begins, and before a later
// time the pods of failed Jobs end.
func (r *run) schedule() {
	strict := r.dice.IntN(2) == 0
	for now := time.Duration(0); len(r.queue)+len(r.ready)+len(r.doomed) > 0; {
		if !r.sorted {
			r.sorted = true
			slices.SortFunc(r.queue, sooner)
		}
		if len(r.ready) == 0 && (len(r.queue) == 0 || r.queue[0].ready > now) {
			r.endJobs()
		}
		if len(r.queue) > 0 && (len(r.ready) == 0 || r.queue[0].ready <= now && r.queue[0].wave() <= r.wave) {
			now = max(now, r.queue[0].ready)
			r.arrive(strict)
		}
		if len(r.ready) == 0 {
			continue
		}
		i := r.ready[0]
		r.ready = r.ready[1:]
		if r.jobFailed(i) {
			continue
		}
		r.try(i)
	}
}

// sooner orders the queue.
func sooner(a, b *item) int {
	return cmp.Or(cmp.Compare(a.ready, b.ready), cmp.Compare(a.order, b.order))
}

// arrive takes some items, or all, of the first time and wave from the queue: it evicts
// pods, and makes new ones ready.
func (r *run) arrive(all bool) {
	n := 1 + r.dice.IntN(3)
	if all {
		n = len(r.queue)
	}
	n = min(n, len(r.queue))
	for k := 1; k < n; k++ {
		if a, b := r.queue[0], r.queue[k]; a.ready != b.ready || a.wave() != b.wave() {
			n = k
		}
	}
	var fresh []*item
	first := r.queue[:n]
	r.queue = r.queue[n:]
	for _, i := range first {
		r.wave = i.wave()
		if i.lost != nil {
			r.evict(i)
		} else {
			fresh = append(fresh, i)
		}
	}
	if len(fresh) > 0 {
		r.admit(r.ready, fresh)
	}
}

// admit makes pods ready, in the order of their priority.
func (r *run) admit(lists ...[]*item) {
	r.ready = slices.Concat(lists...)
	slices.SortStableFunc(r.ready, func(a, b *item) int { return cmp.Compare(b.priority, a.priority) })
}

// wake makes a pod ready again for which others have ended, if it is one, and all that found no node:
// one of a higher priority may take the room.
func (r *run) wake(nominated ...*item) {
	r.admit(nominated, r.asleep, r.ready)
	r.asleep = nil
}

// jobFailed reports whether the Job of a waiting pod has failed meanwhile.
func (r *run) jobFailed(i *item) bool {
	if i.kind != "Job" || !r.job(i.class).over {
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
		if !(&preemption{r, i, i.rules}).do() {
			r.asleep = append(r.asleep, i)
		}
		return
	}
	f := r.fates.of(i.class)
	if p := r.put(i.class, node); r.holder(i.class) != nil {
		p.waits = true
		f.stuck++
		return
	}
	f.placed++
	r.restored(i.class)
}
