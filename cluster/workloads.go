package cluster

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"lightsout/internal/text"
)

// Workload is a stateful set, a daemon set, a job, or a service with its endpoints.
// Immutable.
type Workload struct {
	Kind Kind
	Key
	// Ready of Desired are kubectl's: ready pods; of a job completions, of a service
	// endpoints.
	Ready, Desired int
	// Word is lightsout's: Running, Partly, Updating, Down, Stopped; of a job Running,
	// Complete, Failed, Suspended; of a service Serving, Partly, Down, Empty.
	Word   string
	Labels string
	// Failed and Backoff are a job's failed pods, and how many of them it allows.
	// Forgiving: its failure policy does not count pods that a node takes along when it
	// goes down.
	Failed, Backoff int
	Forgiving       bool
}

// Words of workloads, beside those of deployments.
const (
	WordComplete  = "Complete"
	WordSuspended = "Suspended"
	WordServing   = "Serving"
	WordPartly    = "Partly"
	WordEmpty     = "Empty"
)

// Workloads gives the workloads of a kind by namespace and name. Its cost follows their
// number. The services are those that have an endpoint slice: all but those without a
// selector.
func (s *Snapshot) Workloads(kind Kind) (out []*Workload) {
	if kind == KindService {
		return text.Each(s.endpoints.all(), serviceOf)
	}
	for _, o := range s.Objects(kind) {
		if w := workloadOf(o.Key, o.Value); w != nil {
			out = append(out, w)
		}
	}
	return out
}

// Workload returns a workload; nil if there is none of this kind and key. Of a deployment Ready are
// the available pods.
func (s *Snapshot) Workload(ref Ref) *Workload {
	if d := s.Deployment(ref.Key); ref.Kind == KindDeployment && d != nil {
		return &Workload{Kind: ref.Kind, Key: d.Key, Ready: d.Available, Desired: d.Replicas, Word: d.Word, Labels: d.Labels}
	}
	if ref.Kind == KindService {
		if e := keyed(s.endpoints, ref.Key); e != nil {
			return serviceOf(e)
		}
		return nil
	}
	return workloadOf(ref.Key, s.Object(ref.Kind, ref.Key))
}

// workloadOf returns the workload in an Object's value; nil if there is none.
func workloadOf(k Key, value any) *Workload {
	if j, ok := value.(*batchv1.Job); ok {
		return jobOf(k, j)
	}
	w, _ := value.(*Workload)
	return w
}

// controllerWord is the word of a workload whose pods should all run.
func controllerWord(desired, ready, updated int) string {
	switch {
	case desired == 0:
		return "Stopped"
	case ready == 0:
		return "Down"
	case ready < desired:
		return WordPartly
	case updated < desired:
		return "Updating"
	}
	return WordRunning
}

func trimStatefulSet(x *appsv1.StatefulSet) *Workload {
	w := &Workload{Kind: KindStatefulSet, Key: Key{word(x.Namespace), nameOf(x.Name)}, Labels: labels(x.Labels),
		Desired: int(ptr.Deref(x.Spec.Replicas, 1)), Ready: int(x.Status.ReadyReplicas)}
	updated := w.Desired
	if x.Status.UpdateRevision != x.Status.CurrentRevision {
		updated = int(x.Status.UpdatedReplicas)
	}
	w.Word = controllerWord(w.Desired, w.Ready, updated)
	return w
}

func trimDaemonSet(x *appsv1.DaemonSet) *Workload {
	w := &Workload{Kind: KindDaemonSet, Key: Key{word(x.Namespace), nameOf(x.Name)}, Labels: labels(x.Labels),
		Desired: int(x.Status.DesiredNumberScheduled), Ready: int(x.Status.NumberReady)}
	w.Word = controllerWord(w.Desired, w.Ready, int(x.Status.UpdatedNumberScheduled))
	return w
}

// ends are the conditions that tell how a job ended.
func ends(j *batchv1.Job) (out []batchv1.JobCondition) {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobFailed || c.Type == batchv1.JobComplete) && c.Status == corev1.ConditionTrue {
			out = append(out, batchv1.JobCondition{Type: c.Type, Status: c.Status})
		}
	}
	return out
}

func jobOf(k Key, j *batchv1.Job) *Workload {
	w := &Workload{Kind: KindJob, Key: k, Ready: int(j.Status.Succeeded), Word: WordRunning,
		Desired: int(ptr.Deref(cmp.Or(j.Spec.Completions, j.Spec.Parallelism), 1)),
		Failed:  int(j.Status.Failed), Backoff: int(ptr.Deref(j.Spec.BackoffLimit, 6))}
	if p := j.Spec.PodFailurePolicy; p != nil {
		w.Forgiving = slices.ContainsFunc(p.Rules, func(r batchv1.PodFailurePolicyRule) bool {
			return r.Action == batchv1.PodFailurePolicyActionIgnore && slices.ContainsFunc(r.OnPodConditions, func(c batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
				return c.Type == corev1.DisruptionTarget
			})
		})
	}
	switch {
	case slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobFailed }):
		w.Word = "Failed"
	case len(j.Status.Conditions) > 0:
		w.Word = WordComplete
	case ptr.Deref(j.Spec.Suspend, false):
		w.Word = WordSuspended
	}
	return w
}

// serviceOf leaves out the endpoints of pods that are being deleted, unless there are no others.
func serviceOf(e *Endpoints) *Workload {
	w := &Workload{Kind: KindService, Key: e.Service, Ready: e.Ready, Desired: cmp.Or(max(e.Ready, e.Total-e.Terminating), e.Total), Word: WordServing}
	switch {
	case e.Total == 0:
		w.Word = WordEmpty
	case e.Ready == 0:
		w.Word = "Down"
	case e.Ready < w.Desired:
		w.Word = WordPartly
	}
	return w
}

// Ref points at the workload.
func (w *Workload) Ref() Ref { return Ref{w.Kind, w.Key} }

// nameKept is how much of an owner's name is certainly in the names of its pods: the
// API server shortens longer ones when it adds its random characters.
const nameKept = 57

// PodsOwnedBy gives the pods of a deployment, stateful set, daemon set or job by name,
// and none for other kinds. Its cost follows the number of pods whose names begin like
// the owner's.
func (s *Snapshot) PodsOwnedBy(ref Ref) (out []*Pod) {
	kind := ownerKinds[ref.Kind]
	switch {
	case ref.Kind == KindDeployment:
		return s.PodsOf(ref.Key)
	case kind == "" || ref.Name == "":
		return nil
	}
	from := Key{ref.Namespace, ref.Name[:min(len(ref.Name), nameKept)]}
	past := Key{ref.Namespace, from.Name + "\xff"}
	for _, p := range s.pods.span(func(p *Pod) bool { return !p.Key.less(from) }, func(p *Pod) bool { return past.less(p.Key) }) {
		if p.OwnerKind == kind && p.OwnerName == ref.Name {
			out = append(out, p)
		}
	}
	return out
}

// Workload refers to what owns the pod: its deployment, where that is known; without an owner, the pod itself.
func (p *Pod) Workload() Ref {
	switch {
	case p.Deployment != "":
		return Ref{KindDeployment, p.deployment()}
	case p.OwnerName != "":
		return Ref{Kind(strings.ToLower(p.OwnerKind)), Key{p.Namespace, p.OwnerName}}
	}
	return Ref{KindPod, p.Key}
}

// Lacking gives the stateful sets and daemon sets with fewer ready pods than they should have, those that
// lack the largest share first.
func (s *Snapshot) Lacking() []*Workload {
	all := slices.DeleteFunc(slices.Concat(s.Workloads(KindStatefulSet), s.Workloads(KindDaemonSet)), func(w *Workload) bool { return w.Ready >= w.Desired })
	slices.SortStableFunc(all, func(a, b *Workload) int { return a.Ready*b.Desired - b.Ready*a.Desired })
	return all
}

// ownerKinds are the kinds that own pods directly, as the pods name them.
var ownerKinds = map[Kind]string{KindStatefulSet: "StatefulSet", KindDaemonSet: "DaemonSet", KindJob: "Job", KindReplicaSet: "ReplicaSet"}

// Name returns the kind as Kubernetes writes it: "StatefulSet".
func (k Kind) Name() string {
	if owner := ownerKinds[k]; owner != "" {
		return owner
	}
	return strings.ToUpper(string(k)[:1]) + string(k)[1:]
}
