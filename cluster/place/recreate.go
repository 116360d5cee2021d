package place

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"lightsout/cluster"
)

// fate counts what happened to the pods of one class.
type fate struct {
	lost    int // evicted from lost nodes
	victims int // preempted
	made    int // created
	placed  int
	// stuck counts pods that their owner does not recreate while the lost pod exists:
	// those of a StatefulSet, and of a Job that replaces only failed pods.
	stuck   int
	over    int // their Job has failed
	orphans int // without a controller, or with an unknown one
}

// fates holds the fate of each class that the outage touches.
type fates map[*class]*fate

func (f fates) of(c *class) *fate {
	if f[c] == nil {
		f[c] = &fate{}
	}
	return f[c]
}

// jobState is the state of a Job during a run.
type jobState struct {
	job    *batchv1.Job
	failed int32
	over   bool
}

// jobStates holds the state of each Job that a run touches.
type jobStates struct {
	of  map[cluster.Key]*batchv1.Job
	now map[cluster.Key]*jobState
}

// owner returns the state of the Job that owns the pods of a class.
func (s *jobStates) owner(c *class) *jobState {
	k := cluster.Key{Namespace: c.namespace, Name: c.owner}
	j := s.now[k]
	if j == nil {
		j = &jobState{job: s.of[k]}
		if j.job != nil {
			j.failed = j.job.Status.Failed
		}
		s.now[k] = j
	}
	return j
}

// item is a pod that needs a node.
type item struct {
	*class
	ready time.Duration // when it arrives, after the first eviction
	order uint32        // random order among those that arrive together
	old   bool          // it existed before the outage
}

// backoff is how long a Job waits before it replaces its first failed pod; it doubles
// with each failure (pkg/controller/job, DefaultJobPodFailureBackOff).
const backoff = 10 * time.Second

// evict marks a pod of a lost node as deleted and makes its owner react. The pod object
// stays as long as the node is silent.
func (r *run) evict(p *pod) {
	if p.ending || p.static || p.kind == "DaemonSet" || p.stays < 0 {
		return
	}
	r.fates.of(p.class).lost++
	r.note(change{p.class, p.node, -1, true})
	r.replace(p.class, p.stays)
}

// replace creates the successor of a pod at a time, if its owner does that.
func (r *run) replace(c *class, at time.Duration) {
	f := r.fates.of(c)
	switch c.kind {
	case "ReplicaSet", "ReplicationController":
		r.create(&item{class: c, ready: at, order: r.dice.Uint32()})
	case "StatefulSet":
		f.stuck++
	case "Job":
		r.replaceJob(c, at)
	default:
		f.orphans++
	}
}

// replaceJob counts a lost pod of a Job as failed. Beyond its backoff limit the Job
// fails and its other pods end (pkg/controller/job).
func (r *run) replaceJob(c *class, at time.Duration) {
	j, f := r.jobs.owner(c), r.fates.of(c)
	if j.job == nil {
		r.create(&item{class: c, ready: at, order: r.dice.Uint32()})
		return
	}
	spec := &j.job.Spec
	if spec.PodFailurePolicy != nil || spec.PodReplacementPolicy != nil && *spec.PodReplacementPolicy == batchv1.Failed {
		f.stuck++
		return
	}
	j.failed++
	if j.over {
		f.over++
		return
	}
	limit := int32(6)
	if spec.BackoffLimit != nil {
		limit = *spec.BackoffLimit
	}
	if spec.BackoffLimitPerIndex != nil {
		limit = 1<<31 - 1
		if *spec.BackoffLimitPerIndex == 0 {
			f.over++
			return
		}
	}
	if j.failed > limit {
		r.failJob(c, j)
		f.over++
		return
	}
	delay := min(10*time.Minute, backoff<<min(10, j.failed-1))
	r.create(&item{class: c, ready: at + delay, order: r.dice.Uint32()})
}

// failJob ends all pods of a Job.
func (r *run) failJob(c *class, j *jobState) {
	j.over = true
	for _, x := range r.classes {
		if x.kind != "Job" || x.owner != c.owner || x.namespace != c.namespace {
			continue
		}
		for _, p := range x.pods {
			if !r.dead[p.node] && !r.gone[p] {
				r.remove(p)
				r.quotas.spend(x, -1)
				r.fates.of(x).over++
			}
		}
		for node, list := range r.more {
			for _, p := range list {
				if p.class == x && !r.gone[p] && !r.dead[node] {
					r.remove(p)
					r.fates.of(x).placed--
					r.fates.of(x).over++
				}
			}
		}
		for _, list := range []*[]*item{&r.queue, &r.asleep, &r.unmade} {
			*list = slices.DeleteFunc(*list, func(i *item) bool {
				if i.class == x {
					r.fates.of(x).over++
				}
				return i.class == x
			})
		}
	}
}

// create creates a pod if the quotas allow it, and queues it.
func (r *run) create(i *item) {
	if !r.quotas.spend(i.class, 1) {
		r.unmade = append(r.unmade, i)
		return
	}
	r.fates.of(i.class).made++
	r.queue, r.sorted = append(r.queue, i), false
}
