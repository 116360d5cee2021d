package record

import (
	"maps"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// fillLanes works out the outages of each node from the events, by the time at
// which they were seen. What was so from the beginning, the samples say.
func (r *Record) fillLanes() {
	l := lanes{nodes: map[string][]view.Outage{}, told: map[view.Outage]bool{}}
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
	for _, o := range slices.SortedStableFunc(slices.Values(l.outages.Spans()), func(a, b view.Outage) int { return a.From.Compare(b.From) }) {
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
	nodes   map[string][]view.Outage
	outages view.Outages
	// told: an event has said something of that kind about the node.
	told map[view.Outage]bool
}

// set begins or ends a node's outage.
func (l *lanes) set(node string, kind view.OutageKind, down bool, at time.Time) {
	l.told[view.Outage{Node: node, Kind: kind}] = true
	l.lane(node)
	l.outages.Set(node, kind, down, at)
}

// lane makes the lane of a node, if an empty one.
func (l *lanes) lane(node string) {
	if _, ok := l.nodes[node]; !ok {
		l.nodes[node] = nil
	}
}

// sight is how a node was when the samples first told of it; no kind: well.
type sight struct {
	at   time.Time
	node string
	kind view.OutageKind
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
					out = append(out, sight{x.At, n.Name, view.OutageSilent})
				}
				if n.Ready != cluster.TriTrue {
					out = append(out, sight{x.At, n.Name, view.OutageNotReady})
				}
			}
		}
		for name, m := range x.Machines {
			if m == nil || machines[name] || m.Reading.At.IsZero() {
				continue
			}
			machines[name] = true
			if m.Reading.State == power.Off {
				out = append(out, sight{x.At, name, view.OutageOff})
			}
		}
	}
	return out
}

func (l *lanes) begin(s sight) {
	l.lane(s.node)
	if s.kind != "" && !l.told[view.Outage{Node: s.node, Kind: s.kind}] {
		l.set(s.node, s.kind, true, s.at)
	}
}

// follow takes an event. The words are those of power.State and of
// cluster.Transition.
func (l *lanes) follow(e *view.Event) {
	switch {
	case e.Lane == view.LanePower && e.To == power.Off.String():
		l.set(e.Subject, view.OutageOff, true, e.Seen)
	case e.Lane == view.LanePower && e.To == power.On.String():
		l.set(e.Subject, view.OutageOff, false, e.Seen)
	case e.Lane == view.LaneHeartbeat && e.To == cluster.HeartbeatOverdue:
		l.set(e.Subject, view.OutageSilent, true, e.Seen)
	case e.Lane == view.LaneHeartbeat && e.To == cluster.HeartbeatOnTime:
		l.set(e.Subject, view.OutageSilent, false, e.Seen)
	case e.Lane != view.LaneNode || e.Kind != string(cluster.KindNode):
	case cluster.IsNotReady(e.To), e.To == cluster.WordUnknown:
		l.set(e.Subject, view.OutageNotReady, true, e.Seen)
	case e.To == cluster.WordReady:
		l.set(e.Subject, view.OutageNotReady, false, e.Seen)
	case e.To == "": // its object is gone
		l.set(e.Subject, view.OutageNotReady, false, e.Seen)
		l.set(e.Subject, view.OutageSilent, false, e.Seen)
	}
}
