package loadgen

import (
	"fmt"
	"strconv"
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
	Shape Shape `json:"shape,omitzero"`
	// N is the number at once (Burst) or outstanding (Hold); at least 1.
	N int `json:"n,omitzero"`
	// PerSecond is the rate for Rate; more than 0.
	PerSecond float64 `json:"per_second,omitzero"`
	// Requests ends the run after so many; 0: no such bound. For bounds the
	// run ends when the last request has ended.
	Requests int `json:"requests,omitzero"`
	// For ends the run after that time; 0: no such bound.
	For time.Duration `json:"for,omitzero"`
	// Timeout bounds each whole request of this run, from the start of dialing;
	// 0: the generator's Timeouts.Total holds.
	Timeout time.Duration `json:"timeout,omitzero"`
}

// Basis is the source of a gauge's numbers.
type Basis string

// Bases.
const (
	BasisIdle      Basis = "idle"      // nothing in flight, nothing asked
	BasisMeasured  Basis = "measured"  // every ready server answered; nothing is derived
	BasisPartial   Basis = "partly"    // some servers did not answer, or do not count the newest requests yet
	BasisEstimated Basis = "estimated" // ready pods x concurrency
)

// Gauge is the state of the service at one moment, as far as the generator knows it.
type Gauge struct {
	At time.Time `json:"at,omitzero"`
	// Capacity is the number of requests that the ready pods can serve at once, and
	// Target that of all desired pods. If Limited is false both are unknown: there is
	// no limit, or no deployment is chosen.
	Capacity int `json:"capacity,omitzero"`
	Target   int `json:"target,omitzero"`
	// Served is being worked on; Queued waits for a slot; Stalled makes no
	// progress; OnDead sits on nodes that are silent or off. Unknown has waited beside
	// free slots for 5 s: in a queue, or at a pod that is gone.
	Served  int `json:"served,omitzero"`
	Queued  int `json:"queued,omitzero"`
	Stalled int `json:"stalled,omitzero"`
	OnDead  int `json:"on_dead,omitzero"`
	Unknown int `json:"unknown,omitzero"`
	// Limited: Capacity is known, even if it is 0.
	Limited bool `json:"limited,omitzero"`
	// Heard is the part of Served that the servers themselves report, or that is proven
	// by arriving bytes. The rest is derived: requests too new for a server's average,
	// free slots, and reports from before a silence.
	Heard int `json:"heard,omitzero"`
	// Streaming is the number of answers of which bytes came within the last 2 s. It is
	// of the generator's requests alone.
	Streaming int `json:"streaming,omitzero"`
	// Others is how many requests the servers hold that can't be the generator's; 0: none
	// is known. Servers don't tell clients apart, so Heard is then only what arriving bytes
	// prove, and the generator's own served requests are between Heard and Served.
	Others int `json:"others,omitzero"`
	// Outstanding is the ledger's own in-flight count: always exact.
	Outstanding int   `json:"outstanding,omitzero"`
	Basis       Basis `json:"basis,omitzero"`
	// Source names what answered: "queue-proxy", "llama.cpp", "ready x concurrency".
	Source string `json:"source,omitzero"`
	// NoAnswer is the number of servers that should have answered and did not.
	NoAnswer int `json:"no_answer,omitzero"`
	// Reported is what servers say in their own numbers, beside the above, which
	// always adds up to Outstanding.
	Reported []Report `json:"reported,omitzero"`
	// Disagreement is one sentence if the servers hold requests of others; else empty.
	Disagreement string `json:"disagreement,omitzero"`
}

// Run is the state of a run, or of the sum of all runs so far.
type Run struct {
	// Spec is the running (or last) specification; Active is false when no
	// more requests will be started.
	Spec   Spec `json:"spec,omitzero"`
	Active bool `json:"active,omitzero"`
	// Totals sums over all runs since the program started.
	Totals Totals `json:"totals,omitzero"`
	Gauge  Gauge  `json:"gauge,omitzero"`
	// Seconds holds the last seconds, oldest first and without gaps, at most
	// the generator's limit.
	Seconds []Second `json:"seconds,omitzero"`
	// Latency sums up the requests that have ended, Tokens the tokens of their
	// answers, Redirects those that only name another URL.
	Latency   Latency `json:"latency,omitzero"`
	Tokens    int     `json:"tokens,omitzero"`
	Redirects int     `json:"redirects,omitzero"`
	// LastError is one sentence on the newest failed request; empty if none.
	LastError string `json:"last_error,omitzero"`
	// URL is where requests go, with no secrets in it.
	URL string `json:"url,omitzero"`
}

// Text names the load, for people: "burst of 16".
func (s Spec) Text() string {
	switch s.Shape {
	case Burst:
		return fmt.Sprintf("burst of %d", s.N)
	case Hold:
		return fmt.Sprintf("hold at %d", s.N)
	}
	return fmt.Sprintf("rate of %s a second", rateText(s.PerSecond))
}

// Short is the load for a title: "burst 16", "hold 12", "rate 2/s".
func (s Spec) Short() string { return clean(string(s.Shape), 20) + " " + s.Size() }

// Size is the number of a load: "16", "2/s".
func (s Spec) Size() string {
	if s.Shape == Rate {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", s.PerSecond), ".0") + "/s"
	}
	return strconv.Itoa(s.N)
}
