package cli

import (
	"testing"

	"lightsout/internal/trial/plan"
)

func TestEachStepOfTheDemoHasItsCaption(t *testing.T) {
	for _, name := range scenarios {
		p, err := plan.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if s := demoScripts[name]; s.begin == "" || len(s.steps) != len(p.Steps) {
			t.Errorf("%s: %d steps and %d captions", name, len(p.Steps), len(s.steps))
		}
	}
}
