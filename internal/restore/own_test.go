package restore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/power"
)

// board is a driver whose machines are on once that was asked.
type board struct{ asked []string }

func (b *board) Name() string { return "board" }

func (b *board) Abilities() power.Abilities {
	return power.Abilities{State: true, ProvesOff: true, On: true}
}

func (b *board) Find(_ context.Context, n power.NodeRef, _ string) (power.Machine, error) {
	return power.Machine{Driver: "board", ID: n.Name, Name: n.Name, How: "name"}, nil
}

func (b *board) Ready(_ string, m power.Machine) (power.Machine, error) { return m, nil }

func (b *board) State(_ context.Context, m power.Machine) (power.Reading, error) {
	r := power.Reading{State: power.Off, Proof: power.Proven}
	if slices.Contains(b.asked, m.Name) {
		r.State = power.On
	}
	return r, nil
}

func (b *board) Switch(_ context.Context, _ power.Action, m power.Machine) error {
	b.asked = append(b.asked, m.Name)
	return nil
}

// Another journal has switched a machine off since this one did: the machine stays off, and is named with who did.
func TestOwnLeavesWhatAnotherJournalHasSwitchedOffSince(t *testing.T) {
	b := &board{}
	fleet, err := power.NewFleet(power.Config{On: "board", PollInterval: time.Millisecond, Parallel: 1}, power.OpenJournal(t.TempDir(), power.Cluster{Name: "mdx"}, ""), map[string]power.Driver{"board": b})
	if err != nil {
		t.Fatal(err)
	}
	theirs := power.Ownership{Owner: power.TakenOver, Other: power.NodeNote{Node: "n1", Note: power.Note{By: "tanaka@jump-7", At: time.Now()}}}
	for _, nodes := range [][]string{{"n1"}, {"n1", "n2"}} {
		err := Own(t.Context(), &power.Switcher{Fleet: fleet}, map[string]power.Ownership{"n1": theirs}, power.Request{Nodes: nodes}, power.Automatic{})
		var failed *power.ActionError
		if !errors.As(err, &failed) || len(power.FailedNodes(err)) != 1 || !strings.Contains(failed.Failed["n1"], "since by tanaka@jump-7") {
			t.Errorf("%v: %v", nodes, err)
		}
		if slices.Contains(b.asked, "n1") || slices.Contains(b.asked, "n2") != slices.Contains(nodes, "n2") {
			t.Errorf("%v: powered on %v", nodes, b.asked)
		}
	}
}
