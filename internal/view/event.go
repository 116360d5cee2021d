package view

import "time"

// Severity says how an event is drawn.
type Severity int

// Severities, mildest first.
const (
	Info Severity = iota
	Good
	Warning
	Bad
)

// Event is one line of the timeline.
type Event struct {
	// Seq counts from 1 without gaps.
	Seq int `json:"seq"`
	// At is when it happened by its own source where the source gives a time,
	// else when it was seen; Seen is when it was seen.
	At   time.Time `json:"at"`
	Seen time.Time `json:"seen"`
	// Offset is At relative to the trial's zero, in seconds; negative before
	// it. Nil when there is no zero yet.
	Offset *float64 `json:"offset,omitempty"`
	// Lane is where it comes from: power, heartbeat, node, taint, pod,
	// endpoints, deployment, event, load, link, operator.
	Lane string `json:"lane"`
	// Kind is the sort of object that Subject names, where it is one.
	Kind    string   `json:"kind,omitempty"`
	Subject string   `json:"subject"`
	Text    string   `json:"text"`
	Level   Severity `json:"level"`
	// From, To and Why are a transition's own.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	Why  string `json:"why,omitempty"`
}
