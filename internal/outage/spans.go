package outage

import (
	"slices"
	"time"
)

// SpanKind is a way in which a node is seen to be down. Spans of one node may overlap.
type SpanKind string

// Kinds of spans.
const (
	SpanOff      SpanKind = "off"       // the machine is off, or presumed so
	SpanSilent   SpanKind = "silent"    // heartbeats are missing; in records alone
	SpanNotReady SpanKind = "not ready" // according to the control plane
	SpanGone     SpanKind = "gone"      // its Node object is deleted; in records alone
)

// Span is a time in which a node was off, silent or not Ready, by the time of observation; To is zero
// while it lasts.
type Span struct {
	Node string    `json:"node"`
	Kind SpanKind  `json:"kind"`
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
	// After is when it was not so yet. Zero: nobody knows; it was so when lightsout first looked.
	After time.Time `json:"after,omitzero"`
}

// Sight is what was seen of a node at one time: whether it was down in one way.
type Sight struct {
	Node string
	Kind SpanKind
	Down bool
	At   time.Time
	// After is when it was not so yet, if whoever saw it knows; else zero.
	After time.Time
}

// Spans joins what is seen of nodes into spans. The zero value has none. One goroutine may use it; the
// slices that it returns never change.
type Spans struct {
	all  []Span
	last map[spanKey]*seenLast
}

type spanKey struct {
	node string
	kind SpanKind
}

// seenLast is what was seen last of one kind of a node.
type seenLast struct {
	span int       // its last span in all; -1: none
	up   time.Time // when it was last not so; zero if it never was
}

// See takes a sight in. It counts from its own time on if that differs from what was seen before.
func (o *Spans) See(x Sight) {
	key := spanKey{x.Node, x.Kind}
	if o.last == nil {
		o.last = map[spanKey]*seenLast{}
	}
	seen := o.last[key]
	if seen == nil {
		seen = &seenLast{span: -1}
		o.last[key] = seen
	}
	lasts := seen.span >= 0 && o.all[seen.span].To.IsZero()
	switch {
	case x.Down && !lasts:
		seen.span = len(o.all)
		o.all = append(o.all, Span{Node: x.Node, Kind: x.Kind, From: x.At, After: later(x.After, seen.up)})
	case x.Down && o.all[seen.span].After.IsZero():
		o.all[seen.span].After = x.After
	case !x.Down && lasts:
		o.all[seen.span].To = later(x.At, o.all[seen.span].From)
	}
	if !x.Down {
		seen.up = x.At
	}
}

// Spans are the spans so far, in the order in which they began.
func (o *Spans) Spans() []Span { return slices.Clone(o.all) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
