package view

import (
	"strings"
	"time"
)

// Severity says how an event is drawn.
type Severity int

// Severities, mildest first.
const (
	Info Severity = iota
	Good
	Warning
	Bad
)

// Lane says where an event comes from.
type Lane string

// The lanes of the timeline.
const (
	LanePower      Lane = "power"
	LaneHeartbeat  Lane = "heartbeat"
	LaneNode       Lane = "node"
	LaneTaint      Lane = "taint"
	LanePod        Lane = "pod"
	LaneEndpoints  Lane = "endpoints"
	LaneDeployment Lane = "deployment"
	LaneEvent      Lane = "event"
	LaneLoad       Lane = "load"
	LaneLink       Lane = "link"
	LaneOperator   Lane = "operator"
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
	Lane   Lane     `json:"lane"`
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

// Sentence is the event's text, or its transition where it has none. It may
// come from outside: it is to be cleaned before it is shown.
func (e Event) Sentence() string {
	if e.Text != "" || e.From == "" && e.To == "" {
		return e.Text
	}
	text := strings.TrimPrefix(e.From+" → "+e.To, " → ")
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}
