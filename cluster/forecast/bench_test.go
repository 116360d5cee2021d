package forecast

import (
	"fmt"
	"testing"
	"time"

	"lightsout/cluster"
)

// BenchmarkNext is the cost of a forecast with a hundred dead nodes of 5,000,
// for a new Snapshot and for those that follow within a second.
func BenchmarkNext(b *testing.B) {
	c := cluster.Contents{At: t0, ServerVersion: "v1.36.3"}
	for i := range 5000 {
		n := node(fmt.Sprintf("node-%04d", i))
		if i < 100 {
			n.Ready = cluster.TriUnknown
		}
		c.Nodes = append(c.Nodes, n)
		for k := range 30 {
			c.Pods = append(c.Pods, &cluster.Pod{Key: key(fmt.Sprintf("ns-%02d", k), fmt.Sprintf("pod-%06d", i*30+k)), Node: n.Name,
				Phase: "Running", Status: "Running", OwnerKind: "ReplicaSet", Deployment: "d"})
		}
	}
	s := cluster.NewSnapshot(c)
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			new(Next).Lines(s, nil, t0)
		}
	})
	b.Run("next", func(b *testing.B) {
		var x Next
		for b.Loop() {
			x.Lines(s, nil, t0.Add(time.Second))
		}
	})
}
