package trial

import (
	"slices"
	"testing"

	"lightsout/power"
)

// Somebody else powers a machine on, for instance with restore in another shell: the reasons do
// not claim that nobody did.
func TestAMachineThatSomebodyElsePoweredOnIsNotOff(t *testing.T) {
	t.Parallel()
	off := "k8s2 was off, but lightsout did not see the control plane notice it"
	for early, want := range map[bool]string{
		true:  "k8s2 booted before the trial powered it on: somebody else powered it on, or it rebooted by itself",
		false: "k8s2 was not powered on again",
	} {
		r, _ := countedRun()
		n := r.nodes[0]
		n.off.State, n.early, n.booted = power.Off, early, early
		if got := unobserved(r); !slices.Equal(got, []string{off, want}) {
			t.Errorf("booted early %v: %q", early, got)
		}
	}
}
