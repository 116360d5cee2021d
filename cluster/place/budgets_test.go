package place

import (
	"reflect"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lightsout/cluster"
)

// A drain of a node stands still if a budget allows no disruption of one of its pods, or if two share it.
func TestTheBudgetsThatHoldADrain(t *testing.T) {
	t.Parallel()
	always := policyv1.AlwaysAllow
	budget := func(name, app string, status policyv1.PodDisruptionBudgetStatus, policy *policyv1.UnhealthyPodEvictionPolicyType) *cluster.Object {
		return &cluster.Object{Kind: cluster.KindBudget, Key: cluster.Key{Namespace: "d", Name: name}, Value: &policyv1.PodDisruptionBudget{
			Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, UnhealthyPodEvictionPolicy: policy}, Status: status}}
	}
	spent := policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 3, DesiredHealthy: 3}
	short := policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 2, DesiredHealthy: 3}
	room := policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 3, DesiredHealthy: 2, DisruptionsAllowed: 1}
	pod := func(change func(*cluster.Pod)) *cluster.Pod {
		p := &cluster.Pod{Key: cluster.Key{Namespace: "d", Name: "db-0"}, Node: "n1", Phase: "Running", Ready: true, OwnerKind: "StatefulSet", Labels: "app=db"}
		change(p)
		return p
	}
	same := func(*cluster.Pod) {}
	for what, tt := range map[string]struct {
		budgets []*cluster.Object
		pod     *cluster.Pod
		held    []string
	}{
		"no disruption allowed":     {[]*cluster.Object{budget("a", "db", spent, nil)}, pod(same), []string{"a"}},
		"one disruption allowed":    {[]*cluster.Object{budget("a", "db", room, nil)}, pod(same), nil},
		"two budgets for one pod":   {[]*cluster.Object{budget("a", "db", room, nil), budget("b", "db", room, nil)}, pod(same), []string{"a", "b"}},
		"of another application":    {[]*cluster.Object{budget("a", "web", spent, nil)}, pod(same), nil},
		"of a DaemonSet":            {[]*cluster.Object{budget("a", "db", spent, nil)}, pod(func(p *cluster.Pod) { p.OwnerKind = "DaemonSet" }), nil},
		"of another namespace":      {[]*cluster.Object{budget("a", "db", spent, nil)}, pod(func(p *cluster.Pod) { p.Namespace = "e" }), nil},
		"not Ready, enough healthy": {[]*cluster.Object{budget("a", "db", spent, nil)}, pod(func(p *cluster.Pod) { p.Ready = false }), nil},
		"not Ready, too few":        {[]*cluster.Object{budget("a", "db", short, nil)}, pod(func(p *cluster.Pod) { p.Ready = false }), []string{"a"}},
		"not Ready, AlwaysAllow":    {[]*cluster.Object{budget("a", "db", short, &always)}, pod(func(p *cluster.Pod) { p.Ready = false }), nil},
		"Pending":                   {[]*cluster.Object{budget("a", "db", short, nil)}, pod(func(p *cluster.Pod) { p.Phase = "Pending" }), nil},
	} {
		s := cluster.NewSnapshot(cluster.Contents{Objects: tt.budgets})
		var names []string
		for _, k := range Holding(s, tt.pod) {
			names = append(names, k.Name)
		}
		if !reflect.DeepEqual(names, tt.held) {
			t.Errorf("%s: held by %v, want %v", what, names, tt.held)
		}
	}
}

// A budget that allows the first of two evictions blocks a drain if the first pod's successor gets no node, and
// only then; what it holds still runs.
func TestABudgetThatBlocksInTheCourseOfADrain(t *testing.T) {
	t.Parallel()
	for cpu, want := range map[string]Outcome{
		"3": {Losses: Losses{Pending: Range{1, 1}}, Held: Range{1, 1}, Blockings: []Blocking{{Key: cluster.Key{Namespace: "d", Name: "db"}, Evicted: 1, Required: 2, Expected: 4}}},
		"1": {},
	} {
		c := tiny(3)
		for _, node := range []string{"a", "b", "c"} {
			put(c, "db", node, asking("cpu", cpu))
		}
		guard(c, "db", 3, 2)
		c.Objects[len(c.Objects)-1].Value.(*policyv1.PodDisruptionBudget).Status.DisruptionsAllowed = 1
		c.Objects[len(c.Objects)-1].Value.(*policyv1.PodDisruptionBudget).Status.ExpectedPods = 4
		drained := []string{"a", "b"}
		got := New(cluster.NewSnapshot(*c).WithCordoned(drained, true)).Lose(nil, Options{Drained: drained})
		if len(got.Blockings) == 1 && len(got.Blockings[0].Pods) == 1 {
			got.Blockings[0].Pods = nil // which one is chance
		}
		if got.Pending != want.Pending || got.Held != want.Held || !reflect.DeepEqual(got.Blockings, want.Blockings) || len(got.Budgets) > 0 {
			t.Errorf("%s CPUs: %+v", cpu, got)
		}
		if w := got.Of(cluster.Key{Namespace: "d", Name: "db"}); w.After.Low != 3-want.Pending.Low {
			t.Errorf("%s CPUs: %+v", cpu, w)
		}
	}
}
