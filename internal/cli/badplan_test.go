package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoBadPlanBeginsAnything gives every bad plan of internal/trial/plan's tests
// to `trial run`: its faults, each with its line, and neither a journal nor a record
// is begun. internal/e2e has the program run some of them.
func TestNoBadPlanBeginsAnything(t *testing.T) {
	b, err := os.ReadFile("internal/trial/plan/testdata/bad.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir, state := t.TempDir(), t.TempDir()
	kubeconfig, plan := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "plan.yaml")
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(kubeconfig, `{clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}], contexts: [{name: a, context: {cluster: a}}], current-context: a}`)
	parts := strings.Split("\n"+string(b), "\n-- ")[1:]
	if len(parts) < 100 {
		t.Fatalf("only %d bad plans", len(parts))
	}
	for _, part := range parts {
		name, rest, _ := strings.Cut(part, "\n")
		text, _, _ := strings.Cut(rest, "== ")
		put(plan, text)
		cmd := Command("test")
		cmd.SetArgs([]string{"--state", state, "--kubeconfig", kubeconfig, "trial", "run", plan, "--yes"})
		var usage usageError
		if err := cmd.ExecuteContext(t.Context()); !errors.As(err, &usage) || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(state); err != nil || len(left) > 0 {
		t.Errorf("begun: %v, %v", left, err)
	}
}
