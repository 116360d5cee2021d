package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"lightsout/internal/labtest"
)

// TestBadPlansSwitchNothing runs every bad plan of trial/plan's tests, and a
// huge one and a bomb, as an operator would by mistake: one sentence with its
// line, and neither a journal nor a record is begun.
func TestBadPlansSwitchNothing(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(labtest.Root(t), "internal", "trial", "plan", "testdata", "bad.txt"))
	if err != nil {
		t.Fatal(err)
	}
	plans := map[string]string{
		"huge": "name: huge\nsteps:\n" + strings.Repeat("  - pause: 1s\n", 100_000),
		"bomb": "name: bomb\na: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nsteps: *b\n",
	}
	for _, part := range strings.Split("\n"+string(b), "\n-- ")[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		plans[name], _, _ = strings.Cut(rest, "== ")
	}
	if len(plans) < 100 {
		t.Fatalf("only %d bad plans", len(plans))
	}
	names := slices.Sorted(maps.Keys(plans))
	if testing.Short() { // the plan's own tests have them all
		names = names[:20]
	}
	state := t.TempDir()
	cluster := kubeconfig(t, "https://"+refusing(t))
	var wg sync.WaitGroup
	for part := range slices.Chunk(names, len(names)/2+1) {
		wg.Go(func() {
			for _, name := range part {
				out, errs, code := run(t, nil, "--state", state, "--kubeconfig", cluster, "trial", "run", write(t, "plan.yaml", plans[name]), "--yes")
				if code != exitUsage || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "line ") {
					t.Errorf("%s: exit %d\n%s%s", name, code, out, errs)
				}
			}
		})
	}
	wg.Wait()
	if left, err := os.ReadDir(state); err != nil || len(left) > 0 {
		t.Errorf("begun: %v, %v", left, err)
	}
}
