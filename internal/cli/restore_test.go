package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/power"
)

// TestRestoreLooksBeforeItSaysWhatIsOff goes through machines of which only the
// asking is known, as after a kill.
func TestRestoreLooksBeforeItSaysWhatIsOff(t *testing.T) {
	l := openLab(t, "mdx")
	state := t.TempDir()
	config := l.config(func(c map[string]any) { c["state"] = state })
	if out, errs, code := run(t, nil, l.args(config, "power", "shutdown", "kube-node4", "--yes")...); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	out, errs, code := run(t, nil, l.args(config, "restore", "--yes")...)
	if code != 0 || !strings.Contains(out, "  kube-node4  off (") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	journal := filepath.Join(state, "lab-mdx", power.JournalName)

	asked(t, journal, time.Now().Add(-power.CarriedOutWithin-time.Second))
	out, errs, code = run(t, nil, l.args(config, "restore", "--yes")...)
	if code != 0 || !strings.Contains(out, "kube-node4 is on already") || !strings.Contains(out, "nothing is off") {
		t.Errorf("asked long ago: exit %d\n%s%s", code, out, errs)
	}

	asked(t, journal, time.Now().Add(-power.CarriedOutWithin+6*time.Second))
	out, errs, code = run(t, nil, l.args(config, "restore")...)
	if code != 0 || !strings.Contains(out, "kube-node4 was asked to shut down 11") || !strings.Contains(out, "kube-node4 is on already") {
		t.Errorf("asked a while ago: exit %d\n%s%s", code, out, errs)
	}

	asked(t, journal, time.Now())
	cmd, lines := startTool(t, l.args(config, "restore", "--yes")...)
	waitLine(t, lines, "kube-node4 was asked to shut down", "still on")
	l.post("/machines/kube-node4/off")
	waitLine(t, lines, "  kube-node4  off (")
	waitLine(t, lines, "kube-node4", "is on, proven")
	for range lines {
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if out, _, _ := run(t, nil, l.args(config, "restore")...); !strings.Contains(out, "nothing is off") {
		t.Errorf("afterwards:\n%s", out)
	}
}

// asked writes into the journal that the machine that was shut down last was
// asked to at that time once more, and nothing of what came of it.
func asked(t *testing.T, journal string, at time.Time) {
	t.Helper()
	b, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := power.ReadJournal(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Kind != power.EntryIntent || e.Action != power.ActionShutdown {
			continue
		}
		e.Op, e.At = fmt.Sprintf("again-%d", len(entries)), at.UTC()
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(journal, append(b, append(line, '\n')...), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("nothing was shut down")
}
