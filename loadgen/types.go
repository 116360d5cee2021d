package loadgen

import (
	"fmt"
	"strings"
	"time"
)

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
	Shape Shape `json:",omitzero"`
	// N is the number at once (Burst) or outstanding (Hold); at least 1.
	N int `json:",omitzero"`
	// PerSecond is the rate for Rate; more than 0.
	PerSecond float64 `json:",omitzero"`
	// Requests ends the run after so many; 0: no such bound. For bounds the
	// run ends when the last request has ended.
	Requests int `json:",omitzero"`
	// For ends the run after that time; 0: no such bound.
	For time.Duration `json:",omitzero"`
	// Ramp is how long a Hold takes to come from 1 to N, or a Rate from nothing
	// to PerSecond, evenly; 0: at once. A Burst has none.
	Ramp time.Duration `json:",omitzero"`
	// Timeout bounds each whole request of this run, from the start of dialing;
	// 0: the generator's Timeouts.Total holds.
	Timeout time.Duration `json:",omitzero"`
}

// Basis says where a gauge's numbers come from.
type Basis string

// Bases.
const (
	BasisIdle      Basis = "idle"      // nothing in flight, nothing asked
	BasisMeasured  Basis = "measured"  // every ready server answered
	BasisPartial   Basis = "partly"    // some servers gave no answer, or were not asked
	BasisEstimated Basis = "estimated" // ready pods x concurrency
)

// Gauge is the state of the service at one moment, as far as it can be told.
type Gauge struct {
	At time.Time `json:",omitzero"`
	// Capacity is what the ready pods can serve at once; Target what all of
	// them should. 0: not known (no limit is set, or no deployment is chosen).
	Capacity, Target int `json:",omitzero"`
	// Served is being worked on; Queued waits for a slot; Stalled makes no
	// progress; OnDead sits on nodes that are silent or off.
	Served, Queued, Stalled, OnDead int `json:",omitzero"`
	// Outstanding is the ledger's own in-flight count: always exact.
	Outstanding int   `json:",omitzero"`
	Basis       Basis `json:",omitzero"`
	// Source names what answered: "queue-proxy", "llama.cpp", "ready x concurrency".
	Source string `json:",omitzero"`
	// NoAnswer is the number of servers that should have answered and did not.
	NoAnswer int `json:",omitzero"`
	// Asked of Servers were asked lately, where there are too many to ask each
	// often; what the others do is judged by them. Both are 0 where all were.
	Asked, Servers int `json:",omitzero"`
	// Reported is what servers say in their own numbers, beside the above, which
	// always adds up to Outstanding.
	Reported []Report `json:"Told,omitzero"`
	// Disagreement is one sentence on where Reported and the above have differed
	// for more than 5 s; empty: nowhere.
	Disagreement string `json:",omitzero"`
}

// Run is what is shown of a run, or of the sum of all runs so far.
type Run struct {
	// Spec is the running (or last) specification; Active is false when no
	// more requests will be started.
	Spec   Spec `json:",omitzero"`
	Active bool `json:",omitzero"`
	// Totals sums over all runs since the program started.
	Totals Totals `json:",omitzero"`
	Gauge  Gauge  `json:",omitzero"`
	// Seconds holds the last seconds, oldest first and without gaps, at most
	// the generator's limit.
	Seconds []Second `json:",omitzero"`
	// Latency sums up the requests that have ended, Tokens the tokens of their
	// answers.
	Latency Latency `json:",omitzero"`
	Tokens  int     `json:",omitzero"`
	// LastError is one sentence on the newest failed request; empty if none.
	LastError string `json:",omitzero"`
	// URL is where requests go, with no secrets in it.
	URL string `json:",omitzero"`
}

// Text names the load, for people: "burst of 16".
func (s Spec) Text() string {
	switch s.Shape {
	case Burst:
		return fmt.Sprintf("burst of %d", s.N)
	case Hold:
		return fmt.Sprintf("hold at %d", s.N)
	default:
		return fmt.Sprintf("rate of %g a second", s.PerSecond)
	}
}

// Short is the load for a title: "burst 16", "hold 12", "rate 2/s".
func (s Spec) Short() string {
	if s.Shape == Rate {
		return "rate " + strings.TrimSuffix(fmt.Sprintf("%.1f", s.PerSecond), ".0") + "/s"
	}
	return fmt.Sprintf("%s %d", clean(string(s.Shape), 20), s.N)
}
