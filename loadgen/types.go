package loadgen

import "time"

// Totals accounts for every request of a run. At any moment
//
//	Scheduled = OK + sum(Failed) + Cancelled + InFlight + Unsent
//
// and InFlight = Dialing + Sent + Streaming. Stalled requests are counted in
// Streaming as well.
type Totals struct {
	Scheduled int
	OK        int
	Failed    map[Class]int
	Cancelled int
	Unsent    int
	Dialing   int // no connection yet
	Sent      int // request written, no byte back
	Streaming int // bytes are coming
	Stalled   int // of Streaming: no byte for longer than the stall limit
}

// FailedSum is the number of failed requests of all classes.
func (t Totals) FailedSum() int {
	n := 0
	for _, v := range t.Failed {
		n += v
	}
	return n
}

// InFlight is the number of requests that have been started and have not ended.
func (t Totals) InFlight() int { return t.Dialing + t.Sent + t.Streaming }

// Balanced reports whether the equation of Totals holds.
func (t Totals) Balanced() bool {
	return t.Scheduled == t.OK+t.FailedSum()+t.Cancelled+t.InFlight()+t.Unsent
}

// Shape is how requests are sent.
type Shape string

// Shapes.
const (
	Burst Shape = "burst" // N at once, none after
	Hold  Shape = "hold"  // N outstanding at all times
	Rate  Shape = "rate"  // R per second on an absolute schedule
)

// Spec is what to send.
type Spec struct {
	Shape Shape
	// N is the number at once (Burst) or outstanding (Hold); at least 1.
	N int
	// PerSecond is the rate for Rate; more than 0.
	PerSecond float64
	// Requests ends the run after so many; 0: no such bound. For bounds the
	// run ends when the last request has ended.
	Requests int
	// For ends the run after that time; 0: no such bound.
	For time.Duration
	// Ramp is how long a Hold takes to come from 1 to N, or a Rate from nothing
	// to PerSecond, evenly; 0: at once. A Burst has none.
	Ramp time.Duration
	// Timeout bounds each whole request of this run, from the start of dialing;
	// 0: the generator's Timeouts.Total holds.
	Timeout time.Duration
}

// Basis says where a gauge's numbers come from.
type Basis string

// Bases.
const (
	BasisIdle      Basis = "idle"      // nothing in flight, nothing asked
	BasisMeasured  Basis = "measured"  // every ready server answered
	BasisPartial   Basis = "partly"    // some servers gave no answer
	BasisEstimated Basis = "estimated" // ready pods x concurrency
)

// Gauge is the state of the service at one moment, as far as it can be told.
type Gauge struct {
	At time.Time
	// Capacity is what the ready pods can serve at once; Target what all of
	// them should. 0: not known (no limit is set, or no deployment is chosen).
	Capacity, Target int
	// Served is being worked on; Queued waits for a slot; Stalled makes no
	// progress; OnDead sits on nodes that are silent or off.
	Served, Queued, Stalled, OnDead int
	// Outstanding is the ledger's own in-flight count: always exact.
	Outstanding int
	Basis       Basis
	// Source names what answered: "queue-proxy", "llama.cpp", "ready x concurrency".
	Source string
	// NoAnswer is the number of servers that should have told and did not.
	NoAnswer int
	// Told is what servers tell in their own numbers, beside the above, which
	// always adds up to Outstanding.
	Told []Told
	// Disagreement is one sentence on where Told and the above have differed
	// for more than 5 s; empty: nowhere.
	Disagreement string
}

// Window is one second of wall-clock time. Requests are attributed to the
// second in which they were sent, so the past may change while Unresolved > 0.
type Window struct {
	// Second is the start of the second; windows have no gaps.
	Second time.Time
	// Sent, OK, Failed, Cancelled and Unresolved count the requests sent in it.
	Sent, OK, Cancelled, Unresolved int
	Failed                          map[Class]int
	// Served, Queued, Stalled and OnDead are the largest gauge values seen in
	// it; Capacity is the last one. Sampled is false when no gauge was taken.
	Served, Queued, Stalled, OnDead, Capacity, Target int
	Sampled                                           bool
	// Latency and FromSent are the times of the requests that were sent in it
	// and are ok: from when they were due, and from when they were written.
	Latency, FromSent Quantiles
}

// FailedSum is the number of failed requests of all classes.
func (w Window) FailedSum() int {
	n := 0
	for _, v := range w.Failed {
		n += v
	}
	return n
}

// Run is what is shown of a run, or of the sum of all runs so far.
type Run struct {
	// Spec is the running (or last) specification; Active is false when no
	// more requests will be started.
	Spec   Spec
	Active bool
	// Totals sums over all runs since the program started.
	Totals Totals
	Gauge  Gauge
	// Windows holds the last seconds, oldest first, at most the generator's
	// window limit.
	Windows []Window
	// Latency sums up the requests that have ended, Tokens the tokens of their
	// answers.
	Latency Latency
	Tokens  int
	// LastError is one sentence on the newest failed request; empty if none.
	LastError string
	// URL is where requests go, with no secrets in it.
	URL string
}
