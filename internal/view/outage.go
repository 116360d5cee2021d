package view

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// SpanKind is what a NodeSpan is about.
type SpanKind string

// Kinds of spans. Those of one node may overlap.
const (
	SpanOff      SpanKind = "off"       // the machine is off, or presumed so
	SpanSilent   SpanKind = "silent"    // heartbeats are missing; in records alone
	SpanNotReady SpanKind = "not ready" // according to the control plane
)

// NodeSpan is a span in which a node was off, silent or not Ready, by the time of
// observation; To is zero while it lasts.
type NodeSpan struct {
	Node string    `json:"node"`
	Kind SpanKind  `json:"kind"`
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
	// Begun: it was so already when lightsout first saw the node or its machine; From is when that
	// was. In records alone.
	Begun bool `json:"-"`
}

// NodeSpans follows the outages of nodes. The zero value has none. One goroutine may use
// it; the slices that it returns never change.
type NodeSpans struct {
	spans []NodeSpan
	last  map[spanKey]int // of each kind of a node
}

type spanKey struct {
	node string
	kind SpanKind
}

// Set records whether a node is down, and since when if that has changed.
func (o *NodeSpans) Set(node string, kind SpanKind, down bool, at time.Time) {
	key := spanKey{node, kind}
	i, known := o.last[key]
	if down == (known && o.spans[i].To.IsZero()) {
		return // as it was
	}
	if !down {
		o.spans[i].To = slices.MaxFunc([]time.Time{at, o.spans[i].From}, time.Time.Compare)
		return
	}
	if o.last == nil {
		o.last = map[spanKey]int{}
	}
	o.last[key] = len(o.spans)
	o.spans = append(o.spans, NodeSpan{Node: node, Kind: kind, From: at})
}

// Spans are the outages so far, in the order in which they began.
func (o *NodeSpans) Spans() []NodeSpan { return slices.Clone(o.spans) }

// Sign is what shows that an outage has begun.
type Sign string

// Signs of an outage, by which the recorder notices it.
const (
	SignSilent   Sign = "silent"    // a node's heartbeat is overdue
	SignNotReady Sign = "not ready" // a node is not Ready, and is heard
	SignNotBack  Sign = "not back"  // a node has not returned after a planned switch-off
	// SignSwitchedOff: the operator of the screen switched a node's machine off, without a trial.
	SignSwitchedOff Sign = "off"
	SignEndpoints   Sign = "endpoints" // a service has lost its last ready endpoint
	SignRequests    Sign = "requests"  // requests fail
	SignPending     Sign = "pending"   // pods find no node
	SignAPI         Sign = "api"       // the API server does not answer
)

// SignSubjects are the subjects, on the timeline, of signs that concern no single object.
var SignSubjects = map[Sign]string{SignAPI: "API server", SignRequests: "load", SignPending: "pods"}

// SettlesAfterAPI is how long after the API server answers again the control plane may still
// take nodes for silent that could not renew their Leases meanwhile: a kubelet renews each
// 10 s and waits at most 7 s after an error (pkg/kubelet/kubelet.go,
// k8s.io/component-helpers/apimachinery/lease).
const SettlesAfterAPI = 15 * time.Second

// OfNode reports whether the sign is that of a node.
func (s Sign) OfNode() bool {
	return s == SignSilent || s == SignNotReady || s == SignNotBack || s == SignSwitchedOff
}

// lastGood describes, for each sign, the last observation before it; … is its subject.
var lastGood = map[Sign]string{
	SignSilent:      "the last heartbeat of …",
	SignNotReady:    "the end of …'s readiness",
	SignNotBack:     "the end of the planned switch-off of …",
	SignSwitchedOff: "the request to switch off …",
	SignEndpoints:   "the loss of the last ready endpoint of …",
	SignRequests:    "the last good answer to a request",
	SignPending:     "the first pod without a node",
	SignAPI:         "the last answer of the API server",
}

// LastGood describes the last observation before a sign; its time is that of the sign.
func (s Sign) LastGood(subject string) string {
	return strings.ReplaceAll(cmp.Or(lastGood[s], string(s)), "…", subject)
}
