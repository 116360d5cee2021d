package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

// TestBadPlansSwitchNothing runs some of the bad plans of trial/plan's tests, a
// huge one and a bomb, as an operator would by mistake: one sentence with its
// line, and neither a journal nor a record is begun. internal/cli has them all.
func TestBadPlansSwitchNothing(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(labtest.Root(t), "internal", "trial", "plan", "testdata", "bad.txt"))
	if err != nil {
		t.Fatal(err)
	}
	plans := []string{
		"name: huge\nsteps:\n" + strings.Repeat("  - pause: 1s\n", 100_000),
		"name: bomb\na: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nsteps: *b\n",
	}
	for i, part := range strings.Split("\n"+string(b), "\n-- ")[1:] {
		if i%20 == 0 {
			_, rest, _ := strings.Cut(part, "\n")
			text, _, _ := strings.Cut(rest, "== ")
			plans = append(plans, text)
		}
	}
	if len(plans) < 10 {
		t.Fatalf("only %d bad plans", len(plans))
	}
	state := t.TempDir()
	cluster := kubeconfig(t, "https://"+testenv.Refusing(t))
	for _, plan := range plans {
		out, errs, code := run(t, nil, "--state", state, "--kubeconfig", cluster, "trial", "run", write(t, "plan.yaml", plan), "--yes")
		if code != exitUsage || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "line ") {
			t.Errorf("%.200s: exit %d\n%s%s", plan, code, out, errs)
		}
	}
	if left, err := os.ReadDir(state); err != nil || len(left) > 0 {
		t.Errorf("begun: %v, %v", left, err)
	}
}
