package machine

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

var longAgo = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

// ranBefore is a pod that ran in an earlier boot, and whose node has been
// silent since: the control plane has said that it is not ready.
func ranBefore() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.244.1.2", PodIPs: []corev1.PodIP{{IP: "10.244.1.2"}},
			StartTime: &longAgo, QOSClass: corev1.PodQOSBurstable,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: longAgo},
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: longAgo},
				{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: longAgo},
			},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "a", ContainerID: "containerd://a", RestartCount: 2, Ready: true,
					State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: longAgo}}},
				{Name: "b", ContainerID: "containerd://b", Ready: true,
					State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: longAgo}}},
			},
		},
	}
}

func condition(s corev1.PodStatus, t corev1.PodConditionType) corev1.PodCondition {
	for _, c := range s.Conditions {
		if c.Type == t {
			return c
		}
	}
	return corev1.PodCondition{}
}

func TestContainersOfAnEarlierBootAreDeadWith255(t *testing.T) {
	pod := ranBefore()
	r := adopt("10.0.0.11", pod)
	s := r.status(pod)
	a := s.ContainerStatuses[0]
	if end := a.State.Terminated; end == nil || end.ExitCode != 255 || end.Reason != "Unknown" || end.StartedAt != longAgo || a.RestartCount != 2 || a.Ready {
		t.Errorf("container a: %+v", a)
	}
	if s.Phase != corev1.PodRunning || s.PodIP != "10.244.1.2" || s.QOSClass != corev1.PodQOSBurstable {
		t.Errorf("phase %s, address %s, class %s", s.Phase, s.PodIP, s.QOSClass)
	}
	if c := condition(s, corev1.ContainersReady); c.Status != corev1.ConditionFalse || c.LastTransitionTime == longAgo {
		t.Errorf("%+v", c)
	}
	if c := condition(s, corev1.PodScheduled); c.Status != corev1.ConditionTrue || c.LastTransitionTime != longAgo {
		t.Errorf("somebody else's condition was changed: %+v", c)
	}
	if c := condition(s, corev1.PodReady); c.LastTransitionTime != longAgo || c.Reason != "ContainersNotReady" {
		t.Errorf("a condition that stays False: %+v", c)
	}

	r.containers[0].retire()
	if c := r.containers[0]; c.restarts != 3 || c.last.Terminated.ExitCode != 255 {
		t.Errorf("after the restart: %+v", c)
	}
}

func TestStatusPatchMovesThePodToItsNewAddress(t *testing.T) {
	pod := ranBefore()
	r := adopt("10.0.0.11", pod)
	r.ip, r.sandbox = "10.244.1.9", true
	want := r.status(pod)
	patch, err := statusPatch(pod, want)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := json.Marshal(pod)
	after, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	var got corev1.Pod
	if err := json.Unmarshal(after, &got); err != nil {
		t.Fatal(err)
	}
	if got.Status.PodIP != "10.244.1.9" || len(got.Status.PodIPs) != 1 || got.Status.PodIPs[0].IP != "10.244.1.9" {
		t.Errorf("addresses %s %v", got.Status.PodIP, got.Status.PodIPs)
	}
	if len(got.Status.Conditions) != len(want.Conditions) {
		t.Errorf("conditions %v", got.Status.Conditions)
	}
	var fields struct{ Metadata struct{ UID string } }
	if err := json.Unmarshal(patch, &fields); err != nil || fields.Metadata.UID != "u" {
		t.Errorf("the patch is good for any pod of that name: %s", patch)
	}
}

func TestEndOfAPod(t *testing.T) {
	for _, test := range []struct {
		name  string
		code  int32
		ran   bool
		phase corev1.PodPhase
	}{
		{"ended by itself", 0, true, corev1.PodSucceeded},
		{"killed", 137, true, corev1.PodFailed},
		{"never ran", 255, false, corev1.PodFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}}}}
			r := adopt("10.0.0.11", pod)
			if test.ran {
				r.containers[0].state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: longAgo}}
			}
			if r.phase() == test.phase {
				t.Fatalf("phase %s before the end", r.phase())
			}
			r.finish(test.code)
			s := r.status(pod)
			if s.Phase != test.phase || s.ContainerStatuses[0].State.Terminated == nil || condition(s, corev1.PodReady).Status != corev1.ConditionFalse {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestAddressesAreNotReusedAtOnce(t *testing.T) {
	a := newAddresses("10.244.1")
	first, number, _ := a.take()
	a.give(number)
	second, _, _ := a.take()
	if first != "10.244.1.2" || second != "10.244.1.3" {
		t.Errorf("%s, then %s", first, second)
	}
	taken := 1
	for {
		if _, _, ok := a.take(); !ok {
			break
		}
		taken++
	}
	if taken != lastAddress-firstAddress+1 {
		t.Errorf("%d addresses in all", taken)
	}
	a.reset()
	if ip, _, ok := a.take(); !ok || ip == "" {
		t.Error("none left after a boot")
	}
}
