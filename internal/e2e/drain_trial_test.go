package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
	"lightsout/internal/view"
)

const drainPlan = `
name: drained
steps:
  - cordon: [kube-node4]
  - drain: {nodes: [kube-node4], within: WITHIN}
  - off: [kube-node4]
  - wait: {for: detected, within: 1m}
  - on: [kube-node4]
  - wait: {for: ready, within: 2m}
  - uncordon: [kube-node4]
  - wait: {for: restored, within: 3m}
`

// TestATrialDrainsBeforeItShutsDownOnTheLab runs a plan with a drain: first
// against a budget that holds it, then without; and restore undoes a cordon
// that was left behind.
func TestATrialDrainsBeforeItShutsDownOnTheLab(t *testing.T) {
	testenv.Long(t, 30)
	t.Parallel()
	const node = "kube-node4"
	l := labtest.Lease(t, "mdx")
	api := l.API()
	state := t.TempDir()
	config := l.ConfigWith(func(c map[string]any) { c["state"] = state })
	unschedulable := func() bool {
		t.Helper()
		var n struct{ Spec struct{ Unschedulable bool } }
		api.Do(http.MethodGet, "/api/v1/nodes/"+node, nil, &n)
		return n.Spec.Unschedulable
	}

	const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
	api.Do(http.MethodPost, budgets, map[string]any{
		"metadata": map[string]any{"name": "keep-all"},
		"spec":     map[string]any{"minAvailable": "100%", "selector": map[string]any{}},
	}, nil)
	var pdb struct {
		Status struct{ ObservedGeneration, ExpectedPods int }
	}
	for deadline := time.Now().Add(time.Minute); pdb.Status.ExpectedPods == 0 && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		api.Do(http.MethodGet, budgets+"/keep-all", nil, &pdb)
	}
	dir := filepath.Join(t.TempDir(), "held")
	out, errs, code := run(t, nil, args(l, config, "trial", "run", write(t, "held.yaml", strings.Replace(drainPlan, "WITHIN", "8s", 1)), "--yes", "--record", dir)...)
	s := readSummary(t, dir)
	if code != exitNotObserved || s.Steps[1].State != "failed" || !strings.Contains(s.Steps[1].Text, "keep-all") || !strings.Contains(s.Steps[1].Text, node) {
		t.Errorf("exit %d, the step: %+v\n%s%s", code, s.Steps[1], out, errs)
	}
	if off := l.Machines("off"); len(off) > 0 || unschedulable() {
		t.Errorf("off: %v, cordoned: %v", off, unschedulable())
	}
	// Without a terminal nobody can answer that the drain is blocked: it is left, and undone.
	out, errs, code = run(t, nil, args(l, config, "power", "shutdown", "--drain", node, "--yes")...)
	if off := l.Machines("off"); code != 1 || !strings.Contains(out, "keep-all") || strings.Contains(errs, "still cordoned") || len(off) > 0 || unschedulable() {
		t.Errorf("exit %d, off: %v, cordoned: %v\n%s%s", code, off, unschedulable(), out, errs)
	}
	api.Do(http.MethodDelete, budgets+"/keep-all", nil, nil)

	dir = filepath.Join(t.TempDir(), "drained")
	out, errs, code = run(t, nil, args(l, config, "trial", "run", write(t, "drained.yaml", strings.Replace(drainPlan, "WITHIN", "2m", 1)), "--yes", "--record", dir)...)
	if s := readSummary(t, dir); code != 0 || s.Verdict != view.NoExpectations {
		t.Errorf("exit %d, %s: %v\n%s%s", code, s.Verdict, s.Why, out, errs)
	}
	for _, want := range []string{"cordoned: the scheduler places no more pods", "drained: ", "uncordoned"} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing is said of %q:\n%s", want, out)
		}
	}
	if unschedulable() {
		t.Error("still cordoned")
	}

	// A cordon that a killed run has left behind.
	j := openJournal(t, state)
	j.again(func(e map[string]any) bool { return e["kind"] == "cordoned" }, nil)
	api.Do(http.MethodPatch, "/api/v1/nodes/"+node+"?fieldManager=lightsout", map[string]any{"spec": map[string]any{"unschedulable": true}}, nil)
	out, _, code = run(t, nil, "--config", config, "--kubeconfig", deadCopy(t, l.Kubeconfig()), "restore", "--yes")
	if code != 1 || !strings.Contains(out, "kubectl uncordon "+node) || !unschedulable() {
		t.Errorf("without the API server: exit %d\n%s", code, out)
	}
	const other = "kube-node3"
	out, errs, code = run(t, nil, args(l, config, "power", "off", other, "--yes")...)
	if code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	out, errs, code = run(t, nil, args(l, config, "restore", other, "--yes")...)
	if code != 1 || !strings.Contains(errs, "still cordoned: "+node) || strings.Contains(out, "nothing is off") || !unschedulable() {
		t.Errorf("another node is restored: exit %d\n%s%s", code, out, errs)
	}
	out, errs, code = run(t, nil, args(l, config, "power", "on", node, "--yes")...)
	if code != 0 || !strings.Contains(errs, "still cordoned: "+node+"; uncordon with: lightsout restore") {
		t.Errorf("power on: exit %d\n%s%s", code, out, errs)
	}
	out, errs, code = run(t, nil, args(l, config, "restore", node, "--yes")...)
	if code != 0 || !strings.Contains(out, node+"  uncordoned") || unschedulable() {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// deadCopy is a kubeconfig whose API server does not answer.
func deadCopy(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "dead", strings.ReplaceAll(string(b), ":6443", ":6444"))
}
