package record

import (
	"maps"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// laneFact is what an event or the first sample of a node tells: since From it is down, or no
// longer. A fact without a kind tells that there is the node.
type laneFact struct {
	view.NodeSpan
	down bool
	// first: it was so already when the record began, unless an event has told.
	first bool
	// unknown: the reading before did not show whether the machine was off.
	unknown bool
}

// fillLanes derives the outages of each node from the events, by the time at which
// lightsout saw them, and those from the beginning from the samples.
func (r *Record) fillLanes() {
	firsts, begun := firstFacts(r.Samples), map[view.NodeSpan]bool{}
	for _, f := range firsts {
		begun[view.NodeSpan{Node: f.Node, Kind: f.Kind}] = true
	}
	facts := append(eventFacts(r.Events), firsts...)
	slices.SortStableFunc(facts, func(a, b laneFact) int { return a.From.Compare(b.From) })
	nodes, told := map[string][]view.NodeSpan{}, map[view.NodeSpan]bool{}
	var outages view.NodeSpans
	for _, f := range facts {
		nodes[f.Node] = nil
		what := view.NodeSpan{Node: f.Node, Kind: f.Kind}
		if f.Kind == "" || f.first && told[what] {
			continue
		}
		if begun[what] && !told[what] && (f.first || f.unknown) {
			begun[f.NodeSpan] = true
		}
		told[what] = true
		outages.Set(f.Node, f.Kind, f.down, f.From)
	}
	for _, o := range outages.Spans() {
		o.Begun = begun[view.NodeSpan{Node: o.Node, Kind: o.Kind, From: o.From}]
		if o.To.IsZero() {
			o.To = r.End
		}
		nodes[o.Node] = append(nodes[o.Node], o)
	}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		r.Lanes = append(r.Lanes, Lane{node, nodes[node]})
	}
}

// eventFacts are what the events tell of nodes and machines.
func eventFacts(events []view.Event) (out []laneFact) {
	for i := range events {
		e := &events[i]
		add := func(kind view.SpanKind, down bool) {
			out = append(out, laneFact{NodeSpan: view.NodeSpan{Node: e.Subject, Kind: kind, From: e.Seen}, down: down, unknown: e.From == power.Unknown.String()})
		}
		switch e.Code {
		case view.CodeMachineState:
			if e.To == power.Off.String() || e.To == power.On.String() {
				add(view.SpanOff, e.To == power.Off.String())
			}
		case view.CodeNodeHeartbeat:
			add(view.SpanSilent, e.Is == cluster.HealthBad)
		case view.CodeNodeStatus, view.CodeNodeNode:
			add(view.SpanNotReady, e.Is == cluster.HealthBad)
			if e.Cause == cluster.CauseDeleted {
				add(view.SpanSilent, false)
			}
		}
	}
	return out
}

// firstFacts are what the first samples of each node and each machine tell.
func firstFacts(samples []Sample) (out []laneFact) {
	seen := map[view.NodeSpan]bool{}
	first := func(at time.Time, node string, kind view.SpanKind, down bool) {
		what := view.NodeSpan{Node: node, Kind: kind}
		if down && !seen[what] {
			out = append(out, laneFact{NodeSpan: view.NodeSpan{Node: node, Kind: kind, From: at}, down: true, first: true})
		}
		seen[what] = true
	}
	for i := range samples {
		x := &samples[i]
		if x.Cluster != nil {
			for _, n := range x.Cluster.Nodes {
				if n != nil {
					here := n.Gone.IsZero()
					first(x.At, n.Name, "", true)
					first(x.At, n.Name, view.SpanSilent, here && (n.Overdue || n.Ready == cluster.TriUnknown))
					first(x.At, n.Name, view.SpanNotReady, here && n.Ready != cluster.TriTrue)
				}
			}
		}
		for name, m := range x.Machines {
			if m != nil && !m.Reading.Arrived.IsZero() && m.Reading.State != power.Unknown {
				first(x.At, name, view.SpanOff, m.Reading.State == power.Off)
			}
		}
	}
	return out
}
