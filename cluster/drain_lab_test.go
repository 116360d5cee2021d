package cluster_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

// TestANodeIsCordonedAndDrainedOnTheLab goes through what a budget holds up,
// with the real API server's words for it.
func TestANodeIsCordonedAndDrainedOnTheLab(t *testing.T) {
	testenv.Long(t, 12)
	t.Parallel()
	const node = "kube-node4"
	l := labtest.Start(t, "mdx")
	api := l.API()
	cfg, err := cluster.LoadConfig(cluster.Options{Path: l.Kubeconfig(), Dial: l.Dial()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	noted := 0
	cordon := func() (bool, error) {
		return c.Cordon(ctx, node, func() error { noted++; return nil })
	}
	if changed, err := cordon(); err != nil || !changed {
		t.Fatalf("cordon: %v, %v", changed, err)
	}
	if changed, err := cordon(); err != nil || changed {
		t.Errorf("cordon again: %v, %v", changed, err)
	}
	if noted != 1 {
		t.Errorf("noted %d times", noted)
	}

	const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
	api.Do(http.MethodPost, budgets, map[string]any{
		"metadata": map[string]any{"name": "keep-all"},
		"spec":     map[string]any{"minAvailable": "100%", "selector": map[string]any{}},
	}, nil)
	// The budget counts nothing until its controller has seen it.
	held := false
	for deadline := time.Now().Add(time.Minute); !held && time.Now().Before(deadline); {
		short, stop := context.WithTimeout(ctx, 2*time.Second)
		err := c.Drain(short, node, func(p cluster.DrainProgress) { held = held || len(p.Held) > 0 })
		stop()
		if err == nil {
			t.Fatal("it was drained whatever the budget says")
		}
		if held && (!strings.Contains(err.Error(), "keep-all") || !strings.Contains(err.Error(), node+" is not drained")) {
			t.Errorf("the error does not name the budget: %v", err)
		}
	}
	if !held {
		t.Fatal("no pod was held")
	}
	// A drain stops when the scheduler keeps putting pods back on the node.
	err = c.Drain(ctx, node, func(cluster.DrainProgress) {
		if _, err := c.Uncordon(ctx, node); err != nil {
			t.Error(err)
		}
	})
	if err == nil || !strings.Contains(err.Error(), "somebody has uncordoned it") {
		t.Errorf("uncordoned meanwhile: %v", err)
	}
	if _, err := cordon(); err != nil {
		t.Fatal(err)
	}
	api.Do(http.MethodDelete, budgets+"/keep-all", nil, nil)
	var last cluster.DrainProgress
	if err := c.Drain(ctx, node, func(p cluster.DrainProgress) { last = p }); err != nil {
		t.Fatal(err)
	}
	if !last.Done() || last.Gone == 0 {
		t.Errorf("ended with %+v", last)
	}
	if changed, err := c.Uncordon(ctx, node); err != nil || !changed {
		t.Errorf("uncordon: %v, %v", changed, err)
	}

	// Somebody has uncordoned the node, and cordoned it again.
	if _, err := cordon(); err != nil {
		t.Fatal(err)
	}
	for _, on := range []any{nil, true} {
		api.Do(http.MethodPatch, "/api/v1/nodes/"+node, map[string]any{"spec": map[string]any{"unschedulable": on}}, nil)
	}
	if changed, err := c.Uncordon(ctx, node); err != nil || changed {
		t.Errorf("uncordoned what somebody else has cordoned: %v, %v", changed, err)
	}
}
