package cluster

import (
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// apiKnative is a Knative service or revision of the namespace default, with its Ready
// condition and, by revision and percent, its traffic.
func apiKnative(name string, ready metav1.Condition, traffic ...knativeTraffic) *knativeObject {
	ready.Type = "Ready"
	return &knativeObject{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Status:     knativeStatus{Conditions: []metav1.Condition{{Type: "RoutesReady", Status: "True"}, ready}, Traffic: traffic},
	}
}

func TestDeploymentsShowWhatKnativesObjectsContain(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	since := metav1.NewTime(time.Now().Truncate(time.Second))
	yes := metav1.Condition{Status: "True", LastTransitionTime: since}
	f.put("services", apiKnative("web", yes, knativeTraffic{"web-00001", ptr.To(int64(100))}))
	f.put("services", apiKnative("other", metav1.Condition{Status: "False"}))
	f.put("revisions", apiKnative("web-00001", yes))
	w := watchFake(t, f)
	knative := func(s *Snapshot) Knative {
		if d := s.Deployment(Key{"default", "web"}); d != nil && d.Knative != nil {
			return *d.Knative
		}
		return Knative{}
	}
	s := w.until("a ready service", func(s *Snapshot) bool {
		return knative(s).ServiceReady.Ready == TriTrue && knative(s).RevisionReady.Ready == TriTrue
	})
	if percent, known := ptr.To(knative(s)).Share(); percent != 100 || !known || !knative(s).ServiceReady.Since.Equal(since.Time) {
		t.Errorf("%+v", knative(s))
	}
	before := s.Deployment(Key{"default", "web"})

	f.put("services", apiKnative("web", metav1.Condition{Status: "False", Reason: "RevisionFailed", Message: "no\x1b[2J room"},
		knativeTraffic{"web-00001", ptr.To(int64(50))}, knativeTraffic{"web-00002", ptr.To(int64(20))}, knativeTraffic{"web-00003", nil}, knativeTraffic{"web-00001", ptr.To(int64(30))}))
	s = w.until("a service that is not ready", func(s *Snapshot) bool { return knative(s).ServiceReady.NotReady() })
	w.untilTold("knative service default/web status: Ready → NotReady")
	w.untilTold("knative service default/web traffic: 100% to web-00001 → 80% to web-00001, 20% to web-00002")
	k := knative(s)
	if k.ServiceReady.Why() != "RevisionFailed: no room" || !reflect.DeepEqual(k.Traffic, []Split{{"web-00001", 80}, {"web-00002", 20}}) {
		t.Errorf("%+v", k)
	}
	if before.Knative.ServiceReady.NotReady() {
		t.Error("an earlier Snapshot has changed")
	}
	// A change of the deployment loses nothing.
	f.put("deployments", apiDeployment(8))
	s = w.until("8 available", func(s *Snapshot) bool { return s.Deployment(Key{"default", "web"}).Available == 8 })
	if percent, _ := ptr.To(knative(s)).Share(); percent != 80 {
		t.Errorf("%+v", knative(s))
	}

	f.remove("services", "default", "web")
	w.untilTold("knative service default/web status: NotReady → ")
	s = w.until("no service", func(s *Snapshot) bool { return knative(s).ServiceReady == Readiness{} })
	if _, known := ptr.To(knative(s)).Share(); known || knative(s).RevisionReady.Ready != TriTrue {
		t.Errorf("%+v", knative(s))
	}
}

// A cluster without Knative is not asked for Knative's objects, and an account that may
// not list them sees everything else.
func TestKnativesObjectsAreOptional(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	plain := apiDeployment(16)
	plain.Labels, plain.Spec.Template = nil, appsv1.Deployment{}.Spec.Template
	f.put("deployments", plain)
	f.change(func() { f.forbidden["services"] = true })
	w := watchFake(t, f)
	s := w.until("everything", synced)
	lists := 0
	f.change(func() { lists = f.lists["services"] + f.lists["revisions"] })
	if _, tried := s.Access[KindKnativeService]; tried || lists > 0 {
		t.Errorf("%+v, %d lists", s.Access, lists)
	}
	f.put("deployments", apiDeployment(16))
	s = w.until("they are forbidden", func(s *Snapshot) bool { return s.Access[KindKnativeService].Forbidden && s.Access[KindRevision].Synced })
	if d := s.Deployment(Key{"default", "web"}); d.Knative == nil || d.Knative.Revision != "web-00001" || d.Knative.ServiceReady != (Readiness{}) {
		t.Errorf("%+v", d)
	}
}
