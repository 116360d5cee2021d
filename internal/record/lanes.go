package record

import (
	"maps"
	"slices"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/view"
	"lightsout/power"
)

// fillLanes joins what the events tell of each node, and what the screen showed of it, into spans, by the
// time at which lightsout saw it. A sample may come half a second after its event; the events do not tell
// what was so when lightsout began.
func (r *Record) fillLanes() {
	nodes := map[string][]outage.Span{}
	sights := append(r.screenSights(), eventSights(r.Events)...)
	slices.SortStableFunc(sights, func(a, b outage.Sight) int { return a.At.Compare(b.At) })
	spans := outage.NewSpans()
	for _, s := range sights {
		spans.See(s)
	}
	for _, s := range spans.Spans() {
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
			out[len(out)-1].At = e.When().By // as the timeline
		case view.CodeNodeStatus:
			see(outage.SpanNotReady, e.Is == cluster.HealthBad)
		case view.CodeNodeNode: // it is new, or deleted
			see(outage.SpanNotReady, e.Is == cluster.HealthBad)
			see(outage.SpanSilent, false)
			see(outage.SpanGone, e.Cause == cluster.CauseDeleted)
		}
	}
	return out
}

// screenSights are what the screen showed last of the nodes, from before the record on.
func (r *Record) screenSights() (out []outage.Sight) {
	for i := range slices.Backward(r.Samples) {
		if r.Samples[i].Outages == nil {
			continue
		}
		for _, s := range *r.Samples[i].Outages {
			if s.To.IsZero() || s.To.After(r.Start) {
				out = append(out, outage.Sight{Node: s.Node, Kind: s.Kind, Down: true, At: s.From, After: s.After})
			}
			if s.To.After(r.Start) {
				out = append(out, outage.Sight{Node: s.Node, Kind: s.Kind, At: s.To})
			}
		}
		break
	}
	return out
}
