package place

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// later is the wave of pods that are created after the evictions.
const later = 1<<8 - 1

// play simulates the loss of the dead nodes: evictions, new pods and scheduling until
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
	waves := map[string]uint32{}
	for _, k := range r.dice.Perm(len(evicted)) {
		n := r.nodes[evicted[k]]
		zone := n.api.Labels[corev1.LabelTopologyZone]
		r.wave = min(waves[zone], later-1)
		waves[zone]++
		for _, p := range n.pods {
			r.evict(p)
		}
	}
	r.wave = later
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
// When none is left, the pods of failed Jobs end.
func (r *run) schedule() {
	strict := r.dice.IntN(2) == 0
	for now := time.Duration(0); len(r.queue)+len(r.ready)+len(r.doomed) > 0; {
		if len(r.ready) == 0 && (len(r.queue) == 0 || r.queue[0].ready > now) {
			r.endJobs()
		}
		r.arrive(strict)
		if len(r.ready) == 0 {
			return
		}
		next := 0
		for k, i := range r.ready {
			if i.priority > r.ready[next].priority {
				next = k
			}
		}
		i := r.ready[next]
		r.ready = slices.Delete(r.ready, next, next+1)
		if r.jobFailed(i) {
			continue
		}
		now = i.ready
		r.try(i)
	}
}

// arrive moves some pods, or all, that arrive at the same time from the queue to the ready
// ones.
func (r *run) arrive(all bool) {
	if len(r.queue) == 0 {
		return
	}
	if !r.sorted {
		r.sorted = true
		slices.SortFunc(r.queue, func(a, b *item) int { return cmp.Or(cmp.Compare(a.ready, b.ready), cmp.Compare(a.order, b.order)) })
	}
	n := 1 + r.dice.IntN(3)
	if all {
		n = len(r.queue)
	}
	n = min(n, len(r.queue))
	for k := 1; k < n; k++ {
		if r.queue[k].ready != r.queue[0].ready {
			n = k
		}
	}
	r.ready = append(r.ready, r.queue[:n]...)
	r.queue = r.queue[n:]
}

// wake makes a pod ready again for which others have ended, and all that found no node:
// one of a higher priority may take the room.
func (r *run) wake(nominated *item) {
	r.ready = slices.Concat([]*item{nominated}, r.asleep, r.ready)
	r.asleep = nil
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
		if !(&preemption{r, i, i.rules}).do() {
			r.asleep = append(r.asleep, i)
		}
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
