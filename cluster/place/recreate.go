package place

import (
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	resources "k8s.io/component-helpers/resource"

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

func (r *run) fate(c *class) *fate {
	f := r.fates[c]
	if f == nil {
		f = &fate{}
		r.fates[c] = f
	}
	return f
}

// jobState is the state of a Job during a run.
type jobState struct {
	job    *batchv1.Job
	failed int32
	over   bool
}

func (r *run) job(c *class) *jobState {
	k := cluster.Key{Namespace: c.namespace, Name: c.owner}
	j := r.jobs[k]
	if j == nil {
		j = &jobState{job: r.World.jobs[k]}
		if j.job != nil {
			j.failed = j.job.Status.Failed
		}
		r.jobs[k] = j
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
	r.fate(p.class).lost++
	r.note(change{p.class, p.node, -1, true})
	r.replace(p.class, p.stays)
}

// replace creates the successor of a pod at a time, if its owner does that.
func (r *run) replace(c *class, at time.Duration) {
	f := r.fate(c)
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
	j, f := r.job(c), r.fate(c)
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
				r.release(x)
				r.fate(x).over++
			}
		}
		for node, list := range r.more {
			for _, p := range list {
				if p.class == x && !r.gone[p] && !r.dead[node] {
					r.remove(p)
					r.fate(x).placed--
					r.fate(x).over++
				}
			}
		}
		for _, list := range []*[]*item{&r.queue, &r.asleep, &r.unmade} {
			*list = slices.DeleteFunc(*list, func(i *item) bool {
				if i.class == x {
					r.fate(x).over++
				}
				return i.class == x
			})
		}
	}
}

// create creates a pod if the quotas allow it, and queues it.
func (r *run) create(i *item) {
	if !r.spend(i.class, 1) {
		r.unmade = append(r.unmade, i)
		return
	}
	r.fate(i.class).made++
	r.queue, r.sorted = append(r.queue, i), false
}

// release returns the pod's share to its quotas.
func (r *run) release(c *class) {
	r.spend(c, -1)
}

// spend takes a pod's share from the quotas of its namespace. It returns false, and
// takes nothing, when one of them has too little.
func (r *run) spend(c *class, sign int64) bool {
	var due []*corev1.ResourceQuota
	for _, q := range r.quotas[c.namespace] {
		if !scoped(q, c) {
			continue
		}
		used := r.spent[q]
		if used == nil {
			used = q.Status.Used.DeepCopy()
			r.spent[q] = used
		}
		for name, hard := range q.Spec.Hard {
			have := used[name]
			if want := counted(c, string(name)); sign > 0 && !want.IsZero() {
				if have.Add(want); have.Cmp(hard) > 0 {
					return false
				}
			}
		}
		due = append(due, q)
	}
	for _, q := range due {
		for name := range q.Spec.Hard {
			have, want := r.spent[q][name], counted(c, string(name))
			if sign > 0 {
				have.Add(want)
			} else {
				have.Sub(want)
			}
			r.spent[q][name] = have
		}
	}
	return true
}

// counted returns the amount of a quota's resource that a pod uses.
func counted(c *class, name string) quantity.Quantity {
	switch name {
	case "pods", "count/pods":
		return *quantity.NewQuantity(1, quantity.DecimalSI)
	}
	list := resources.PodRequests
	if rest, ok := strings.CutPrefix(name, "limits."); ok {
		name, list = rest, resources.PodLimits
	} else {
		name = strings.TrimPrefix(name, "requests.")
	}
	return list(c.pod, resources.PodResourcesOptions{})[corev1.ResourceName(name)]
}

// scoped reports whether a quota counts the pods of the class.
func scoped(q *corev1.ResourceQuota, c *class) bool {
	all := slices.Clone(q.Spec.Scopes)
	if q.Spec.ScopeSelector != nil {
		for _, e := range q.Spec.ScopeSelector.MatchExpressions {
			if e.ScopeName != corev1.ResourceQuotaScopePriorityClass {
				all = append(all, e.ScopeName)
				continue
			}
			in := slices.Contains(e.Values, c.spec.PriorityClassName)
			switch e.Operator {
			case corev1.ScopeSelectorOpIn:
				if !in {
					return false
				}
			case corev1.ScopeSelectorOpNotIn:
				if in {
					return false
				}
			case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
				if (c.spec.PriorityClassName != "") != (e.Operator == corev1.ScopeSelectorOpExists) {
					return false
				}
			}
		}
	}
	for _, s := range all {
		limits := resources.PodLimits(c.pod, resources.PodResourcesOptions{})
		bestEffort := c.cpu == 0 && c.mem == 0 && limits.Cpu().IsZero() && limits.Memory().IsZero()
		ends := c.spec.ActiveDeadlineSeconds != nil
		switch {
		case s == corev1.ResourceQuotaScopeBestEffort && !bestEffort, s == corev1.ResourceQuotaScopeNotBestEffort && bestEffort,
			s == corev1.ResourceQuotaScopeTerminating && !ends, s == corev1.ResourceQuotaScopeNotTerminating && ends:
			return false
		}
	}
	return true
}
