package powertest

import (
	"os"
	"os/exec"
	"testing"

	"lightsout/internal/testenv"
	"lightsout/power"
)

// Lookup is what Driver.Find is asked.
type Lookup struct {
	Node power.NodeRef
	Hint string
}

// World is a driver and one machine that it can switch, with everything that
// the test may do to them behind the driver's back. What is nil can't happen
// to this driver, and is not tested.
type World struct {
	Driver power.Driver
	// Can is what the driver is expected to be able to do.
	Can power.Abilities
	// Machine is how the one machine is found.
	Machine Lookup
	// None has no machine; Twins has several.
	None, Twins *Lookup

	// Set brings the machine into a state, at once; Is tells its true state.
	// States are those that can be set, besides On and Off.
	Set    func(power.State)
	Is     func() power.State
	States []power.State

	// Polls is how many polls in a row lightsout needs to presume Off, where silence is
	// all there is to see: until then the machine is Unknown. Zero is one. A
	// driver that proves Off needs no more than that.
	Polls int

	// Unacknowledged: nobody acknowledges a request, so that each one that is sent is an
	// *UnconfirmedError.
	Unacknowledged bool

	// Unreachable: the machine, or its own controller, answers no more.
	Unreachable func()
	// Gone: what the driver speaks to (a portal, a command) is not there.
	Gone func()
	// Stall: from now on no question gets an answer. It returns what ends that.
	Stall func() (end func())
	// Lose: the next request to switch is carried out, and its answer is lost.
	Lose func()
	// Refuse: from now on everything is refused, in words that hold terminal
	// escapes and what the driver sent, its secrets included.
	Refuse func()

	// Secrets must not be in anything that the driver says.
	Secrets []string
}

// Secret is a source that always gives s.
func Secret(s string) func() (string, error) { return func() (string, error) { return s, nil } }

// Need skips the test without the programs.
func Need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		_, here := exec.LookPath(p)
		if _, there := os.Stat("/usr/sbin/" + p); here != nil && there != nil {
			testenv.Skip(t, p+" is not installed")
		}
	}
}
