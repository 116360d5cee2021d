package record

import (
	"fmt"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// BenchmarkSampleOfALargeCluster is what a line costs at Kubernetes' limit:
// 5,000 nodes and 150,000 pods.
func BenchmarkSampleOfALargeCluster(b *testing.B) {
	t0 := time.Date(2026, 11, 21, 6, 10, 0, 0, time.UTC)
	c := cluster.Contents{At: t0}
	for i := range 5000 {
		c.Nodes = append(c.Nodes, &cluster.Node{Name: fmt.Sprintf("node-%04d", i), Ready: cluster.TriTrue, Renewed: t0, RenewSeen: t0})
	}
	for i := range 150_000 {
		c.Pods = append(c.Pods, &cluster.Pod{
			Key: cluster.Key{Namespace: "default", Name: fmt.Sprintf("web-7c9b7f6c9-%06d", i)}, UID: fmt.Sprint(i), Node: fmt.Sprintf("node-%04d", i%5000),
			Phase: "Running", Status: "Running", Ready: true, ReadyContainers: 2, Containers: 2, Created: t0, Deployment: "web", OwnerKind: "ReplicaSet", OwnerName: "web-7c9b7f6c9",
		})
	}
	frame := func(c cluster.Contents) *view.Frame { return &view.Frame{Now: t0, Snapshot: cluster.NewSnapshot(c)} }
	was := frame(c)
	same := &view.Frame{Now: t0, Snapshot: was.Snapshot}
	pod := *c.Pods[70_000]
	pod.Ready = false
	c.Pods = append([]*cluster.Pod(nil), c.Pods...)
	c.Pods[70_000] = &pod
	one := frame(c)
	for _, bb := range []struct {
		name     string
		old, now *view.Frame
	}{{"unchanged", was, same}, {"one pod", was, one}, {"keyframe", nil, was}} {
		b.Run(bb.name, func(b *testing.B) {
			l, err := openFile("/dev/null", "")
			if err != nil {
				b.Skip(err)
			}
			bytes := 0
			for b.Loop() {
				x, news := difference(bb.old, bb.now)
				if !news {
					continue
				}
				for _, line := range split(x) {
					bytes += l.add(line)
				}
			}
			b.ReportMetric(float64(bytes)/float64(b.N), "bytes/op")
		})
	}
}
