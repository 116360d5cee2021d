package session

import (
	"fmt"
	"testing"

	"lightsout/cluster"
)

// Right after the restart the deployment's counts are those of the old pods: seen
// on Kubernetes 1.36.3 as "6 of 6 pods are new and available, 6 old ones are left".
func TestOldPodsDoNotCountAsNew(t *testing.T) {
	t.Parallel()
	web := cluster.Key{Namespace: "default", Name: "web"}
	state := func(behind bool, updated int, uids ...string) *cluster.Snapshot {
		c := cluster.Contents{Deployments: []*cluster.Deployment{{Key: web, Replicas: 2, Total: 2, Updated: updated, Available: 2, Behind: behind}}}
		for _, uid := range uids {
			c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: "web-" + uid}, UID: uid, OwnerKind: "ReplicaSet", OwnerName: "web-1", Deployment: "web"})
		}
		return cluster.NewSnapshot(c)
	}
	for _, tc := range []struct {
		s    *cluster.Snapshot
		old  int
		done bool
	}{
		{state(false, 2, "a", "b"), 2, false}, // the restart is not visible yet
		{state(true, 2, "a", "b"), 2, false},  // the controller has not processed it yet
		{state(true, 2, "c", "d"), 0, false},
		{state(false, 1, "b", "c"), 1, false},
		{state(false, 2, "c", "d"), 0, true},
	} {
		r := &rollouts{loop: &loop{snapshot: tc.s}}
		done, text, err := r.complete(web, map[string]bool{"a": true, "b": true})
		want := fmt.Sprintf("2 of 2 pods are available, %d old ones are left", tc.old)
		if done != tc.done || text != want || err != nil {
			t.Errorf("%v %q %v, want %v %q", done, text, err, tc.done, want)
		}
	}
}
