package session

import (
	"testing"

	"lightsout/internal/view"
	"lightsout/power"
)

// A machine that is on, but may still go off by a request, is not called off.
func TestWhatKeepsFromLeavingNamesMachinesThatMayGoOff(t *testing.T) {
	m := newMachines(nil)
	for node, state := range map[string]power.State{"n1": power.Off, "n2": power.On, "n3": power.Unknown} {
		m.views[node] = view.MachineView{Reading: power.Reading{State: state}}
		m.leftOff[node] = power.LeftOff{Certainty: power.LeftOffUncertain}
	}
	for _, c := range []struct {
		nodes []string
		want  string
	}{
		{[]string{"n1", "n2", "n3"}, "n1 and n3 are still off (requested, outcome unknown); n2 is on, but may still go off by a request from here"},
		{[]string{"n2"}, "n2 is on, but may still go off by a request from here"},
		{[]string{"n1"}, "n1 is still off (requested, outcome unknown)"},
	} {
		if got := m.stillOff(c.nodes); got != c.want {
			t.Errorf("%q: %q", c.nodes, got)
		}
	}
}
