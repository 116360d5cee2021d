package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
)

func BenchmarkTrimSpec(b *testing.B) {
	spec := &corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": quantity.MustParse("1"), "memory": quantity.MustParse("1Gi")}}}},
		Tolerations: []corev1.Toleration{{Key: TaintUnreachable, Operator: "Exists"}, {Key: TaintNotReady, Operator: "Exists"}}}
	b.ReportAllocs()
	for b.Loop() {
		NewSpec(spec, "ReplicaSet")
	}
}
