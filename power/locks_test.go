package power

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Nothing is switched off without a lock, and nothing stands in the way of
// powering on.
func TestWithoutLocksOnlyPoweringOnGoesOn(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, p *program) {
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionShutdown, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(m.root, "no-folder")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		p.switcher.Fleet.cfg.Locks = OpenLocks(file)
		err := p.switcher.Switch(t.Context(), Request{Action: ActionShutdown, Nodes: []string{"n2"}}, &yes{p: p})
		if err == nil || !strings.Contains(err.Error(), "not a folder") {
			t.Errorf("switched off without a lock: %v", err)
		}
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Errorf("not powered on: %v", err)
		}
	})
}

// A program that was stopped while it wrote to the journal delays only switching off.
func TestAHeldJournalDelaysNoPowerOn(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		for _, n := range []string{"n1", "n2"} {
			if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{n}}, &yes{p: p}); err != nil {
				t.Fatal(err)
			}
		}
		held, err := os.Open(p.journal.Path())
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		if err := flock(int(held.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n3"}}, &yes{p: p}); err == nil || !strings.Contains(err.Error(), "is stuck") || !p.w.vms["n3"].on {
			t.Errorf("switched off without the journal: %v", err)
		}
		began := time.Now()
		err = p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1", "n2"}}, &yes{p: p})
		if took := time.Since(began); err != nil || !p.w.vms["n1"].on || !p.w.vms["n2"].on || took > time.Minute {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

// Of two programs on a host one runs a trial; the other is told which, and switches nothing off without a typed word.
func TestOneTrialOfAClusterAtATime(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		shutdown := Request{Action: ActionShutdown, Nodes: []string{"n1"}}
		fleet := p.switcher.Fleet
		end, err := fleet.LockTrial()
		if err != nil {
			t.Fatal(err)
		}
		if q, err := p.switcher.Preview(t.Context(), shutdown); err != nil || q.Type != "" {
			t.Errorf("its own trial: %v, %+v", err, q.Findings)
		}
		if _, err := fleet.LockTrial(); err == nil || !strings.Contains(err.Error(), self()) {
			t.Errorf("a second trial: %v", err)
		}
		for _, name := range lockNames("trial", fleet.cluster()) { // as if another program held it
			if err := os.WriteFile(fleet.cfg.Locks.path(name), []byte("pid 1 of anna@bastion, since 10:00\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if q, err := p.switcher.Preview(t.Context(), shutdown); err != nil || q.Type == "" || !strings.Contains(q.Findings[0].Text, "(pid 1 of anna@bastion, since 10:00)") {
			t.Errorf("the trial of another program: %v, %+v", err, q.Findings)
		}
		end()
		if q, err := p.switcher.Preview(t.Context(), shutdown); err != nil || q.Type != "" {
			t.Errorf("after its end: %v, %+v", err, q.Findings)
		}
	})
}
