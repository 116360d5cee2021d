package view

import (
	"errors"
	"testing"

	"lightsout/power"
)

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
