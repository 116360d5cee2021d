package cluster

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a source says of times of a year that JSON can't hold is none: it would
// keep all else from being recorded.
func TestATimeThatCantBeWrittenIsNone(t *testing.T) {
	far := metav1.NewTime(time.Unix(1<<42, 0))
	grace := int64(1 << 40)
	meta := metav1.ObjectMeta{Name: "x", CreationTimestamp: far, DeletionTimestamp: &far, DeletionGracePeriodSeconds: &grace}
	node := trimNode(&corev1.Node{ObjectMeta: meta,
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: "k", Effect: "NoExecute", TimeAdded: &far}}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, LastTransitionTime: far}}}})
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: far}}
	pod := trimPod(&corev1.Pod{ObjectMeta: meta, Status: corev1.PodStatus{
		Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, LastTransitionTime: far}},
		ContainerStatuses: []corev1.ContainerStatus{{RestartCount: 1, LastTerminationState: ended}}}})
	for _, x := range []any{node, pod} {
		if _, err := json.Marshal(x); err != nil {
			t.Error(err)
		}
	}
	if !node.Created.IsZero() || !node.ReadySince.IsZero() || !pod.Created.IsZero() || !pod.RestartedAt.IsZero() {
		t.Errorf("%+v %+v", node, pod)
	}
	if at := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC); !moment(at).Equal(at) {
		t.Error("a time of today was taken for none")
	}
}

// Networks of containers and public addresses stand before the cluster's own in some clusters.
func TestInternalAddressesComeFirst(t *testing.T) {
	node := trimNode(&corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeExternalIP, Address: "172.17.0.1"}, {Type: corev1.NodeHostName, Address: "n1"}, {Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}}})
	if want := []string{"10.0.0.1", "172.17.0.1"}; !slices.Equal(node.Addresses, want) {
		t.Errorf("addresses %v, want %v", node.Addresses, want)
	}
}
