package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A control plane from v1.31 on gives a pod a condition before it evicts it: other pods of a dead
// node that are deleted are not evicted.
func TestWhyAPodIsDeleted(t *testing.T) {
	t.Parallel()
	const trouble = "node n is NotReady (silent)"
	for _, tc := range []struct {
		version, reason string
		ready           Tri
		later           time.Duration // than the deletion
		cause           Cause
		why             string
	}{
		{"v1.36.3", "DeletionByTaintManager", TriUnknown, 0, CauseEvicted, trouble},
		{"v1.36.3", "DeletionByTaintManager", TriUnknown, 5 * time.Minute, "", ""},
		{"v1.36.3", "DeletionByPodGC", TriUnknown, 0, CauseEvicted, trouble},
		{"v1.36.3", "EvictionByEvictionAPI", TriUnknown, 0, "", ""},
		{"v1.36.3", "", TriUnknown, 0, "", ""},
		{"v1.36.3", "DeletionByTaintManager", TriTrue, 0, "", ""},
		{"v1.30.9", "DeletionByTaintManager", TriUnknown, 0, CauseEvicted, trouble},
		{"v1.30.9", "", TriUnknown, 0, CauseNodeNotReady, trouble},
		{"", "", TriUnknown, 0, CauseNodeNotReady, trouble},
	} {
		var seen []Transition
		w := &Watcher{opts: WatchOptions{Sink: func(tr Transition) { seen = append(seen, tr) }}, client: &Client{cfg: &Config{}, traffic: newTraffic()}, kubelets: newKubelets()}
		s := newState(w)
		s.serverVersion = tc.version
		(&Node{Name: "n", UID: "n", Ready: tc.ready}).put(s, t0, true)
		pod := apiPod("web", "n", "False")
		trimPod(pod).put(s, t0, true)
		pod.DeletionTimestamp = &metav1.Time{Time: t0}
		if tc.reason != "" {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: tc.reason,
				LastTransitionTime: metav1.NewTime(t0.Add(tc.later))})
		}
		trimPod(pod).put(s, t0, false)
		if len(seen) != 1 || seen[0].To != "Terminating" || seen[0].Cause != tc.cause || seen[0].Why != tc.why {
			t.Errorf("%+v: %+v", tc, seen)
		}
	}
}
