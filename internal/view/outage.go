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
