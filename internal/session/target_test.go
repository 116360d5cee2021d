package session

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"lightsout/cluster"
)

// cast is a watcher with one snapshot.
type cast struct {
	Watcher
	s *cluster.Snapshot
}

func (c *cast) Snapshot() *cluster.Snapshot { return c.s }

var targetTime = time.Unix(1_700_000_000, 0)

// revisions returns a cluster with revisions of the Knative service "llm", each with
// this many ready pods, on n1 and n2 in turn.
func revisions(pods ...int) *cluster.Snapshot {
	var c cluster.Contents
	for _, name := range []string{"n1", "n2"} {
		c.Nodes = append(c.Nodes, &cluster.Node{Name: name, Ready: cluster.TriTrue, RenewSeen: targetTime, LeaseDuration: 40 * time.Second})
	}
	for i, n := range pods {
		revision := fmt.Sprintf("llm-%05d", i+1)
		key := cluster.Key{Namespace: "default", Name: revision + "-deployment"}
		c.Deployments = append(c.Deployments, &cluster.Deployment{Key: key, Replicas: n,
			Knative: &cluster.Knative{Service: "llm", Revision: revision, ContainerConcurrency: 2}})
		for j := range n {
			c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: fmt.Sprintf("%s-%d", revision, j)},
				Node: c.Nodes[j%2].Name, Phase: "Running", Ready: true, Deployment: key.Name, Concurrency: 2})
		}
	}
	return cluster.NewSnapshot(c)
}

func newRevisionTarget(w *cast) *Target {
	return NewTarget(w, cluster.Key{Namespace: "default", Name: "llm-00001-deployment"}, func() time.Time { return targetTime })
}

func TestTheLoadFollowsTheServiceToItsNextRevision(t *testing.T) {
	w := &cast{s: revisions(4)}
	target := newRevisionTarget(w)
	for _, step := range []struct {
		what          string
		pods          []int
		backends, now int
	}{
		{"one revision", []int{4}, 4, 8},
		{"the next revision starts", []int{4, 2}, 6, 12},
		{"the first revision has scaled to zero", []int{0, 4}, 4, 8},
	} {
		w.s = revisions(step.pods...)
		now, wanted, limited := target.Capacity()
		if got := target.Backends(); len(got) != step.backends || now != step.now || wanted != step.now || !limited {
			t.Errorf("%s: %d backends, capacity %d of %d (%v)", step.what, len(got), now, wanted, limited)
		}
	}
	// Knative deletes revisions that no longer get requests.
	left := w.s.Contents()
	left.Deployments = left.Deployments[1:]
	w.s = cluster.NewSnapshot(left)
	if got := target.Backends(); len(got) != 4 {
		t.Errorf("after the first revision was deleted: %d backends", len(got))
	}
}

// split gives the service "llm" of a snapshot this split of its requests, by revision.
func split(s *cluster.Snapshot, percent ...int) *cluster.Snapshot {
	c := s.Contents()
	var traffic []cluster.Split
	for i, n := range percent {
		traffic = append(traffic, cluster.Split{Revision: fmt.Sprintf("llm-%05d", i+1), Percent: n})
	}
	for i, d := range c.Deployments {
		x, k := *d, *d.Knative
		k.Traffic, x.Knative = traffic, &k
		c.Deployments[i] = &x
	}
	return cluster.NewSnapshot(c)
}

// A revision that gets no requests adds no capacity, however many pods it keeps. Its pods
// are still asked for what they have.
func TestCapacityFollowsTheTrafficOfTheService(t *testing.T) {
	w := &cast{}
	target := newRevisionTarget(w)
	for _, step := range []struct {
		percent []int
		now     int
		ready   int
	}{
		{[]int{100}, 8, 4},
		{[]int{80, 20}, 12, 6},
		{[]int{0, 100}, 4, 2},
	} {
		w.s = split(revisions(4, 2), step.percent...)
		ready, all := 0, target.Backends()
		for _, b := range all {
			if b.Ready {
				ready++
			}
		}
		if now, wanted, limited := target.Capacity(); now != step.now || wanted != step.now || !limited || ready != step.ready || len(all) != 6 {
			t.Errorf("%v: capacity %d of %d (%v), %d ready of %d", step.percent, now, wanted, limited, ready, len(all))
		}
	}
}

// Activators count by revision: Knative 1.22 does not name the service in its metrics.
func TestActivatorsAreAskedAboutEachRevision(t *testing.T) {
	c := revisions(1, 1).Contents()
	c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "knative-serving", Name: "activator-0"}, Node: "n1", Phase: "Running", Ready: true, Deployment: "activator"})
	all := newRevisionTarget(&cast{s: cluster.NewSnapshot(c)}).Sources()
	if len(all) != 1 || all[0].Pod != "activator-0" || !slices.Equal(all[0].Labels["kn_revision_name"], []string{"llm-00001", "llm-00002"}) {
		t.Errorf("%+v", all)
	}
}

func TestZeroPodsServeNothing(t *testing.T) {
	if now, wanted, limited := newRevisionTarget(&cast{s: revisions(0)}).Capacity(); now != 0 || wanted != 0 || !limited {
		t.Errorf("capacity %d of %d (limited %v)", now, wanted, limited)
	}
}

func TestAMachineThatIsProvenOffServesNothing(t *testing.T) {
	target := newRevisionTarget(&cast{s: revisions(4)})
	target.setOff(map[string]bool{"n2": true})
	dead := 0
	for _, b := range target.Backends() {
		if b.OnDead {
			dead++
		}
		if b.OnDead != (b.Node == "n2") {
			t.Errorf("%+v", b)
		}
	}
	if dead != 2 {
		t.Errorf("%d pods on a dead node", dead)
	}
}
