package place

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lightsout/cluster"
)

// guard adds a budget for the pods of a ReplicaSet.
func guard(c *cluster.Contents, set string, healthy, desired int32) {
	c.Objects = append(c.Objects, &cluster.Object{Kind: cluster.KindBudget, Key: cluster.Key{Namespace: "d", Name: set}, Value: &policyv1.PodDisruptionBudget{
		Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": set}}},
		Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: healthy, DesiredHealthy: desired}}})
}

// A pod that tolerates a lost node for ever is never evicted, so its ReplicaSet does not
// replace it.
func TestAPodThatIsNeverEvictedIsStuck(t *testing.T) {
	c := tiny(3)
	put(c, "ingress", "a", asking("cpu", "1"))
	c.Pods[0].UnreachableFor = -1
	w := New(cluster.NewSnapshot(*c))
	if left, fits := w.Fits("a"); left != 1 || !fits {
		t.Errorf("%d left, fits %t", left, fits)
	}
	o := w.Lose([]string{"a"}, Options{})
	if o.Stuck != (Range{1, 1}) || len(o.Workloads) != 1 || o.Workloads[0].After != (Range{0, 0}) || o.Workloads[0].Stuck != o.Stuck {
		t.Errorf("%+v", o)
	}
	guard(c, "ingress", 1, 1)
	w = New(cluster.NewSnapshot(*c))
	if _, fits := w.Fits("a"); fits {
		t.Error("the loss breaks a budget, and Fits is certain")
	}
	if o := w.Lose([]string{"a"}, Options{}); len(o.Budgets) != 1 || o.Budgets[0].Healthy != (Range{0, 0}) {
		t.Errorf("%+v", o.Budgets)
	}
}

// The pods of a node that is not evicted stay there, whatever they tolerate.
func TestThePodsOfANodeThatStaysAreStuck(t *testing.T) {
	c := tiny(3)
	put(c, "web", "a", asking("cpu", "1"))
	put(c, "web", "b", asking("cpu", "1"))
	put(c, "agent", "a", asking("cpu", "1"))
	c.Pods[2].OwnerKind, c.Pods[2].UnreachableFor = "DaemonSet", -1
	o := New(cluster.NewSnapshot(*c)).Lose([]string{"a", "b"}, Options{Stay: []string{"a", "c"}})
	if o.Stuck != (Range{1, 1}) || o.Moving != (Range{1, 1}) {
		t.Errorf("stuck %v, moving %v", o.Stuck, o.Moving)
	}
}

// A pod that is not Ready is not among the healthy ones of a budget, so its loss takes none
// away, and its replacement adds one.
func TestABudgetLosesOnlyHealthyPods(t *testing.T) {
	c := tiny(4)
	for _, node := range []string{"a", "b", "c"} {
		put(c, "web", node, asking("cpu", "1"))
	}
	c.Pods[0].Ready, c.Pods[0].UnreachableFor = false, -1
	guard(c, "web", 2, 2)
	w := New(cluster.NewSnapshot(*c))
	if _, fits := w.Fits("a"); !fits {
		t.Error("the loss of a pod that is not Ready breaks a budget")
	}
	if o := w.Lose([]string{"a"}, Options{}); len(o.Budgets) != 0 {
		t.Errorf("%+v", o.Budgets)
	}
}

// A workload shows what became of its pods that nobody replaces.
func TestAWorkloadCountsThePodsThatNobodyReplaces(t *testing.T) {
	c := tiny(3)
	put(c, "broker", "a", asking("cpu", "1"))
	c.Pods[0].OwnerKind, c.Pods[0].Deployment = "StrimziPodSet", ""
	o := lose(c, "a")
	if o.Orphans != (Range{1, 1}) || len(o.Workloads) != 1 || o.Workloads[0].Orphans != o.Orphans || o.Workloads[0].Kind != "StrimziPodSet" {
		t.Errorf("%+v", o)
	}
}
