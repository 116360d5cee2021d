// Package outage has the outages of a node: Outage, the state machine that a session follows for each
// node whose machine was asked to go off or is proven off, and a phase.Tracker for each node of a record;
// Before.Seen, the one rule that says whether a node has booted; Spans, which joins what is seen of nodes
// into spans; and Downs, which joins the spans of a node into the times that it was down, each with its
// reason. A record has the spans and not the steps, and reports read Downs. It imports nothing of this
// module: cluster and power ask it too.
package outage

import "time"

// Answer says whether a node has booted since its machine was asked to go off.
type Answer int

// Answers. NotBooted: it is not Ready, or has been Ready all the time.
const (
	NotBooted Answer = iota
	CantTell
	Booted
)

// Before is what was known of a node when its machine was asked to go off.
type Before struct {
	// ID is its boot ID; empty if that is unknown, or proves nothing.
	ID string
	// Asked is when the machine was asked to go off, and Off when it was proven off since; zero
	// if it was not.
	Asked, Off time.Time
}

// Now is what is seen of the node: its boot ID, if that proves anything, and since when it is
// Ready; zero if it is not. All times are of this host.
type Now struct {
	ID    string
	Ready time.Time
}

// Seen is the rule by which a boot is known. Another boot ID proves one. The same one proves
// nothing, since containers have that of their host; nor does a missing one. Then a machine
// that was proven off has booted if its node became Ready after that. One that only became
// Ready after it was asked to go off may have lost its network instead: nobody can tell.
func (b Before) Seen(n Now) Answer {
	switch {
	case OtherBoot(b.ID, n.ID), !b.Off.IsZero() && n.Ready.After(b.Off):
		return Booted
	case b.Off.IsZero() && n.Ready.After(b.Asked):
		return CantTell
	}
	return NotBooted
}

// OtherBoot reports whether two boot IDs prove two boots: both are known, and they differ.
func OtherBoot(a, b string) bool { return a != "" && b != "" && a != b }

// Proving returns which of the boot IDs of all nodes prove something. One that several nodes
// report is that of their common host, or was copied with a machine: it proves nothing about
// any of them. Nor does an empty one.
func Proving(ids []string) map[string]bool {
	prove := map[string]bool{}
	for _, id := range ids {
		_, again := prove[id]
		prove[id] = id != "" && !again
	}
	return prove
}
