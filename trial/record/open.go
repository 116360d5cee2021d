package record

import (
	"time"

	"lightsout/loadgen"
)

// Record is a trial's folder as read. It is immutable once opened.
type Record struct {
	// Dir is the folder.
	Dir string
	// Summary is nil when the program ended before it was written.
	Summary *Summary
	// Plan is the text of the plan, as it was; empty when there was none.
	Plan     []byte
	Events   []Event
	Requests []loadgen.Record
	// Seconds is the load second by second from the first sample to the last,
	// without gaps.
	Seconds []Second
	// Lanes are the spans of each node, by name.
	Lanes []Lane
	// Start and End are the first and the last moment that the record tells of;
	// Zero is the zero time when no power-off was asked for.
	Start, End, Zero time.Time
	// Torn names in sentences what is cut short; empty for a whole record.
	Torn []string
}

// Second is one second of wall-clock time.
type Second struct {
	At time.Time
	// Sampled: the gauge was read in it. Served, Queued, Stalled and OnDead are
	// its largest values then, Capacity and Target the last.
	Sampled                                           bool
	Served, Queued, Stalled, OnDead, Capacity, Target int
	// Sent, OK, Cancelled, Unresolved and Failed count requests sent in it, as
	// the records of requests say.
	Sent, OK, Cancelled, Unresolved int
	Failed                          map[loadgen.Class]int
	// Available is the deployment's available replicas at its end; -1: not known.
	Available int
}

// Lane is what happened to one node over time.
type Lane struct {
	Node  string
	Spans []Span
}

// SpanKind is what a Span of a lane is about.
type SpanKind string

// Kinds of spans. They may overlap.
const (
	SpanOff      SpanKind = "off"       // the machine was off or presumed so
	SpanSilent   SpanKind = "silent"    // heartbeats were missing
	SpanNotReady SpanKind = "not ready" // the control plane said so
)

// Span is a span of wall-clock time; To is the record's end when it lasted.
type Span struct {
	Kind     SpanKind
	From, To time.Time
}
