package tui

import (
	"fmt"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// large is Kubernetes' own limit: 5,000 nodes and 150,000 pods.
func large() *view.Frame {
	c := cluster.Contents{At: t0, Link: cluster.Link{State: cluster.LinkLive, LastContact: t0}, Access: synced}
	for n := range 5000 {
		c.Nodes = append(c.Nodes, &cluster.Node{Name: fmt.Sprintf("node-%04d", n), Ready: cluster.TriTrue,
			RenewSeen: t0, LeaseDuration: 40 * time.Second})
	}
	for p := range 150000 {
		c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: fmt.Sprint("team-", p%50), Name: fmt.Sprintf("web-%06d", p)},
			Node: fmt.Sprintf("node-%04d", p%5000), Phase: "Running", Status: "Running", Ready: true, Deployment: fmt.Sprint("web-", p%1000)})
	}
	for d := range 1000 {
		c.Deployments = append(c.Deployments, &cluster.Deployment{Key: cluster.Key{Namespace: fmt.Sprint("team-", d%50), Name: fmt.Sprint("web-", d)},
			Replicas: 150, Available: 150, Word: "Running"})
	}
	return &view.Frame{Title: view.Title{Cluster: "large"}, Now: t0, Snapshot: cluster.NewSnapshot(c), Power: map[string]view.MachineView{}}
}

// BenchmarkNewFrame is a changed cluster of 5,000 nodes and 150,000 pods: taken
// and drawn.
func BenchmarkNewFrame(b *testing.B) {
	f := large()
	contents := f.Snapshot.Contents()
	frames := []*view.Frame{f, {Title: view.Title{Cluster: "large"}, Now: t0, Snapshot: cluster.NewSnapshot(contents), Power: f.Power}}
	m, _, _ := testModel(f, 200, 60, Options{})
	for b.Loop() {
		frames[0], frames[1] = frames[1], frames[0]
		m.Update(FrameMsg{frames[0]})
		m.View()
	}
}

// BenchmarkKey is a cursor movement in that cluster, drawn.
func BenchmarkKey(b *testing.B) {
	m, _, _ := testModel(large(), 200, 60, Options{})
	for b.Loop() {
		m.Update(keyMsg("down"))
		m.View()
	}
}

// BenchmarkIdle is a second of an idle screen.
func BenchmarkIdle(b *testing.B) {
	m, _, now := testModel(mdxOutage(), 120, 36, Options{})
	for b.Loop() {
		*now = now.Add(time.Second)
		m.Update(tickMsg{})
		m.View()
	}
}

// BenchmarkOneOfAllPods is one changed pod while all 150,000 are listed.
func BenchmarkOneOfAllPods(b *testing.B) {
	f := large()
	contents := f.Snapshot.Contents()
	build := cluster.NewBuilder()
	for _, n := range contents.Nodes {
		build.SetNode(n)
	}
	for _, p := range contents.Pods {
		build.SetPod(p)
	}
	m, _, _ := testModel(f, 200, 60, Options{})
	typeKeys(m, "3 a")
	i := 0
	for b.Loop() {
		p := *contents.Pods[i%len(contents.Pods)]
		p.Ready = i%2 == 0
		build.SetPod(&p)
		i += 7919
		m.Update(FrameMsg{&view.Frame{Title: f.Title, Now: t0, Snapshot: build.Snapshot(contents), Power: f.Power}})
		m.View()
	}
}
