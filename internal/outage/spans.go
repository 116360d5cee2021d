package outage

import (
	"slices"
	"time"
)

// SpanKind is a way in which a node is seen to be down. Spans of one node may overlap.
type SpanKind string

// Kinds of spans.
const (
	SpanOff      SpanKind = "off"       // the machine is off, or was asked to and is presumed so
	SpanSilent   SpanKind = "silent"    // heartbeats are missing
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

// Spans joins what is seen of nodes into spans. One goroutine may use it.
type Spans struct {
	all  []*Span
	last map[spanKey]*Span
	up   map[spanKey]time.Time // when it was last not so
}

type spanKey struct {
	node string
	kind SpanKind
}

// NewSpans returns Spans of nothing.
func NewSpans() *Spans {
	return &Spans{last: map[spanKey]*Span{}, up: map[spanKey]time.Time{}}
}

// See takes a sight in. It counts from its own time on if that differs from what was seen before.
func (o *Spans) See(x Sight) {
	key := spanKey{x.Node, x.Kind}
	last := o.last[key]
	lasts := last != nil && last.To.IsZero()
	switch {
	case x.Down && !lasts:
		last = &Span{Node: x.Node, Kind: x.Kind, From: latest(x.At, o.up[key]), After: latest(x.After, o.up[key])}
		o.all, o.last[key] = append(o.all, last), last
	case x.Down && last.After.IsZero():
		last.After = x.After
	case !x.Down && lasts:
		last.To = latest(x.At, last.From)
	}
	if !x.Down {
		o.up[key] = x.At
	}
}

// Spans are the spans so far, in the order in which they began. The slice never changes.
func (o *Spans) Spans() (out []Span) {
	for _, s := range o.all {
		out = append(out, *s)
	}
	return out
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }
