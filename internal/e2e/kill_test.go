package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

// TestAKilledProgramLeavesNothingForgotten kills a trial, power commands and a restore while
// they switch. The restore after that names every machine that is off and powers it on, and
// the record of the trial has everything that was shown. The simulator kills at any moment.
func TestAKilledProgramLeavesNothingForgotten(t *testing.T) {
	testenv.Long(t, 60)
	t.Parallel()
	l := labtest.Lease(t, "mdx")
	config := l.ConfigWith(func(c map[string]any) { c["state"] = t.TempDir() })
	dir := filepath.Join(t.TempDir(), "record")
	trial := []string{"trial", "run", write(t, "one.yaml", onePlan), "--yes", "--record", dir}
	left := 0 // machines that the power command leaves off
	going := func() bool { return len(l.Machines("stopping", "off")) > 0 }
	for _, kill := range []struct {
		words []string
		when  func() bool // it is killed
	}{
		{trial, going},
		{[]string{"power", "off", "kube-node1", "kube-node2", "--yes"}, going},
		{[]string{"restore", "--yes"}, func() bool { return len(l.Machines("off")) < left }},
	} {
		shown := killedOnce(t, kill.when, args(l, config, kill.words...)...)
		until(t, "the machines are on or off", func() bool { return len(l.Machines("stopping", "booting")) == 0 })
		off := l.Machines("off")
		out, errs, _ := run(t, nil, args(l, config, "restore")...)
		// A power-on that was sent before the kill may come late.
		until(t, "the machines are on or off", func() bool { return len(l.Machines("booting")) == 0 })
		for _, node := range off {
			if !strings.Contains(out, "\n  "+node+" ") && slices.Contains(l.Machines("off"), node) {
				t.Errorf("%s is off, and restore does not name it; the killed one: %q; then:\n%s%s", node, shown, out, errs)
			}
		}
		if left = len(l.Machines("off")); kill.words[0] == "power" {
			continue // there must be something to restore
		}
		if out, errs, code := run(t, nil, args(l, config, "restore", "--yes")...); code != 0 || len(l.Machines("off")) > 0 {
			t.Errorf("restore: exit %d, off %v\n%s%s", code, l.Machines("off"), out, errs)
		}
		if out, errs, code := run(t, nil, args(l, config, "restore")...); code != 0 || !strings.Contains(out, "nothing is off") {
			t.Errorf("after restore: exit %d\n%s%s", code, out, errs)
		}
		if kill.words[0] == "trial" {
			checkKilled(t, dir, shown)
		}
	}
}

// killedOnce runs the program until the time has come, kills it, and returns what it printed.
func killedOnce(t *testing.T, come func() bool, args ...string) (shown []string) {
	t.Helper()
	cmd, lines := start(t, args...)
	until(t, "the time to kill has come", come)
	_ = cmd.Process.Kill()
	for line := range lines {
		shown = append(shown, line)
	}
	_ = cmd.Wait()
	return shown
}
