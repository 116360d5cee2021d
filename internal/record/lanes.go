package record

import (
	"maps"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// fillLanes works out the spans of each node from the events, by the time at
// which they were seen. What was so from the beginning, the samples say.
func (r *Record) fillLanes() {
	l := lanes{spans: map[string][]Span{}, known: map[string]bool{}}
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
	for _, node := range slices.Sorted(maps.Keys(l.spans)) {
		lane := Lane{Node: node, Spans: l.spans[node]}
		for i := range lane.Spans {
			if s := &lane.Spans[i]; s.To.IsZero() {
				s.To = r.End
			}
		}
		slices.SortStableFunc(lane.Spans, func(a, b Span) int { return a.From.Compare(b.From) })
		r.Lanes = append(r.Lanes, lane)
	}
}

// lanes are the spans by node; To is zero while one lasts.
type lanes struct {
	spans map[string][]Span
	// known: an event has said something of that kind about the node.
	known map[string]bool
}

// set begins or ends a node's span.
func (l lanes) set(node string, kind SpanKind, on bool, at time.Time) {
	l.known[node+"\x00"+string(kind)] = true
	spans := l.spans[node]
	for i := len(spans) - 1; i >= 0; i-- {
		if spans[i].Kind != kind {
			continue
		}
		if spans[i].To.IsZero() {
			if !on {
				spans[i].To = at
				if at.Before(spans[i].From) {
					spans[i].To = spans[i].From
				}
			}
			return
		}
		break
	}
	if on {
		spans = append(spans, Span{Kind: kind, From: at})
	}
	l.spans[node] = spans
}

// sight is how a node was when the samples first told of it.
type sight struct {
	at                    time.Time
	node                  string
	off, silent, notReady bool
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
				here := n.Gone.IsZero()
				out = append(out, sight{
					at: x.At, node: n.Name,
					silent: here && (n.Overdue || n.Ready == cluster.TriUnknown), notReady: here && n.Ready != cluster.TriTrue,
				})
			}
		}
		for name, m := range x.Machines {
			if m == nil || machines[name] || m.Reading.At.IsZero() {
				continue
			}
			machines[name] = true
			if m.Reading.State == power.Off {
				out = append(out, sight{at: x.At, node: name, off: true})
			}
		}
	}
	return out
}

func (l lanes) begin(s sight) {
	l.spans[s.node] = slices.Clip(l.spans[s.node]) // the node has a lane, if an empty one
	for _, k := range []struct {
		kind SpanKind
		on   bool
	}{{SpanOff, s.off}, {SpanSilent, s.silent}, {SpanNotReady, s.notReady}} {
		if k.on && !l.known[s.node+"\x00"+string(k.kind)] {
			l.set(s.node, k.kind, true, s.at)
		}
	}
}

// follow takes an event. The words are those of power.State and of
// cluster.Transition.
func (l lanes) follow(e *view.Event) {
	switch {
	case e.Lane == view.LanePower && e.To == power.Off.String():
		l.set(e.Subject, SpanOff, true, e.Seen)
	case e.Lane == view.LanePower && e.To == power.On.String():
		l.set(e.Subject, SpanOff, false, e.Seen)
	case e.Lane == view.LaneHeartbeat && e.To == cluster.HeartbeatOverdue:
		l.set(e.Subject, SpanSilent, true, e.Seen)
	case e.Lane == view.LaneHeartbeat && e.To == cluster.HeartbeatOnTime:
		l.set(e.Subject, SpanSilent, false, e.Seen)
	case e.Lane != view.LaneNode || e.Kind != string(cluster.KindNode):
	case cluster.IsNotReady(e.To), e.To == cluster.WordUnknown:
		l.set(e.Subject, SpanNotReady, true, e.Seen)
	case e.To == cluster.WordReady:
		l.set(e.Subject, SpanNotReady, false, e.Seen)
	case e.To == "": // its object is gone
		l.set(e.Subject, SpanNotReady, false, e.Seen)
		l.set(e.Subject, SpanSilent, false, e.Seen)
	}
}
