package view

import (
	"cmp"
	"slices"
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

// When is the moment at which it happened. Times that Kubernetes gives have whole seconds: such an
// event happened within that second, and before it was seen.
func (e *Event) When() cluster.When {
	switch {
	case e.Change != "" && e.At.After(e.Seen): // by a clock that is ahead
		return cluster.At(e.Seen)
	case e.Change == "" || e.At.Nanosecond() != 0:
		return cluster.At(e.At)
	}
	return cluster.When{By: e.Seen}.Dated(e.At)
}

// InOrder puts events, which are in the order in which lightsout saw them, in the order in which
// they happened. That is the order of the moments by which they had happened: it never contradicts
// two moments that can be compared, and leaves those of one second as they were seen.
func InOrder(events []Event) []Event {
	type dated struct {
		by time.Time
		i  int
	}
	order := make([]dated, len(events))
	for i := range events {
		order[i] = dated{events[i].When().By, i}
	}
	slices.SortFunc(order, func(a, b dated) int { return cmp.Or(a.by.Compare(b.by), a.i-b.i) })
	out := make([]Event, len(events))
	for i, d := range order {
		out[i] = events[d.i]
	}
	return out
}
