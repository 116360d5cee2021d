package view

import (
	"testing"

	"lightsout/power"
)

// One reason that holds both ways is one sentence.
func TestMachineTextGivesAReasonOnce(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]power.Binding{
		"off and on: no route":       {OffErr: "no route", OnErr: "no route"},
		"off: no route · on: no key": {OffErr: "no route", OnErr: "no key"},
		"on: no key":                 {OnErr: "no key"},
	} {
		if got := MachineText(b); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
