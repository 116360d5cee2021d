package cli

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
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
