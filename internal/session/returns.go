package session

import (
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// onProgress takes a step of powering a machine on.
func (m *machines) onProgress(p power.Progress) {
	switch p.Stage {
	case power.StageSending:
		m.learn(p.Node, outage.Fact{Kind: outage.Sent, At: p.At})
	case power.StageDone, power.StageUncertain:
		m.learn(p.Node, outage.Fact{Kind: outage.PoweredOn, At: p.At})
	case power.StageFailed:
		m.asked(outage.NotSent, p.Node)
	}
}

// asked records that machines receive power-on requests now (outage.Agreed), or that they are not powered
// on (outage.NotSent): they receive power-off requests now, or the request to power on has failed.
func (m *machines) asked(what outage.Kind, nodes ...string) {
	for _, n := range nodes {
		m.learn(n, outage.Fact{Kind: what, At: m.now(), Node: m.boot(n)})
	}
}

// sayReturns reports the returns of nodes that are Ready again, unless a trial does.
func (m *machines) sayReturns(ready []string) {
	for _, name := range ready {
		if o := m.outages[name]; o.Returned() && m.trial == nil {
			e := view.NewEvent(view.CodeNodeReturned, name, view.Facts{Seconds: m.now().Sub(o.At[outage.StepOn]).Seconds()})
			e.Kind = string(cluster.KindNode)
			m.notify(e)
		}
	}
}

// booting names the nodes that the operator has had powered on, and that are not Ready yet.
func (m *machines) booting() (nodes []string) {
	for node, o := range m.outages {
		here := m.snapshot != nil && m.snapshot.Node(node) != nil && m.snapshot.Node(node).Gone.IsZero()
		if here && o.Awaited() && o.Step() >= outage.StepOn && m.away(node) {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// awaited describes the returns of nodes to wait for, in one line; nil if there are none.
func (m *machines) awaited(nodes []string) []string {
	if len(nodes) == 0 {
		return nil
	}
	first := slices.MinFunc(text.Each(nodes, func(n string) time.Time { return m.outages[n].At[outage.StepOn] }), time.Time.Compare)
	ago := text.Noun(len(nodes), "", "the first ") + "powered on " + text.Span(m.now().Sub(first)) + " ago"
	return []string{"waiting for " + text.List(nodes) + " to be Ready (" + ago + "; :shell if that takes long)"}
}
