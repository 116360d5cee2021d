package cluster

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWorkloadsAreSummedUp(t *testing.T) {
	n := func(i int32) *int32 { return &i }
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
	yes := true
	policy := &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionIgnore,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}}}}
	failed := []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
	var c Contents
	for _, o := range []any{
		trimObject(&appsv1.StatefulSet{ObjectMeta: meta("a"), Spec: appsv1.StatefulSetSpec{Replicas: n(3)}, Status: appsv1.StatefulSetStatus{ReadyReplicas: 2}}),
		trimObject(&appsv1.StatefulSet{ObjectMeta: meta("b"), Spec: appsv1.StatefulSetSpec{Replicas: n(0)}}),
		trimObject(&appsv1.StatefulSet{ObjectMeta: meta("c"), Status: appsv1.StatefulSetStatus{ReadyReplicas: 1, CurrentRevision: "1", UpdateRevision: "2"}}),
		trimObject(&appsv1.DaemonSet{ObjectMeta: meta("a"), Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 2, NumberReady: 2, UpdatedNumberScheduled: 2}}),
		trimObject(&batchv1.Job{ObjectMeta: meta("a"), Status: batchv1.JobStatus{Failed: 7, Conditions: failed}}),
		trimObject(&batchv1.Job{ObjectMeta: meta("b"), Spec: batchv1.JobSpec{Completions: n(3), BackoffLimit: n(1), PodFailurePolicy: policy}, Status: batchv1.JobStatus{Succeeded: 1}}),
		trimObject(&batchv1.Job{ObjectMeta: meta("c"), Spec: batchv1.JobSpec{Suspend: &yes}}),
	} {
		c.Objects = append(c.Objects, o.(*Object))
	}
	c.Endpoints = []*Endpoints{{Service: Key{"default", "a"}, Ready: 2, Total: 2}, {Service: Key{"default", "b"}, Ready: 1, Total: 2}, {Service: Key{"default", "c"}, Total: 2}, {Service: Key{"default", "d"}},
		{Service: Key{"default", "e"}, Ready: 6, Terminating: 3, Total: 9}, {Service: Key{"default", "f"}, Ready: 5, Terminating: 3, Total: 9}, {Service: Key{"default", "g"}, Terminating: 2, Total: 2}}
	s := NewSnapshot(c)
	var got []string
	for _, kind := range []Kind{KindStatefulSet, KindDaemonSet, KindJob, KindService} {
		for _, w := range s.Workloads(kind) {
			got = append(got, fmt.Sprintf("%s %s %d/%d %s", w.Kind, w.Name, w.Ready, w.Desired, w.Word))
			if s.Workload(w.Ref()) == nil {
				t.Errorf("%s is not found by its key", w.Ref())
			}
		}
	}
	want := "statefulset a 2/3 Partly|statefulset b 0/0 Stopped|statefulset c 1/1 Updating|daemonset a 2/2 Running|" +
		"job a 0/1 Failed|job b 1/3 Running|job c 0/1 Suspended|service a 2/2 Serving|service b 1/2 Partly|service c 0/2 Down|service d 0/0 Empty|service e 6/6 Serving|service f 5/6 Partly|service g 0/2 Down"
	if strings.Join(got, "|") != want {
		t.Errorf("got %s", strings.Join(got, "|"))
	}
	if a, b := s.Workload(Ref{KindJob, Key{"default", "a"}}), s.Workload(Ref{KindJob, Key{"default", "b"}}); a.Failed != 7 || a.Backoff != 6 || a.Forgiving || b.Backoff != 1 || !b.Forgiving {
		t.Errorf("jobs %+v and %+v", a, b)
	}
	if s.Workload(Ref{KindStatefulSet, Key{"default", "z"}}) != nil || s.Workload(Ref{KindService, Key{"default", "z"}}) != nil {
		t.Error("a workload is there that is not")
	}
}

func TestPodsAreFoundByTheirOwner(t *testing.T) {
	long := strings.Repeat("x", 70)
	var c Contents
	for _, p := range []struct{ name, kind, owner string }{
		{"db-0", "StatefulSet", "db"}, {"db-1", "StatefulSet", "db"}, {"db-2-0", "StatefulSet", "db-2"}, {"db-4wtpx", "DaemonSet", "db"},
		{long[:58] + "4wtpx", "Job", long}, {"db", "", ""},
	} {
		c.Pods = append(c.Pods, &Pod{Key: Key{"default", p.name}, OwnerKind: p.kind, OwnerName: p.owner})
	}
	c.Pods = append(c.Pods, &Pod{Key: Key{"other", "db-0"}, OwnerKind: "StatefulSet", OwnerName: "db"})
	s := NewSnapshot(c)
	for _, tc := range []struct {
		kind Kind
		name string
		want string
	}{{KindStatefulSet, "db", "db-0 db-1"}, {KindStatefulSet, "db-2", "db-2-0"}, {KindDaemonSet, "db", "db-4wtpx"}, {KindJob, long, long[:58] + "4wtpx"}, {KindNode, "db", ""}, {KindJob, "", ""}} {
		var got []string
		for _, p := range s.PodsOwnedBy(Ref{tc.kind, Key{"default", tc.name}}) {
			got = append(got, p.Name)
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s %s owns %v", tc.kind, tc.name, got)
		}
	}
}
