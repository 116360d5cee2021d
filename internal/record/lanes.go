package record

import (
	"maps"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// fillLanes derives the outages of each node from the events, by the time at which
// lightsout saw them, and those from the beginning from the samples.
func (r *Record) fillLanes() {
	l := lanes{nodes: map[string][]view.NodeSpan{}, told: map[view.NodeSpan]bool{}}
	first := firstSights(r.Samples)
	for i := range r.Events {
		e := &r.Events[i]
		for len(first) > 0 && first[0].at.Before(e.Seen) {
			l.begin(first[0])
			first = first[1:]
		}
		l.follow(e)
	}
	for _, s := range first {
		l.begin(s)
	}
	for _, o := range slices.SortedStableFunc(slices.Values(l.outages.Spans()), func(a, b view.NodeSpan) int { return a.From.Compare(b.From) }) {
		if o.To.IsZero() {
			o.To = r.End
		}
		l.nodes[o.Node] = append(l.nodes[o.Node], o)
	}
	for _, node := range slices.Sorted(maps.Keys(l.nodes)) {
		r.Lanes = append(r.Lanes, Lane{node, l.nodes[node]})
	}
}

// lanes are the nodes with their outages.
type lanes struct {
	nodes   map[string][]view.NodeSpan
	outages view.NodeSpans
	// told: an event has reported that kind for the node.
	told map[view.NodeSpan]bool
}

// set begins or ends a node's outage.
func (l *lanes) set(node string, kind view.SpanKind, down bool, at time.Time) {
	l.told[view.NodeSpan{Node: node, Kind: kind}] = true
	l.lane(node)
	l.outages.Set(node, kind, down, at)
}

// lane makes the lane of a node, if an empty one.
func (l *lanes) lane(node string) {
	if _, ok := l.nodes[node]; !ok {
		l.nodes[node] = nil
	}
}

// sight is the state of a node in its first sample; an empty kind is healthy.
type sight struct {
	at   time.Time
	node string
	kind view.SpanKind
}

func firstSights(samples []Sample) (out []sight) {
	nodes, machines := map[string]bool{}, map[string]bool{}
	for i := range samples {
		x := &samples[i]
		if x.Cluster != nil {
			for _, n := range x.Cluster.Nodes {
				if n == nil || nodes[n.Name] {
					continue
				}
				nodes[n.Name] = true
				out = append(out, sight{at: x.At, node: n.Name})
				if !n.Gone.IsZero() {
					continue
				}
				if n.Overdue || n.Ready == cluster.TriUnknown {
					out = append(out, sight{x.At, n.Name, view.SpanSilent})
				}
				if n.Ready != cluster.TriTrue {
					out = append(out, sight{x.At, n.Name, view.SpanNotReady})
				}
			}
		}
		for name, m := range x.Machines {
			if m == nil || machines[name] || m.Reading.Arrived.IsZero() {
				continue
			}
			machines[name] = true
			if m.Reading.State == power.Off {
				out = append(out, sight{x.At, name, view.SpanOff})
			}
		}
	}
	return out
}

func (l *lanes) begin(s sight) {
	l.lane(s.node)
	if s.kind != "" && !l.told[view.NodeSpan{Node: s.node, Kind: s.kind}] {
		l.set(s.node, s.kind, true, s.at)
	}
}

// follow takes an event.
func (l *lanes) follow(e *view.Event) {
	switch e.Code {
	case view.CodeMachineState:
		if e.To == power.Off.String() || e.To == power.On.String() {
			l.set(e.Subject, view.SpanOff, e.To == power.Off.String(), e.Seen)
		}
	case view.CodeNodeHeartbeat:
		l.set(e.Subject, view.SpanSilent, e.Is == cluster.HealthBad, e.Seen)
	case view.CodeNodeStatus, view.CodeNodeNode:
		l.set(e.Subject, view.SpanNotReady, e.Is == cluster.HealthBad, e.Seen)
		if e.Cause == cluster.CauseDeleted {
			l.set(e.Subject, view.SpanSilent, false, e.Seen)
		}
	}
}
