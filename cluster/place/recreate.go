package place

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"lightsout/cluster"
)

// fate counts what happened to the pods of one class.
type fate struct {
	victims int                  // preempted
	by      map[cluster.Key]bool // the workloads whose pods preempt them
	made    int                  // created
	placed  int
	// stuck counts pods that their owner does not recreate while the lost pod exists:
	// those of a StatefulSet, of a Job that replaces only failed pods, and those that are
	// not evicted; and recreated ones that wait for a volume.
	stuck   int
	over    int // their Job has failed
	ended   int // of these, those that ran on a node that is not lost
	orphans int // without a controller, or with an unknown one
}

// add adds the fate of other pods.
func (f *fate) add(o *fate) {
	f.victims, f.made, f.placed, f.stuck = f.victims+o.victims, f.made+o.made, f.placed+o.placed, f.stuck+o.stuck
	f.over, f.ended, f.orphans = f.over+o.over, f.ended+o.ended, f.orphans+o.orphans
	for k := range o.by {
		f.endFor(k)
	}
}

// endFor notes a workload whose pods preempt some of them.
func (f *fate) endFor(k cluster.Key) {
	if f.by == nil {
		f.by = map[cluster.Key]bool{}
	}
	f.by[k] = true
}

// grown is how many more of them run in the end.
func (f *fate) grown() int { return f.placed - f.victims - f.ended }

// fates holds the fate of each class that the outage touches.
type fates map[*class]*fate

func (f fates) of(c *class) *fate {
	if f[c] == nil {
		f[c] = &fate{}
	}
	return f[c]
}

// unwait no longer counts a pod as one that waits for its volume, because it ends.
func (f *fate) unwait(p *pod) {
	if p.waits {
		f.stuck, f.placed = f.stuck-1, f.placed+1
	}
}

// jobState is the state of a Job during a run.
type jobState struct {
	job    *batchv1.Job
	failed int32
	over   bool
}

// job returns the state of the Job that owns the pods of a class.
func (r *run) job(c *class) *jobState {
	k := cluster.Key{Namespace: c.namespace, Name: c.owner}
	j := r.jobs[k]
	if j == nil {
		j = &jobState{job: object[batchv1.Job](r.World, cluster.KindJob, c.namespace, c.owner)}
		if j.job != nil {
			j.failed = j.job.Status.Failed
		}
		r.jobs[k] = j
	}
	return j
}

// item is a pod that needs a node, or the eviction of a pod.
type item struct {
	*class
	lost  *pod          // the evicted pod
	ready time.Duration // when it arrives, after the first eviction
	order uint32        // wave and random order among those that arrive together
}

func (i *item) wave() uint32 { return i.order >> 24 }

func (r *run) item(c *class, at time.Duration) *item {
	return &item{class: c, ready: at, order: r.wave<<24 | r.dice.Uint32()>>8}
}

// backoff is how long a Job waits before it replaces its first failed pod; it doubles
// with each failure (pkg/controller/job, DefaultJobPodFailureBackOff).
const backoff = 10 * time.Second

// evict deletes a pod, which hangs on a lost node until that returns unless the node is out of
// service, and creates its successor. It does nothing if a budget refuses that.
func (r *run) evict(i *item) {
	p := i.lost
	if !r.disrupt(p) {
		r.held = append(r.held, i)
		return
	}
	r.spend(p.class, -1)
	if r.frees(p.node) {
		r.remove(p)
	} else {
		r.note(change{p.class, p.node, -1, true})
		r.hangs[p] = true
		if p.kind == "StatefulSet" {
			r.fates.of(p.class).stuck++
			return
		}
	}
	r.replace(p.class, i.ready)
}

// holder returns the node to which the volumes of a class stay attached, because one of its pods
// hangs there; nil if there is none.
func (r *run) holder(c *class) *node {
	if len(c.alone) == 0 {
		return nil
	}
	for _, p := range c.pods {
		if (p.ending || r.hangs[p]) && !r.frees(p.node) {
			return r.nodes[p.node]
		}
	}
	return nil
}

// replace creates the successor of a pod at a time, if its owner does that.
func (r *run) replace(c *class, at time.Duration) {
	f := r.fates.of(c)
	switch c.kind {
	case "ReplicaSet", "ReplicationController", "StatefulSet":
		r.create(r.item(c, at))
	case "Job":
		r.replaceJob(c, at)
	default:
		f.orphans++
		r.restored(c) // its owner may replace it
	}
}

// keep counts pods that are not evicted although their node is down: their owners do not
// replace them.
func (f fates) keep(pods ...*pod) {
	for _, p := range pods {
		if !p.ending && !p.bound() {
			f.of(p.class).stuck++
		}
	}
}

// replaceJob counts a lost pod of a Job as failed. Beyond its backoff limit the Job
// fails and its other pods end (pkg/controller/job).
func (r *run) replaceJob(c *class, at time.Duration) {
	j, f := r.job(c), r.fates.of(c)
	if j.job == nil {
		r.create(r.item(c, at))
		return
	}
	spec := &j.job.Spec
	if spec.PodFailurePolicy != nil || ptr.Deref(spec.PodReplacementPolicy, "") == batchv1.Failed {
		f.stuck++
		return
	}
	j.failed++
	if j.over {
		f.over++
		return
	}
	limit := ptr.Deref(spec.BackoffLimit, 6)
	if spec.BackoffLimitPerIndex != nil {
		limit = 1<<31 - 1
	}
	if j.failed > limit {
		r.doomed, j.over = append(r.doomed, c), true
		f.over++
		return
	}
	delay := min(10*time.Minute, backoff<<min(10, j.failed-1))
	for _, i := range r.queue {
		if i.lost == nil && i.kind == "Job" && i.owner == c.owner && i.namespace == c.namespace {
			i.ready, r.sorted = at+delay, false // the Job replaces all its pods at once
		}
	}
	r.create(r.item(c, at+delay))
}

// endJobs ends all pods of the Jobs that have failed. Then the scheduler tries the pods again
// that it refused.
func (r *run) endJobs() {
	for _, c := range r.doomed {
		for _, x := range r.classes {
			if x.kind == "Job" && x.owner == c.owner && x.namespace == c.namespace {
				r.end(x)
			}
		}
		r.wake()
	}
	r.doomed = nil
}

// end ends the pods of a class on the nodes that are left.
func (r *run) end(c *class) {
	f := r.fates.of(c)
	for node := range r.nodes {
		for _, p := range r.on(node) {
			if p.class == c && !r.dead[node] {
				r.remove(p)
				r.spend(c, -1)
				f.over++
				f.ended++
				f.unwait(p)
			}
		}
	}
	r.unmade = slices.DeleteFunc(r.unmade, func(i *item) bool {
		if i.class == c {
			f.over++
		}
		return i.class == c
	})
}

// create creates a pod if the quotas allow it, and queues it.
func (r *run) create(i *item) {
	if !r.spend(i.class, 1) {
		r.unmade = append(r.unmade, i)
		return
	}
	r.fates.of(i.class).made++
	at := len(r.queue)
	if r.sorted {
		at, _ = slices.BinarySearchFunc(r.queue, i, sooner)
	}
	r.queue = slices.Insert(r.queue, at, i)
}
