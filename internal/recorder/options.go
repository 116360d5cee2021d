package recorder

import (
	"context"
	"errors"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/planned"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// Options holds the parts and settings of a Recorder.
type Options struct {
	// Host is the program that the Recorder is part of.
	Host
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

// Host is the program that a Recorder is part of: Headless or OnScreen.
type Host interface {
	// Print shows the operator a line.
	Print(line string)
	// PrintUnseen shows the operator a line, unless a screen shows the same.
	PrintUnseen(line string)
	// TrialRuns reports whether a trial keeps the record now.
	TrialRuns() bool
	// LockFor locks the folder of all records for that of one outage, by its cause.
	LockFor(dir string, by outage.Cause) (unlock func(), err error)
}

// Headless is a program of the recorder's own, which locks the folder as long as it runs: see Lock. It
// prints lines.
type Headless func(line string)

// Print implements Host.
func (print Headless) Print(line string) { print(line) }

// PrintUnseen implements Host: there is no screen.
func (print Headless) PrintUnseen(line string) { print(line) }

// TrialRuns implements Host: it has no trials.
func (print Headless) TrialRuns() bool { return false }

// LockFor implements Host: the folder is locked.
func (print Headless) LockFor(string, outage.Cause) (func(), error) { return func() {}, nil }

// OnScreen is a screen, where an operator switches machines and trials keep records too.
type OnScreen struct {
	// Say shows a line, Trial reports whether a trial keeps the record now.
	Say   func(line string)
	Trial func() bool
}

// Print implements Host.
func (s OnScreen) Print(line string) { s.Say(line) }

// PrintUnseen implements Host: the screen shows it.
func (s OnScreen) PrintUnseen(string) {}

// TrialRuns implements Host.
func (s OnScreen) TrialRuns() bool { return s.Trial() }

// LockFor implements Host. The operator's own outage is recorded in any case: another recorder mutes it.
func (s OnScreen) LockFor(dir string, by outage.Cause) (unlock func(), err error) {
	unlock, err = Lock(dir)
	if by == outage.Operator && errors.Is(err, errTaken) {
		return func() {}, nil
	}
	return unlock, err
}
