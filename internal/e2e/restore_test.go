package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

// restoreLooks goes through machines of which only the asking is known, as after
// a kill: restore looks before it says what is off.
func restoreLooks(t *testing.T, l *labtest.Lab) {
	state := t.TempDir()
	config := l.ConfigWith(func(c map[string]any) { c["state"] = state })
	if out, errs, code := run(t, nil, args(l, config, "power", "shutdown", "kube-node4", "--yes")...); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	// It is off already: the second request sends nothing, and belongs to the same journal.
	if out, errs, code := run(t, nil, args(l, config, "power", "shutdown", "kube-node4", "--yes")...); code != 0 || !strings.Contains(out, "already off") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	out, errs, code := run(t, nil, args(l, config, "restore", "--yes")...)
	if code != 0 || !strings.Contains(out, "  kube-node4  off (") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	j := openJournal(t, state)
	// asked writes that the machine was asked at that time once more, and nothing
	// of what came of it, nor, unless told, which boot it was.
	boot := false
	asked := func(at time.Time) {
		t.Helper()
		j.again(func(e map[string]any) bool {
			if e["kind"] != "intent" || e["action"] != "shutdown" {
				return false
			}
			if !boot {
				delete(e["binding"].(map[string]any)["node"].(map[string]any), "bootID")
			}
			return true
		}, map[string]any{"at": at.UTC()})
	}

	// In folders of their own, for this one has seen the machine off and on since.
	j.to = t.TempDir()
	asked(time.Now().Add(-carriedOutWithin - time.Second))
	out, errs, code = run(t, nil, args(l, config, "restore", "--yes", "--state", j.to)...)
	if code != 0 || !strings.Contains(out, "kube-node4 is on already") || !strings.Contains(out, "nothing is off") {
		t.Errorf("asked long ago: exit %d\n%s%s", code, out, errs)
	}

	j.to = t.TempDir()
	asked(time.Now().Add(-carriedOutWithin + 20*time.Second))
	out, errs, code = run(t, nil, args(l, config, "restore", "--yes", "--state", j.to)...)
	j.to = state
	// Once the node is Ready again, without a boot ID of before, nobody can tell whether it booted.
	why := strings.Contains(out, "was asked to shut down 17") || strings.Contains(out, "can't tell whether it booted")
	if code != 0 || !why || !strings.Contains(out, "kube-node4 (") || !strings.Contains(out, "is on, proven") {
		t.Errorf("asked a while ago: exit %d\n%s%s", code, out, errs)
	}

	asked(time.Now())
	cmd, lines := start(t, args(l, config, "restore", "--yes")...)
	waitLine(t, lines, "kube-node4", "was asked to shut down", "still on")
	waitLine(t, lines, "kube-node4", "an earlier request may still switch it off", "lightsout waits")
	l.Post("/machines/kube-node4/off")
	waitLine(t, lines, "kube-node4", "is on, proven")
	for range lines {
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if out, _, _ := run(t, nil, args(l, config, "restore")...); !strings.Contains(out, "nothing is off") {
		t.Errorf("afterwards:\n%s", out)
	}

	// The test knows the boot of the first shutdown, and that the machine has booted
	// since. It does not know the end of the second shutdown, which may have reached
	// the new boot.
	boot = true
	asked(time.Now())
	out, errs, code = run(t, nil, args(l, config, "restore", "--dry-run")...)
	if code == 0 || !strings.Contains(out, "was asked to shut down") || !strings.Contains(out, "it may go off within") {
		t.Errorf("booted since: exit %d\n%s%s", code, out, errs)
	}
}

// carriedOutWithin is how long after it was asked a machine may still go off.
const carriedOutWithin = 30 * time.Minute

// journal is the journal of power in a state folder, as lines of JSON.
type journal struct {
	t    *testing.T
	path string
	to   string // the state folder that again writes to
	n    int
}

func openJournal(t *testing.T, state string) *journal {
	t.Helper()
	return &journal{t: t, path: filepath.Join(state, "power.jsonl"), to: state}
}

// again writes the first entry that is like that once more, as an operation of
// its own, with some fields changed.
func (j *journal) again(like func(entry map[string]any) bool, changes map[string]any) {
	j.t.Helper()
	b, err := os.ReadFile(j.path)
	if err != nil {
		j.t.Fatal(err)
	}
	for _, line := range strings.Split(string(b), "\n") {
		var e map[string]any
		if json.Unmarshal([]byte(line), &e) != nil || !like(e) {
			continue
		}
		j.n++
		if e["op"] != nil {
			e["op"] = fmt.Sprintf("again-%d", j.n)
		}
		delete(e, "sum")
		e["at"] = time.Now().UTC()
		maps.Copy(e, changes)
		out, err := json.Marshal(e)
		if err != nil {
			j.t.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(j.to, "power.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(testenv.JournalLine(out))
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			j.t.Fatal(err)
		}
		return
	}
	j.t.Fatalf("the journal has no such entry:\n%s", b)
}
