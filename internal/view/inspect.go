package view

import (
	"time"

	"lightsout/cluster"
)

// Inspect names the object, the pod's log, the list of a kind, or the survey that the operator inspects. The zero
// Inspect is none. As an intent it replaces the Inspect before it.
type Inspect struct {
	Of cluster.Ref
	// Log: the last lines of the pod's log, as it grows. Container is empty for the pod's
	// first; Previous is the container's instance before this one.
	Log, Previous bool
	Container     string
	// List is a kind as kubectl calls it, instead of an object; Namespaces are joined by
	// commas, empty is all. Together are the nodes that the survey loses, joined by spaces; empty is each node and zone.
	List, Namespaces, Together string
	// Survey is the width of the survey of the cluster in cells; 0: no survey. Pairs: of each pair, too.
	Survey int
	Pairs  bool
}

// Inspection holds the API server's answers to an Inspect so far. It is immutable.
// Records leave it out.
type Inspection struct {
	Inspect
	// Object is nil until it arrives. Err is the read error in one sentence.
	Object *cluster.Description
	Err    string
	// Listing is the list, as it was at At; nil until it arrives.
	Listing *cluster.Listing
	At      time.Time
	// Lines are the newest of the log, oldest first, and Cut: there were more; or those of the survey.
	Lines  []string
	Cut    bool
	Stream Stream
}

// Stream is how far the reading of a log has come.
type Stream int

// The kubelet is asked, has answered, and sends no more.
const (
	StreamAsked Stream = iota
	StreamOpen
	StreamEnded
)
