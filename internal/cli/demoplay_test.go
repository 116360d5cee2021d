package cli

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"lightsout/internal/terminal"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
)

func TestEachStepOfTheDemoHasItsCaption(t *testing.T) {
	for _, name := range plan.Builtin() {
		p, err := plan.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if s := demoScripts[name]; s.begin == "" || len(s.steps) != len(p.Steps) {
			t.Errorf("%s: %d steps and %d captions", name, len(p.Steps), len(s.steps))
		}
	}
}

func TestTheDemoWaitsForAsLongAsItTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		p := demoPlayer{Beside: terminal.Beside{Frame: func() *view.Frame { return &view.Frame{} }}, ctx: ctx}
		began := time.Now()
		if p.until(asked) || time.Since(began) < 3*time.Hour {
			t.Errorf("it goes on after %s", time.Since(began))
		}
	})
}
