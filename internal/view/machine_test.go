package view

import (
	"errors"
	"testing"

	"lightsout/power"
)

// The way back of a node is short: a name that is the node's own, and a service level while it goes off, say nothing.
func TestTheRouteOfAMachineIsShort(t *testing.T) {
	t.Parallel()
	m := &power.Machine{Driver: "mdx", ID: "e82f47a8", Name: "n1", Params: map[string]string{power.ParamServiceLevel: "guarantee"}}
	for want, got := range map[string]string{
		"mdx": MachineName("n1", m), "mdx n1": MachineName("n2", m),
		"mdx, service level guarantee": MachineRoute("n1", m), "mdx n1, service level guarantee": MachineRoute("n2", m),
		"ssh n1": MachineName("n1", &power.Machine{Driver: "ssh", ID: "n1"}),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// One reason that holds both ways is one sentence.
func TestMachineTextGivesAReasonOnce(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]power.Binding{
		"off and on: no route":       {OffErr: errors.New("no route"), OnErr: errors.New("no route")},
		"off: no route · on: no key": {OffErr: errors.New("no route"), OnErr: errors.New("no key")},
		"on: no key":                 {OnErr: errors.New("no key")},
	} {
		if got := MachineText(b); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
