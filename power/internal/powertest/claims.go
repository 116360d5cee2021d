package powertest

import (
	"testing"
	"time"

	"lightsout/power"
)

// Claims has lightsout carry an action out on a machine, which must fail, and reports whether the
// journal then takes the machine for one that lightsout has switched off, or may have.
func Claims(t *testing.T, d power.Driver, a power.Action, m power.Machine) bool {
	t.Helper()
	j := power.OpenJournal(t.TempDir(), power.Cluster{Name: "lab", UID: "uid-lab"}, "")
	defer j.Close()
	f, err := power.NewFleet(power.Config{Off: d.Name(), PollInterval: 10 * time.Millisecond}, j, d)
	if err != nil {
		t.Fatal(err)
	}
	if err = f.Do(t.Context(), a, []power.Binding{{Node: power.NodeRef{Name: m.Name}, Off: &m}}, nil, nil, nil); err == nil {
		t.Errorf("lightsout could %s %s", power.Verb(a), m.Title())
	}
	left, err := j.LeftOff()
	if err != nil {
		t.Error(err)
	}
	return len(left) > 0
}
