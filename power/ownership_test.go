package power

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/internal/outage"
)

// Another journal has switched a machine off since this one did: it is that one's, until somebody here chooses it.
func TestAMachineIsOfTheJournalThatSwitchedItOffLast(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		nodes := []string{"n1", "n2"}
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: nodes}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		theirs := Note{By: "tanaka@jump-7", At: time.Now(), Back: "lightsout restore, by tanaka@jump-7"}
		add := func(had string) (string, bool) { return together(append([]Note{theirs}, apart(had)...)), true }
		if err := p.Change(t.Context(), "n1", add); err != nil {
			t.Fatal(err)
		}
		state, err := p.switcher.state(t.Context(), false)
		owners := p.switcher.Owners(state.Nodes)
		if err != nil || owners["n1"].Owner != TakenOver || !strings.Contains(owners["n1"].SwitchedOff(), "since by tanaka@jump-7") || owners["n2"].Owner != Ours {
			t.Errorf("%v, %v", owners, err)
		}
		err = p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1"}}, Automatic{})
		p.w.mu.Lock()
		defer p.w.mu.Unlock()
		if p.w.settle(); err != nil || !p.w.vms["n1"].on {
			t.Errorf("chosen: %v", err)
		}
	})
}

// A note has the API server's time, a request that of this host.
func TestANotesTimeIsTheServers(t *testing.T) {
	at := time.Now()
	l := LeftOff{Entry: Entry{Node: "n1"}, Before: outage.Before{Asked: at}}
	for ahead, after := range map[time.Duration]bool{-10 * time.Minute: true, 10 * time.Minute: false} {
		note := Note{By: "tanaka@jump-7", At: at.Add(ahead / 2)}
		if got := OwnershipOf("n1", []LeftOff{l}, []NodeNote{{"n1", note, ahead}}).Owner; (got == TakenOver) != after {
			t.Errorf("the server is %s ahead: %d", ahead, got)
		}
	}
}

// A machine of this journal that another program has asked to go off is named with that program while it runs.
func TestAMachineOfAnotherRunningProgram(t *testing.T) {
	on := Machine{Driver: "portal", ID: "vm-n1"}
	for pid, want := range map[int]string{os.Getppid(): fmt.Sprintf(" by pid %d, another lightsout, which is running", os.Getppid()), os.Getpid(): "", 1 << 30: "", 0: ""} {
		l := LeftOff{Entry: Entry{Node: "n1", PID: pid, At: time.Now()}}
		by := OwnershipOf("n1", []LeftOff{l}, nil)
		if by.Owner != Ours || !strings.Contains(by.SwitchedOff(), want) || (by.SwitchedOff() == "") != (want == "") {
			t.Errorf("pid %d: %+v", pid, by)
		}
		for action, effect := range map[Action]Effect{ActionOn: Warn, ActionShutdown: Override} {
			found := judge(guardInput{Action: action, Targets: []string{"n1"}, ClusterState: ClusterState{Nodes: []Node{{NodeRef: NodeRef{Name: "n1"}, owned: by}, {NodeRef: NodeRef{Name: "cp"}, ControlPlane: true}}},
				Bound: map[string]Bound{"n1": {Binding: Binding{Node: NodeRef{Name: "n1"}, Off: &on, On: &on}}}})
			i := slices.IndexFunc(found, func(f Finding) bool { return f.Rule == RuleOther && f.Effect == effect })
			if (i < 0) != (want == "") {
				t.Errorf("pid %d: %s finds %+v", pid, action, found)
			}
		}
	}
}

// Nothing is lost where several failures are joined.
func TestFailedNodesHasThoseOfAllErrors(t *testing.T) {
	leftOut := &ActionError{Action: ActionOn, Failed: map[string]string{"n1": "it is somebody else's"}}
	busy := &ActionError{Action: ActionOn, Failed: map[string]string{"n2": "it is busy"}}
	err := errors.Join(leftOut, fmt.Errorf("restore: %w", errors.Join(errors.New("the journal is damaged"), busy)))
	if got := FailedNodes(err); len(got) != 2 || got["n1"] == "" || got["n2"] == "" {
		t.Errorf("%v", got)
	}
	if got := FailedNodes(errors.New("no")); len(got) > 0 {
		t.Errorf("%v", got)
	}
}
