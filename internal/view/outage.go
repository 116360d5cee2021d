package view

import (
	"slices"
	"time"
)

// OutageKind is what an Outage is about.
type OutageKind string

// Kinds of outages. Those of one node may overlap.
const (
	OutageOff      OutageKind = "off"       // the machine is off, or presumed so
	OutageSilent   OutageKind = "silent"    // heartbeats are missing; in records alone
	OutageNotReady OutageKind = "not ready" // according to the control plane
)

// Outage is a span in which a node was off, silent or not Ready, by the time of
// observation; To is zero while it lasts.
type Outage struct {
	Node string     `json:"node"`
	Kind OutageKind `json:"kind"`
	From time.Time  `json:"from"`
	To   time.Time  `json:"to,omitzero"`
}

// Outages follows the outages of nodes. The zero value has none. One goroutine may use
// it; the slices that it returns never change.
type Outages struct {
	spans  []Outage
	last   map[outageKey]int // of each kind of a node
	handed bool              // spans is in other hands
}

type outageKey struct {
	node string
	kind OutageKind
}

// Set records whether a node is down, and since when if that has changed.
func (o *Outages) Set(node string, kind OutageKind, down bool, at time.Time) {
	key := outageKey{node, kind}
	i, known := o.last[key]
	if down == (known && o.spans[i].To.IsZero()) {
		return // as it was
	}
	if o.handed {
		o.spans, o.handed = slices.Clone(o.spans), false
	}
	if !down {
		o.spans[i].To = at
		if at.Before(o.spans[i].From) {
			o.spans[i].To = o.spans[i].From
		}
		return
	}
	if o.last == nil {
		o.last = map[outageKey]int{}
	}
	o.last[key] = len(o.spans)
	o.spans = append(o.spans, Outage{Node: node, Kind: kind, From: at})
}

// Spans are the outages so far, in the order in which they began.
func (o *Outages) Spans() []Outage {
	o.handed = true
	return slices.Clip(o.spans)
}

// Sign is what shows that an outage has begun.
type Sign string

// Signs of an outage, by which the recorder notices it.
const (
	SignSilent    Sign = "silent"    // a node's heartbeat is overdue
	SignNotReady  Sign = "not ready" // a node is not Ready, and is heard
	SignEndpoints Sign = "endpoints" // a service has lost its last ready endpoint
	SignRequests  Sign = "requests"  // requests fail
	SignPending   Sign = "pending"   // pods find no node
	SignAPI       Sign = "api"       // the API server does not answer
)

// LastGood describes the last observation before a sign; its time is that of the sign.
func (s Sign) LastGood(subject string) string {
	switch s {
	case SignSilent:
		return "the last heartbeat of " + subject
	case SignNotReady:
		return "the end of " + subject + "'s readiness"
	case SignEndpoints:
		return "the loss of the last ready endpoint of " + subject
	case SignRequests:
		return "the last good answer to a request"
	case SignPending:
		return "the first pod without a node"
	case SignAPI:
		return "the last answer of the API server"
	}
	return string(s)
}
