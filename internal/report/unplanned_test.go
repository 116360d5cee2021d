package report

import (
	"testing"

	"lightsout/internal/view"
)

// A machine that its driver found off did not run on, although nobody saw its node boot.
func TestAMachineThatWasOffDidNotRunOn(t *testing.T) {
	for kind, ran := range map[view.SpanKind]bool{view.SpanSilent: true, view.SpanOff: false} {
		r := bare()
		down(r, "k8s2", kind, 21, 50)
		if got := returnsOf(r); (len(got) > 0) != ran {
			t.Errorf("%s: %v", kind, got)
		}
	}
}
