package place

import (
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lightsout/cluster"
)

// spreadByTaints is a small crowded cluster: pods spread over the nodes without untolerated taints,
// and other pods keep apart.
func spreadByTaints() *cluster.Contents {
	honor := corev1.NodeInclusionPolicyHonor
	c := tiny(6)
	for d := range 4 {
		app := fmt.Sprintf("app%d", d)
		spec := asking("cpu", "700m")
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname,
			WhenUnsatisfiable: corev1.DoNotSchedule, NodeTaintsPolicy: &honor, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
		apart := asking("cpu", "200m")
		apart.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "apart" + app}}}}}}
		for p := range 4 {
			put(c, app, c.Nodes[(d+p)%6].Name, spec)
			put(c, "apart"+app, c.Nodes[(2*d+p)%6].Name, apart)
		}
	}
	return c
}

// A World that has answered many questions answers each as a new one does, and keeps no more
// counters than its classes have, though some rules depend on which nodes are lost.
func TestManyQuestionsToOneWorld(t *testing.T) {
	c := spreadByTaints()
	s := cluster.NewSnapshot(*c)
	w := New(s)
	most, moved := 0, 0
	for n := range 72 {
		lost := []string{c.Nodes[n%6].Name, c.Nodes[(n+1+n/6%5)%6].Name}
		left, fits := w.Fits(lost...)
		if l, f := New(s).Fits(lost...); l != left || f != fits {
			t.Errorf("question %d, %v: fits %v, left %d; a new World: %v, %d", n, lost, fits, left, f, l)
		}
		got, want := w.Lose(lost, Options{Orders: 3}), New(s).Lose(lost, Options{Orders: 3})
		if !reflect.DeepEqual(got, want) {
			t.Errorf("question %d, %v:\n%+v\na new World:\n%+v", n, lost, got, want)
		}
		moved += got.Moving.High
		if n == 35 {
			most = w.counters
		}
	}
	if w.counters != most || most == 0 || moved == 0 {
		t.Errorf("%d counters, %d after half of the questions; %d pods moved", w.counters, most, moved)
	}
}
