package cli

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

func TestPlainPrintsTheStateInLines(t *testing.T) {
	now := time.Date(2026, 3, 4, 10, 20, 30, 0, time.UTC)
	pod := func(name, node string, ready bool) *cluster.Pod {
		return &cluster.Pod{Key: cluster.Key{Namespace: "shop", Name: name}, Node: node, Phase: "Running", Status: "Running", Ready: ready}
	}
	f := &view.Frame{
		Title: view.Title{Cluster: "mdx\x1b[31m", Namespaces: "shop"}, Now: now,
		Snapshot: cluster.NewSnapshot(cluster.Contents{
			At:    now,
			Nodes: []*cluster.Node{{Name: "a", Ready: cluster.TriTrue}, {Name: "b", Ready: cluster.TriFalse}},
			Pods:  []*cluster.Pod{pod("web-1", "a", true), pod("web-2", "b", false), pod("web-3", "", false)},
			Objects: []*cluster.Object{{Kind: cluster.KindStatefulSet, Key: cluster.Key{Namespace: "shop", Name: "db"},
				Value: &cluster.Workload{Kind: cluster.KindStatefulSet, Key: cluster.Key{Namespace: "shop", Name: "db"}, Ready: 2, Desired: 3, Word: "Partly"}}},
			Deployments: []*cluster.Deployment{{Key: cluster.Key{Namespace: "shop", Name: "web"}, Replicas: 3, Available: 1, Word: "Partly"}},
		}),
		Power: map[string]view.MachineView{"a": {}, "b": {Reading: power.Reading{State: power.Off, Proof: power.Proven, RequestedAt: now, Arrived: now}}},
		Load:  loadgen.Run{Gauge: loadgen.Gauge{Served: 8, Capacity: 8, Queued: 4}},
		Next:  []string{"pods of b are evicted in 4m"},
	}
	text := strings.Join(stateLines(f), "\n")
	for _, want := range []string{
		" of mdx, namespaces shop, API server connecting", "Nodes: 1 of 2 Ready\n  NODE", "a     Ready", "asking", "1 of 1",
		"off, proven", "0 of 1", "shop/web    1 of 3     Partly", "Pods: 1 of 3 ready", "Other workloads that lack pods: 1\n", "shop/db   statefulset  2 of 3  Partly", "shop/web-3  no node",
		"Requests: serving 8 of 8, queued 4", "Next: pods of b",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not told:\n%s", want, text)
		}
	}
	if strings.ContainsRune(text, '\x1b') || strings.Contains(text, " \n") {
		t.Errorf("not harmless, or ends in blanks:\n%q", text)
	}
}
