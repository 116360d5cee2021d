package loadgen

import "time"

// Class is how a request ended. A request ends in exactly one class.
type Class string

// Terminal classes. ClassOK is success; ClassCancelled is ended by us; all
// others are failures.
const (
	ClassOK             Class = "ok"
	ClassRefused        Class = "refused"         // connection refused
	ClassUnreachable    Class = "unreachable"     // no route to host or network
	ClassConnectTimeout Class = "connect timeout" // no connection within the bound
	ClassReset          Class = "reset"           // connection reset by peer
	ClassTruncated      Class = "truncated"       // body cut, no [DONE], or an error inside a 200
	ClassFirstByte      Class = "first-byte timeout"
	ClassIdle           Class = "idle timeout"  // no byte for longer than the bound
	ClassTotal          Class = "total timeout" // the whole request took too long
	ClassPeerDead       Class = "peer dead"     // keep-alives went unanswered
	Class4xx            Class = "4xx"
	Class5xx            Class = "5xx"
	Class502            Class = "502"
	Class503            Class = "503"
	Class504            Class = "504"
	ClassClient         Class = "client fault" // ports, files, names: our own doing
	ClassCancelled      Class = "cancelled"    // ended by us
	ClassUnsent         Class = "unsent"       // shed before it was sent
)

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
	// LastError is one sentence on the newest failed request; empty if none.
	LastError string
	// URL is where requests go, with no secrets in it.
	URL string
}
