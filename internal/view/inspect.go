package view

import "lightsout/cluster"

// Inspect names the object, or the pod's log, that the operator inspects. The zero
// Inspect is none. As an intent it replaces the Inspect before it.
type Inspect struct {
	Of cluster.Ref
	// Log: the last lines of the pod's log, as it grows. Container is empty for the pod's
	// first; Previous is the container's instance before this one.
	Log       bool
	Container string
	Previous  bool
}

// Inspection holds the API server's answers to an Inspect so far. It is immutable.
// Records leave it out.
type Inspection struct {
	Inspect
	// Object is nil until it arrives. Err is the read error in one sentence.
	Object *cluster.Description
	Err    string
	// Lines are the newest of the log, oldest first; Cut: there were more.
	// Ended: no more will come.
	Lines      []string
	Cut, Ended bool
}
