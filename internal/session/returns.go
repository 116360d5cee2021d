package session

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// sentTogether is the time within which requests to power on count as one in the forecast.
const sentTogether = 5 * time.Second

// poweredOn records that machines receive power-on requests now.
func (m *machines) poweredOn(nodes []string) {
	for _, n := range nodes {
		m.learn(n, outage.Fact{Kind: outage.Agreed, At: m.now(), Node: m.boot(n)})
	}
}

// onProgress takes a step of powering a machine on.
func (m *machines) onProgress(p power.Progress) {
	switch p.Stage {
	case power.StageSending:
		m.learn(p.Node, outage.Fact{Kind: outage.Sent, At: p.At})
	case power.StageDone, power.StageUncertain:
		m.learn(p.Node, outage.Fact{Kind: outage.PoweredOn, At: p.At})
	case power.StageFailed:
		m.notSent(p.Node)
	}
	if p.Stage == power.StageSending || p.Stage == power.StageDone {
		m.guest.Handle(PowerOnSent{p.Node, p.At})
	}
}

// notSent records that machines are not powered on: they receive power-off requests now, or
// the request to power on has failed.
func (m *machines) notSent(nodes ...string) {
	for _, n := range nodes {
		m.learn(n, outage.Fact{Kind: outage.NotSent, At: m.now()})
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

// awaited describes the returns to wait for, one for the machines whose requests were sent together.
func (m *machines) awaited() (lines []string) {
	var sent []string
	for n, o := range m.outages {
		if o.Awaited() && o.Step() == outage.StepOn {
			sent = append(sent, n)
		}
	}
	on := func(n string) time.Time { return m.outages[n].At[outage.StepOn] }
	slices.SortFunc(sent, func(a, b string) int { return cmp.Or(on(a).Compare(on(b)), cmp.Compare(a, b)) })
	for len(sent) > 0 {
		first := on(sent[0])
		together := slices.DeleteFunc(slices.Clone(sent), func(n string) bool { return on(n).Sub(first) > sentTogether })
		sent = sent[len(together):]
		slices.Sort(together)
		lines = append(lines, fmt.Sprintf("%s Ready again (powered on %s ago)", text.List(together), text.Span(m.now().Sub(first))))
	}
	return lines
}
