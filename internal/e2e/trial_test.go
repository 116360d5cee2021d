package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
	"lightsout/internal/testenv"
	"lightsout/internal/view"
)

// TestTheMDXTrialPasses runs the built-in plan as the README says.
func TestTheMDXTrialPasses(t *testing.T) {
	testenv.Long(t, 70)
	t.Parallel()
	labtest.Room(t)
	dir := filepath.Join(t.TempDir(), "record")
	out, errs, code := run(t, nil, "trial", "run", "mdx", "--lab", "--record", dir)
	s := readSummary(t, dir)
	inTime := passed(t, s, code, out+errs)
	if s.Pace != "fast" || !s.Ledger.Balanced || s.Ledger.Scheduled != 44 {
		t.Errorf("%s at pace %s, ledger %+v", s.Verdict, s.Pace, s.Ledger)
	}
	if len(s.Load) != 3 {
		t.Fatalf("load %+v", s.Load)
	}
	for i, want := range []struct{ served, queued int }{{16, 0}, {8, 4}, {16, 0}} {
		l := s.Load[i]
		if l.PeakServed != want.served || l.PeakQueued != want.queued && i == 1 || l.Basis != "measured" {
			t.Errorf("%s: served %d, queued %d, %s", l.Step, l.PeakServed, l.PeakQueued, l.Basis)
		}
		if before := i == 0; (l.FailedAfterDetection == nil) != before || !before && *l.FailedAfterDetection != [2]int{} {
			t.Errorf("%s: failed after detection %v", l.Step, l.FailedAfterDetection)
		}
	}
	for _, p := range s.Phases {
		if inTime && p.Name == view.PhaseDetected && (p.Inside == nil || !*p.Inside) {
			t.Errorf("detected outside the forecast: %+v", p)
		}
	}
	out, errs, code = run(t, nil, "trial", "compare", dir, dir)
	if code != 0 || !strings.Contains(out, "detected") {
		t.Errorf("compare: exit %d\n%s%s", code, out, errs)
	}
	out, errs, code = run(t, nil, "replay", "--plain", dir)
	if code != 0 || !strings.Contains(out, "verdict: "+string(s.Verdict)) {
		t.Errorf("replay: exit %d\n%s%s", code, out, errs)
	}
}

// passed ends the test unless the trial passed, and reports whether every expectation
// was met. It accepts nodes that are detected outside the forecast: on a busy machine
// the lab's control plane is late, and these tests do not measure that.
func passed(t *testing.T, s *record.Summary, code int, out string) bool {
	t.Helper()
	if code == 0 && s.Verdict == view.Pass {
		return true
	}
	for _, e := range s.Expectations {
		if !e.OK && e.Name != "detected" {
			t.Fatalf("exit %d, %s: %+v\n%s", code, s.Verdict, e, out)
		}
	}
	if code != exitFailed || s.Verdict != view.Fail || len(s.Why) != 1 || !strings.HasPrefix(s.Why[0], "detected") {
		t.Fatalf("exit %d, %s %q\n%s", code, s.Verdict, s.Why, out)
	}
	t.Logf("not judged, because this machine is busy: %s", s.Why[0])
	return false
}

const onePlan = `
name: one
steps:
  - load: {burst: 4}
  - off: [kube-node4]
  - wait: {for: detected, within: 1m}
  - load: {burst: 4}
    name: while off
  - on: [kube-node4]
  - wait: {for: restored, within: 2m}
expect:
  - balanced: true
`

// TestWhatIsNotSeenIsNotPassed goes through trials whose outage is spoilt, and one
// that is interrupted, on one lab.
func TestWhatIsNotSeenIsNotPassed(t *testing.T) {
	testenv.Long(t, 45)
	t.Parallel()
	l := labtest.Lease(t, "mdx")
	config := l.ConfigWith(func(c map[string]any) { c["state"] = t.TempDir() })
	one := write(t, "one.yaml", onePlan)

	t.Run("shutdown refused by the machine", func(t *testing.T) {
		l.Fault(map[string]any{"target": "sudo", "vm": "kube-node4", "word": "refuse"})
		dir := filepath.Join(t.TempDir(), "record")
		out, errs, code := run(t, nil, args(l, config, "trial", "run", one, "--yes", "--record", dir)...)
		if s := readSummary(t, dir); code != exitNotObserved || s.Verdict != view.NotObserved {
			t.Errorf("exit %d, %s\n%s%s", code, s.Verdict, out, errs)
		}
		l.ClearFaults()
	})
	t.Run("a dry run switches nothing", func(t *testing.T) {
		out, errs, code := run(t, nil, args(l, config, "trial", "run", one, "--dry-run")...)
		if code != 0 || !strings.Contains(out, "16 → 12") {
			t.Errorf("exit %d\n%s%s", code, out, errs)
		}
		if off := l.Machines("off"); len(off) > 0 {
			t.Errorf("switched off: %v", off)
		}
	})
	t.Run("ctrl-c", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "record")
		cmd, lines := start(t, args(l, config, "trial", "run", one, "--yes", "--record", dir)...)
		waitLine(t, lines, "T+0: lightsout starts to switch off") // the node may still be NotReady by the trial before
		waitLine(t, lines, "kube-node4", "NotReady")
		for range 2 { // as timeout(1) does: to the program, then to its group
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Millisecond)
		}
		for range lines {
		}
		_ = cmd.Wait()
		s := readSummary(t, dir)
		if code := cmd.ProcessState.ExitCode(); code != exitAborted || s.Verdict != view.Aborted || len(s.LeftOff) > 0 {
			t.Errorf("exit %d, %s, left off %v", code, s.Verdict, s.LeftOff)
		}
		if off := l.Machines("off"); len(off) > 0 {
			t.Errorf("still off: %v", off)
		}
	})
}

// TestTheExamplePlanPassesTwice runs the plan of trial init twice. Without its rollout it is refused before the first
// step, as is a plan for the control plane.
func TestTheExamplePlanPassesTwice(t *testing.T) {
	testenv.Long(t, 80)
	t.Parallel()
	l := labtest.Lease(t, "vagrant")
	state := t.TempDir()
	config := l.ConfigWith(func(c map[string]any) { c["state"] = state })
	example, _, _ := run(t, nil, "trial", "init", "-")
	example = strings.ReplaceAll(example, "worker-1", "k8s2")
	for range 2 {
		dir := filepath.Join(t.TempDir(), "record")
		out, errs, code := run(t, nil, args(l, config, "trial", "run", write(t, "example.yaml", example), "--yes", "--record", dir)...)
		passed(t, readSummary(t, dir), code, out+errs)
	}
	for plan, want := range map[string]string{
		strings.Replace(example, "- rollout:", "- pause: 1s", 1): `no pod on k8s2 that could be evicted; begin the plan with "- rollout:"`,
		strings.ReplaceAll(example, "k8s2", "k8s1"):              "k8s1 is part of the control plane",
	} {
		dir := filepath.Join(t.TempDir(), "record")
		out, errs, code := run(t, nil, args(l, config, "trial", "run", write(t, "refused.yaml", plan), "--yes", "--record", dir)...)
		if _, err := os.Stat(dir); code != exitUsage || !strings.Contains(errs, want) || !strings.Contains(errs, "nothing was sent") || strings.Contains(out, "trial") || err == nil {
			t.Errorf("exit %d, a record: %v\n%s%s", code, err == nil, out, errs)
		}
	}
}
