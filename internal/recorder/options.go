package recorder

import (
	"context"
	"time"

	"lightsout/cluster"
	"lightsout/internal/planned"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// Options holds the parts and settings of a Recorder.
type Options struct {
	// Print shows the operator a line.
	Print func(line string)
	// Trial reports whether a trial keeps the record now. Nil: there is no screen, where an operator switches machines and
	// trials keep records too; then the caller locks Dir as long as it runs (Lock), else each record does.
	Trial func() bool
	// Cluster and Pace stand in the summaries; an empty Pace is real.
	Cluster, Pace string
	// Dir is the folder of the records.
	Dir string
	// Timeline is the session's.
	Timeline *record.Timeline
	// Load is the session's generator; nil if there is none. Every is the interval between
	// two requests of the recorder's own; 0 sends none, and then failures begin no outage:
	// the operator may send more than the service can answer.
	Load  *loadgen.Generator
	Every time.Duration
	// Past is how much of the time before an outage is kept, in at most PastBytes.
	Past      time.Duration
	PastBytes int
	// Steady is how long no sign must show, come or go until an outage is over.
	Steady time.Duration
	// KeepBytes bounds the size of all records; the oldest are removed first.
	KeepBytes int64
	// Notify receives the notices of outages. It must not block. Nil: there are no hooks.
	Notify func(Notice)
	// Lease returns the newest state of the Lease by which several recorders choose the one
	// that reports. Each records. Nil: there is no other recorder.
	Lease func() cluster.LeaseState
	// Health receives what the recorder sees, once a second; nil receives nothing.
	Health func(Health)
	// Restore is the command that powers on the machines that an outage leaves off, for its
	// summary; empty: none.
	Restore string
	// Names are replaced in the records; nil: none.
	Names *record.Names
	// Now is the clock.
	Now func() time.Time
}

// Session is the part of the session that a Recorder needs: see session.Controls. None of
// it changes the cluster or a machine.
type Session interface {
	Async(within time.Duration, work func(context.Context) error, then func(error))
	Publish() *view.Frame
	Say(ev view.Event)
	Snapshot() *cluster.Snapshot
	Focus() cluster.Key
	Plans() planned.Offs
	Outlook(nodes []string) []string
	WantKubelets(nodes ...string)
	Machine(node string) view.MachineView
	Standing(node string) power.Standing
	StartLoad(spec loadgen.Spec) (number int, started time.Time, err error)
}
