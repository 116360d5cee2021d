package session

import (
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// Guest takes part in a session, as a trial does: it receives the events, acts through
// the session's Controls, and adds its own view to the frames. The session's loop calls
// its methods, except Record and Tracks.
type Guest interface {
	// Tracks reports whether the guest wants transitions and requests now. Record keeps
	// a request that has ended, before any screen shows it, and returns the same as
	// Tracks. Both are safe for concurrent use.
	Tracks() bool
	Record(loadgen.Record) bool
	Transition(cluster.Transition)
	Request(loadgen.Record)

	// Observe is called for each new Snapshot and once a second.
	Observe(*cluster.Snapshot)
	// Reading reports a poll of the machine of a node.
	Reading(node string, r power.Reading)
	// SwitchingOff: the operator switches machines off by hand, from now on.
	SwitchingOff()
	// Switching: machines are switched now.
	Switching(a power.Action, bindings []power.Binding)
	// PowerOnSent: lightsout asks the driver to power a node's machine on, at that time, or
	// finds it on. It may have waited since Switching, for an operation under way.
	PowerOnSent(node string, at time.Time)
	// Draining: the operator has nodes drained before they are shut down.
	Draining(nodes []string)
	// LoadStarted: the operator has started a load, of that number.
	LoadStarted(number int, spec loadgen.Spec, at time.Time)
	// Did reports that the operator has carried out i.
	Did(i view.Intent)
	// Intent is a request of the operator to the guest itself.
	Intent(i view.Intent)

	// AfterTurn follows every turn of the loop.
	AfterTurn()
	// Show adds to a frame before it is handed out.
	Show(f *view.Frame)
	// UnderWay identifies the trial that the guest carries out; nil if there is none.
	UnderWay() any
	// Running reports that the session must not just be left.
	Running() bool
	// WillUncordon reports whether the guest will uncordon the node itself.
	WillUncordon(node string) bool
	// End is called when the session ends.
	End()
}
