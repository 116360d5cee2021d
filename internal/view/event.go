package view

import (
	"time"

	"lightsout/cluster"
)

// Level decides how an event is drawn.
type Level int

// Severities, mildest first.
const (
	Info Level = iota
	Good
	Warning
	Bad
)

// Lane is the source of an event.
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
	// Offset is At relative to the trial's zero, in seconds; negative before it. Nil
	// before there is a zero.
	Offset *float64 `json:"offset,omitempty"`
	// Code identifies the kind of the event.
	Code Code `json:"code"`
	Lane Lane `json:"lane"`
	// Kind and Namespace belong to the object that Subject names; empty if it is not an
	// object.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Subject   string `json:"subject"`
	// Level decides the colour of the event.
	Level Level `json:"level"`
	// Change, From, To, Was, Is, Cause and Why belong to a transition. From and To also
	// describe a machine's state.
	Change cluster.Change `json:"change,omitempty"`
	From   string         `json:"from,omitempty"`
	To     string         `json:"to,omitempty"`
	Was    cluster.Health `json:"was,omitempty"`
	Is     cluster.Health `json:"is,omitempty"`
	Cause  cluster.Cause  `json:"cause,omitempty"`
	Why    string         `json:"why,omitempty"`
	Facts
	// Text is Sentence, for people. No program parses it.
	Text string `json:"text"`
}
