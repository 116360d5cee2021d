package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"lightsout/internal/text"
)

// Knative describes the revision behind a deployment and the Knative service that it
// belongs to. Service to TimeoutSeconds are from the deployment's own labels, annotations
// and queue-proxy, the others from Knative's objects. Immutable.
type Knative struct {
	Service              string `json:"service,omitzero"`
	Revision             string `json:"revision,omitzero"`
	MinScale             int    `json:"min_scale,omitzero"` // 0: not set
	MaxScale             int    `json:"max_scale,omitzero"`
	ContainerConcurrency int    `json:"container_concurrency,omitzero"` // 0: unlimited
	TimeoutSeconds       int    `json:"timeout_seconds,omitzero"`       // 0: unknown
	// ServiceReady and RevisionReady are the Ready conditions of both; zero while
	// lightsout has not read them.
	ServiceReady  Readiness `json:"service_ready,omitzero"`
	RevisionReady Readiness `json:"revision_ready,omitzero"`
	// Traffic is how the service splits its requests now, by revision; empty while
	// that is unknown.
	Traffic []Split `json:"traffic,omitempty"`
}

// NoRestart is why a restart of the deployment's rollout would be undone; empty if nothing would undo it.
func (d *Deployment) NoRestart() string {
	if d == nil || d.Knative == nil {
		return ""
	}
	return d.Key.String() + " belongs to a Knative Revision, which undoes a restart of its rollout"
}

// Readiness is a Ready condition of Knative.
type Readiness struct {
	Ready   Tri       `json:"ready,omitzero"`
	Reason  string    `json:"reason,omitzero"`
	Message string    `json:"message,omitzero"`
	Since   time.Time `json:"since,omitzero"`
}

// NotReady reports whether Knative has found that the object cannot serve, or does not
// know whether it can.
func (r Readiness) NotReady() bool { return r.Ready == TriFalse || r.Ready == TriUnknown }

// Why is the condition's reason and message; empty without both.
func (r Readiness) Why() string { return explained(r.Reason, r.Message) }

// Split is the share of a revision in the requests to a Knative service. A revision has at
// most one.
type Split struct {
	Revision string `json:"revision,omitzero"`
	Percent  int    `json:"percent,omitzero"` // 0 to 100
}

// Share returns the percentage of the service's requests that the revision gets; known is
// false while that is unknown.
func (k *Knative) Share() (percent int, known bool) {
	for _, s := range k.Traffic {
		if s.Revision == k.Revision {
			percent = s.Percent
		}
	}
	return percent, len(k.Traffic) > 0
}

// knativeVersion is the API of Knative Serving.
var knativeVersion = schema.GroupVersion{Group: "serving.knative.dev", Version: "v1"}

// knativeObject has the fields of Knative's services and revisions that lightsout reads.
type knativeObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            knativeStatus `json:"status"`
}

type knativeStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Traffic    []knativeTraffic   `json:"traffic,omitempty"`
}

type knativeTraffic struct {
	RevisionName string `json:"revisionName,omitempty"`
	Percent      *int64 `json:"percent,omitempty"` // of a tag without requests: none
}

type knativeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []knativeObject `json:"items"`
}

// DeepCopyObject implements runtime.Object; lightsout only decodes, so nobody calls it.
func (o *knativeObject) DeepCopyObject() runtime.Object { return o }

// DeepCopyObject is as knativeObject's.
func (l *knativeList) DeepCopyObject() runtime.Object { return l }

// addKnative registers Knative's services and revisions.
func addKnative(s *runtime.Scheme) error {
	for _, kind := range []string{"Service", "Revision"} {
		s.AddKnownTypeWithName(knativeVersion.WithKind(kind), &knativeObject{})
		s.AddKnownTypeWithName(knativeVersion.WithKind(kind+"List"), &knativeList{})
	}
	metav1.AddToGroupVersion(s, knativeVersion)
	return nil
}

// knativeSources returns the sources of Knative's objects in a namespace. A cluster
// without a deployment of Knative's is not asked for them.
func (w *Watcher) knativeSources(namespace string) (all []*source) {
	for _, kind := range []Kind{KindKnativeService, KindRevision} {
		all = append(all, &source{kind: kind, namespace: namespace, after: w.knative,
			trim: trimming(func(o *knativeObject) *knativePart { return trimKnative(kind, o) })})
	}
	return all
}

// knativePart is a Knative service or a revision, trimmed.
type knativePart struct {
	ref     Ref
	ready   Readiness
	traffic []Split // of a service
}

func trimKnative(kind Kind, o *knativeObject) *knativePart {
	out := &knativePart{ref: Ref{kind, Key{word(o.Namespace), word(o.Name)}}}
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" {
			out.ready = Readiness{tri(corev1.ConditionStatus(c.Status)), word(c.Reason), harmless(c.Message), moment(c.LastTransitionTime.Time)}
		}
	}
	for _, t := range o.Status.Traffic {
		if t.Percent == nil || *t.Percent <= 0 || *t.Percent > 100 {
			continue
		}
		name, percent := word(t.RevisionName), int(*t.Percent)
		// By its name, by tags and as the latest, a revision may get requests several times.
		if i := slices.IndexFunc(out.traffic, func(s Split) bool { return s.Revision == name }); i >= 0 {
			out.traffic[i].Percent = min(out.traffic[i].Percent+percent, 100)
		} else {
			out.traffic = append(out.traffic, Split{name, percent})
		}
	}
	return out
}

func (p *knativePart) id() Key { return p.ref.Key }

func (p *knativePart) put(s *state, seen time.Time, quiet bool) {
	old := s.knative[p.ref]
	s.knative[p.ref] = p
	s.renewKnative(p.ref)
	if quiet {
		return
	}
	var was Readiness
	var before string
	if old != nil {
		was, before = old.ready, splits(old.traffic)
	}
	if from, to := was.word(), p.ready.word(); from != to {
		s.transit(Transition{Subject: p.ref, Change: ChangeStatus, From: from, To: to, Was: was.health(), Is: p.ready.health(), Why: p.ready.Why(), When: At(seen)})
	}
	if to := splits(p.traffic); before != to && to != "" {
		s.transit(Transition{Subject: p.ref, Change: ChangeTraffic, From: before, To: to, When: At(seen)})
	}
}

func (p *knativePart) drop(s *state, seen time.Time) {
	if old := s.knative[p.ref]; old != nil {
		delete(s.knative, p.ref)
		s.renewKnative(p.ref)
		s.transit(Transition{Subject: p.ref, Change: ChangeStatus, From: old.ready.word(), Was: old.ready.health(), Cause: CauseDeleted, Why: "deleted", When: At(seen)})
	}
}

// word is the condition in the words of a node's; empty without a condition.
func (r Readiness) word() string {
	return map[Tri]string{TriTrue: WordReady, TriFalse: WordNotReady, TriUnknown: WordUnknown}[r.Ready]
}

func (r Readiness) health() Health {
	return map[Tri]Health{TriTrue: HealthGood, TriFalse: HealthBad, TriUnknown: HealthChanging}[r.Ready]
}

// splits describes how a Knative service splits its requests: "80% to web-00001, 20% to
// web-00002".
func splits(all []Split) string {
	parts := text.Each(all, func(s Split) string { return fmt.Sprintf("%d%% to %s", s.Percent, s.Revision) })
	return strings.Join(parts, ", ")
}

// renewKnative puts what a changed object of Knative's contains into the deployments that
// it is about.
func (s *state) renewKnative(ref Ref) {
	for _, d := range s.t.deployments.span(
		func(d *Deployment) bool { return d.Namespace >= ref.Namespace },
		func(d *Deployment) bool { return d.Namespace > ref.Namespace },
	) {
		k := d.Knative
		if k == nil || ref.Kind == KindKnativeService && k.Service != ref.Name || ref.Kind == KindRevision && k.Revision != ref.Name {
			continue
		}
		if now := s.withKnative(d); now != d {
			s.t.deployments.set(now)
			s.dirty = true
		}
	}
}

// withKnative returns the deployment with what Knative's objects contain about it: d
// itself if that has not changed.
func (s *state) withKnative(d *Deployment) *Deployment {
	if d.Knative == nil {
		return d
	}
	s.w.seesKnative()
	k := *d.Knative
	k.ServiceReady, k.RevisionReady, k.Traffic = Readiness{}, Readiness{}, nil
	if p := s.knative[Ref{KindKnativeService, Key{d.Namespace, k.Service}}]; p != nil {
		k.ServiceReady, k.Traffic = p.ready, p.traffic
	}
	if p := s.knative[Ref{KindRevision, Key{d.Namespace, k.Revision}}]; p != nil {
		k.RevisionReady = p.ready
	}
	if k.ServiceReady == d.Knative.ServiceReady && k.RevisionReady == d.Knative.RevisionReady && slices.Equal(k.Traffic, d.Knative.Traffic) {
		return d
	}
	x := *d
	x.Knative = &k
	return &x
}
