package view

import (
	"time"

	"lightsout/cluster"
)

// Look is what the operator looks at beside the panes: an object, or the log of
// a pod. The zero Look is nothing. As an intent it takes the place of the Look
// before it.
type Look struct {
	Of cluster.Ref
	// Log: the last lines of the pod's log, as it grows. Container is empty for
	// the pod's first; Previous is the container's instance before this one.
	Log       bool
	Container string
	Previous  bool
}

func (Look) intent() {}

// Looked is what the API server has told of a Look so far. It is immutable, and
// is not recorded.
type Looked struct {
	Look
	// At is when it was told.
	At time.Time
	// Object is nil until it was told. Err says in one sentence what could not
	// be read.
	Object *cluster.Description
	Err    string
	// Lines are the newest of the log, oldest first; Cut: there were more.
	// Ended: no more will come.
	Lines      []string
	Cut, Ended bool
}
