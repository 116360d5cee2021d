package cli

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
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
	printDeleted(&out, s, left, "lightsout restore")
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "n2 is gone from the cluster") || !strings.HasSuffix(got, "lightsout restore n2\n") {
		t.Error(got)
	}
}
