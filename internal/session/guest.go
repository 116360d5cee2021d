package session

import (
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// Guest takes part in a session, as a trial does: it is told what happens, acts
// by the session's Controls, and adds to what is shown. Its methods are called
// in the session's loop, except for Record and Tracks.
type Guest interface {
	// Tracks reports whether the guest wants to be told of transitions and
	// requests now. Record keeps a request that has ended, before it is shown
	// anywhere, and reports the same. Both are safe for several goroutines.
	Tracks() bool
	Record(loadgen.Record) bool
	Transition(cluster.Transition)
	Request(loadgen.Record)

	// Look is called for each new Snapshot and once a second.
	Look(*cluster.Snapshot)
	// Reading is a look at the machine of a node.
	Reading(node string, r power.Reading)
	// Switching: machines are switched now.
	Switching(a power.Action, bindings []power.Binding)
	// Draining: the operator has nodes drained before they are shut down.
	Draining(nodes []string)
	// LoadStarted: the operator has started a load, of that number.
	LoadStarted(number int, spec loadgen.Spec, at time.Time)
	// Did: the operator has done what i says.
	Did(i view.Intent)
	// Intent is what the operator wants of the guest itself.
	Intent(i view.Intent)

	// Turn follows every turn of the loop.
	Turn()
	// Show adds to a frame before it is handed out.
	Show(f *view.Frame)
	// Course identifies what the guest is carrying out; nil when it is not.
	Course() any
	// Running reports that the session must not just be left.
	Running() bool
	// WillUncordon reports whether the guest will uncordon the node itself.
	WillUncordon(node string) bool
	// End is called when the session ends.
	End()
}
