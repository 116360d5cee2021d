package cluster

import (
	"fmt"
	"testing"
	"time"
)

// bigState is a state at Kubernetes' own limit.
func bigState(b *testing.B, nodes, podsEach int) *state {
	w := &Watcher{client: &Client{cfg: &Config{}, traffic: newTraffic()}, changed: make(chan struct{}, 1), kubelets: newKubelets()}
	s := newState(w)
	now := time.Now()
	for i := range nodes {
		name := fmt.Sprintf("node-%04d", i)
		(&Node{Name: name, UID: name, Ready: TriTrue}).put(s, now, true)
		(&lease{node: name, renewed: now, duration: 40 * time.Second}).put(s, now, true)
		for k := range podsEach {
			n := i*podsEach + k
			(&Pod{Key: Key{fmt.Sprintf("ns-%02d", n%50), fmt.Sprintf("pod-%06d", n)}, UID: "u", Node: name,
				Phase: "Running", Status: "Running", OwnerKind: "ReplicaSet", Deployment: fmt.Sprintf("dep-%04d", n%3000)}).put(s, now, true)
		}
	}
	s.publish(now)
	s.heartbeatsFrom = now.Add(-time.Hour)
	b.ReportAllocs()
	b.ResetTimer()
	return s
}

// BenchmarkSnapshotOnePodChanged is the cost of taking in one changed pod and
// publishing a Snapshot, with 5,000 nodes and 150,000 pods.
func BenchmarkSnapshotOnePodChanged(b *testing.B) {
	s := bigState(b, 5000, 30)
	for i := range b.N {
		n := i % 150000
		p := *s.t.pod(Key{fmt.Sprintf("ns-%02d", n%50), fmt.Sprintf("pod-%06d", n)})
		p.Restarts++
		p.put(s, time.Now(), true)
		s.publish(time.Now())
	}
}

// BenchmarkSnapshotOneLeaseRenewed is the cost of one heartbeat.
func BenchmarkSnapshotOneLeaseRenewed(b *testing.B) {
	s := bigState(b, 5000, 30)
	for i := range b.N {
		now := time.Now()
		(&lease{node: fmt.Sprintf("node-%04d", i%5000), renewed: now, duration: 40 * time.Second}).put(s, now, true)
		if s.dirty {
			b.Fatal("a renewal that changes no word makes a Snapshot")
		}
	}
}
