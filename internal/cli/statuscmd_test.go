package cli

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/view"
	"lightsout/power"
)

// A machine that is off stays in the table's sight although its node was deleted.
func TestPowerStatusNamesMachinesOfDeletedNodes(t *testing.T) {
	s := cluster.NewSnapshot(cluster.Contents{Nodes: []*cluster.Node{{Name: "n1"}}})
	machine := &power.Machine{Driver: "portal", ID: "vm-2", Name: "n2"}
	var left []power.LeftOff
	for _, n := range []string{"n1", "n2"} {
		left = append(left, power.LeftOff{Entry: power.Entry{Node: n, At: time.Now(), Binding: power.Binding{Node: power.NodeRef{Name: n}, Off: machine, On: machine}}})
	}
	var out strings.Builder
	printLeft(&out, s, left, nil, "lightsout restore")
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "n2 is gone from the cluster") || !strings.HasSuffix(got, "lightsout restore n2\n") {
		t.Error(got)
	}
}

// A node that is Ready again, and whose boot nothing proves, is named at once.
func TestPowerStatusSaysThatItCantTell(t *testing.T) {
	at := time.Now().Add(-time.Minute)
	s := cluster.NewSnapshot(cluster.Contents{Nodes: []*cluster.Node{
		{Name: "n1", Ready: cluster.TriTrue, ReadySince: at.Add(time.Second), BootID: "host"},
		{Name: "n2", Ready: cluster.TriTrue, ReadySince: at.Add(time.Second), BootID: "host"},
	}})
	for was, want := range map[outage.Before]bool{
		{ID: "host", Asked: at}: true, {Asked: at}: true, {ID: "other", Asked: at}: true, // n1 and n2 share theirs
		{ID: "host", Asked: at, Off: at}: false, {ID: "host", Asked: at.Add(time.Minute)}: false,
	} {
		var out strings.Builder
		printLeft(&out, s, []power.LeftOff{{Entry: power.Entry{Node: "n1"}, Before: was}}, []string{"n1"}, "lightsout restore")
		if got := strings.Contains(out.String(), "n1 is Ready again since ") && strings.Contains(out.String(), "can't tell whether it booted"); got != want {
			t.Errorf("%+v: %q", was, out.String())
		}
	}
}

// halfStuck is a driver that never finds one of its machines, and never gives up.
type halfStuck struct{ power.Driver }

func (halfStuck) Name() string { return "board" }
func (halfStuck) Abilities() power.Abilities {
	return power.Abilities{State: true, On: true, Off: true}
}
func (halfStuck) Find(ctx context.Context, n power.NodeRef, _ string) (power.Machine, error) {
	if n.Name == "stuck" {
		<-ctx.Done()
		return power.Machine{}, ctx.Err()
	}
	return power.Machine{ID: n.Name}, nil
}
func (halfStuck) State(ctx context.Context, _ power.Machine) (power.Reading, error) {
	return power.Reading{State: power.On}, ctx.Err()
}

func TestOneMachineThatNeverAnswersHidesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet, err := power.NewFleet(power.Config{On: "board", Off: "board"}, nil, map[string]power.Driver{"board": halfStuck{}})
		if err != nil {
			t.Fatal(err)
		}
		read := machinesRead{nodes: []power.NodeRef{{Name: "n1"}, {Name: "stuck"}, {Name: "n2"}}}
		read.poll(t.Context(), fleet)
		for i, want := range []string{"on off: board n1 · on: board n1", "unknown off and on: board did not answer in time", "on off: board n2 · on: board n2"} {
			b := read.bindings[i]
			if got := read.readings[b.Node.Name].State.String() + " " + view.MachineText(b); got != want {
				t.Errorf("%s: %q, not %q", b.Node.Name, got, want)
			}
		}
	})
}
