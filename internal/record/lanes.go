package record

import (
	"maps"
	"slices"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/view"
	"lightsout/power"
)

// fillLanes joins what the events and the first samples tell of each node into spans, by the time at which
// lightsout saw it.
func (r *Record) fillLanes() {
	nodes := map[string][]outage.Span{}
	sights := append(eventSights(r.Events), firstSights(r.Samples)...)
	slices.SortStableFunc(sights, func(a, b outage.Sight) int { return a.At.Compare(b.At) })
	var spans outage.Spans
	for _, s := range sights {
		spans.See(s)
		nodes[s.Node] = nil
	}
	for _, s := range spans.Spans() {
		if s.To.IsZero() {
			s.To = r.End
		}
		nodes[s.Node] = append(nodes[s.Node], s)
	}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		r.Lanes = append(r.Lanes, Lane{node, nodes[node]})
	}
}

// eventSights are what the events tell of nodes and machines.
func eventSights(events []view.Event) (out []outage.Sight) {
	for i := range events {
		e := &events[i]
		see := func(kind outage.SpanKind, down bool) {
			s := outage.Sight{Node: e.Subject, Kind: kind, Down: down, At: e.Seen}
			if e.From != power.Unknown.String() { // else it may have been so before
				s.After = e.At
			}
			out = append(out, s)
		}
		switch e.Code {
		case view.CodeMachineState:
			if e.To == power.Off.String() || e.To == power.On.String() {
				see(outage.SpanOff, e.To == power.Off.String())
			}
		case view.CodeNodeHeartbeat:
			see(outage.SpanSilent, e.Is == cluster.HealthBad)
		case view.CodeNodeStatus, view.CodeNodeNode:
			see(outage.SpanNotReady, e.Is == cluster.HealthBad)
			deleted := e.Cause == cluster.CauseDeleted
			if deleted {
				see(outage.SpanSilent, false)
			}
			if e.Code == view.CodeNodeNode {
				see(outage.SpanGone, deleted)
			}
		}
	}
	return out
}

// firstSights are what the first samples of each node and each machine tell.
func firstSights(samples []Sample) (out []outage.Sight) {
	type what struct {
		node string
		kind outage.SpanKind
	}
	seen := map[what]bool{}
	see := func(s outage.Sight) {
		if !seen[what{s.Node, s.Kind}] {
			out = append(out, s)
		}
		seen[what{s.Node, s.Kind}] = true
	}
	for i := range samples {
		x := &samples[i]
		if x.Cluster != nil {
			for _, n := range x.Cluster.Nodes {
				if n != nil {
					here := n.Gone.IsZero()
					see(outage.Sight{Node: n.Name, Kind: outage.SpanSilent, Down: here && (n.Overdue || n.Ready == cluster.TriUnknown), At: x.At})
					see(outage.Sight{Node: n.Name, Kind: outage.SpanNotReady, Down: here && n.Ready != cluster.TriTrue, At: x.At})
				}
			}
		}
		for name, m := range x.Machines {
			if m != nil && !m.Reading.Arrived.IsZero() && m.Reading.State != power.Unknown {
				see(outage.Sight{Node: name, Kind: outage.SpanOff, Down: m.Reading.State == power.Off, At: x.At})
			}
		}
	}
	return out
}
