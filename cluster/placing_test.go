package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
)

// Pods of one template share their Spec, whatever the names of their token volumes and
// whatever their nodes.
func TestPodsOfATemplateShareTheirSpec(t *testing.T) {
	spec := func(node, token, memory string) *corev1.PodSpec {
		return &corev1.PodSpec{NodeName: node, SchedulerName: "default-scheduler",
			Volumes: []corev1.Volume{{Name: token, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}}},
			Containers: []corev1.Container{{Name: "main", Image: "i", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"memory": quantity.MustParse(memory), "cpu": quantity.MustParse("1"), "nvidia.com/gpu": quantity.MustParse("2")}}}}}
	}
	a, b := NewSpec(spec("n1", "token-a", "1Gi"), ""), NewSpec(spec("n2", "token-b", "1Gi"), "")
	if a != b {
		t.Error("pods of one template have different specs")
	}
	if c := NewSpec(spec("n1", "token-a", "2Gi"), ""); a == c {
		t.Error("pods that ask for different memory share a spec")
	}
	if q := a.Decode().Containers[0].Resources.Requests["nvidia.com/gpu"]; q.Value() != 2 {
		t.Errorf("GPUs: %v", q)
	}
	if got := (Spec{}).Decode(); len(got.Containers) != 0 {
		t.Errorf("%+v", got)
	}
}

func BenchmarkTrimSpec(b *testing.B) {
	spec := &corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": quantity.MustParse("1"), "memory": quantity.MustParse("1Gi")}}}},
		Tolerations: []corev1.Toleration{{Key: TaintUnreachable, Operator: "Exists"}, {Key: TaintNotReady, Operator: "Exists"}}}
	b.ReportAllocs()
	for b.Loop() {
		NewSpec(spec, "ReplicaSet")
	}
}
