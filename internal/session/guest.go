package session

import (
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// Guest takes part in a session, as a trial does: it receives what happens, acts through
// the session's Controls, and adds its own view to the frames. The session's loop calls
// its methods, except Record.
type Guest interface {
	// Record keeps a request that has ended, before any screen shows it, and reports whether
	// Handle is to receive it too. It is safe for concurrent use.
	Record(loadgen.Record) bool
	// Handle receives what happens. A guest ignores what does not concern it.
	Handle(Event)
	// Show adds to a frame before it is handed out.
	Show(f *view.Frame)
	// Running reports that the session must not just be left.
	Running() bool
	// End is called when the session ends.
	End()
}

// Trial is a trial that takes its steps: see Controls.TakeSteps.
type Trial interface {
	// WillUncordon reports whether a step to come uncordons the node.
	WillUncordon(node string) bool
}

// Event is what happens in a session: one of the types below, or
//   - a cluster.Transition, and a loadgen.Record that has ended, if the guest wants it,
//   - a power.Progress: lightsout asks the driver to switch a node's machine, or finds one on that it is to power on; it
//     may have waited since Switching,
//   - a *cluster.Snapshot, for each new one and once a second.
type Event any

type (
	// Reading is a poll of the machine of a node.
	Reading struct {
		Node    string
		Reading power.Reading
	}
	// Switching: machines are switched now.
	Switching struct {
		Action   power.Action
		Bindings []power.Binding
	}
	// PlannedOff: a node has gone down whose machine somebody else has switched off by plan.
	PlannedOff struct{ Node, By string }
	// Draining: nodes are drained, before they are shut down or by the guest.
	Draining struct{ Nodes []string }
	// LoadStarted: the operator has started a load, of that number.
	LoadStarted struct {
		Number int
		Spec   loadgen.Spec
		At     time.Time
	}
	// Did: the operator has carried out an intent.
	Did struct{ Intent view.Intent }
	// Asked: the operator asks the guest itself for something. It asks for no question and no step while
	// another question is open.
	Asked struct{ Intent view.Intent }
	// TurnOver follows every turn of the loop.
	TurnOver struct{}
)
