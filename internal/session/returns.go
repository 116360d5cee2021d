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

// returns follows machines after power-on until their nodes are Ready, and reports how long that
// took. A trial reports that in its own way. Only the session's loop may use it.
type returns struct {
	*loop
	machines *machines
}

// sentTogether is the time within which requests to power on count as one in the forecast.
const sentTogether = 5 * time.Second

// poweredOn records that machines receive power-on requests now.
func (r *returns) poweredOn(nodes []string) {
	for _, n := range nodes {
		r.machines.learn(n, outage.Fact{Kind: outage.Agreed, At: r.now(), Node: r.machines.boot(n)})
	}
}

// progress takes a step of powering a machine on.
func (r *returns) progress(p power.Progress) {
	switch p.Stage {
	case power.StageSending:
		r.machines.learn(p.Node, outage.Fact{Kind: outage.Sent, At: p.At})
	case power.StageDone, power.StageUncertain:
		r.machines.learn(p.Node, outage.Fact{Kind: outage.PoweredOn, At: p.At})
	case power.StageFailed:
		r.notSent(p.Node)
	}
}

// notSent records that machines are not powered on: they receive power-off requests now, or
// the request to power on has failed.
func (r *returns) notSent(nodes ...string) {
	for _, n := range nodes {
		r.machines.learn(n, outage.Fact{Kind: outage.NotSent, At: r.now()})
	}
}

// observe reports the returns of nodes that are Ready again, unless a trial does.
func (r *returns) observe(ready []string) {
	for _, name := range ready {
		if o := r.machines.outages[name]; o.Returned() && r.guest.UnderWay() == nil {
			e := view.NewEvent(view.CodeNodeReturned, name, view.Facts{Seconds: r.now().Sub(o.At[outage.StepOn]).Seconds()})
			e.Kind = string(cluster.KindNode)
			r.notify(e)
		}
	}
}

// next describes the events to wait for, one for the machines whose requests were sent together.
func (r *returns) next() (lines []string) {
	var sent []string
	for n, o := range r.machines.outages {
		if o.Awaited() && o.Step() == outage.StepOn {
			sent = append(sent, n)
		}
	}
	on := func(n string) time.Time { return r.machines.outages[n].At[outage.StepOn] }
	slices.SortFunc(sent, func(a, b string) int { return cmp.Or(on(a).Compare(on(b)), cmp.Compare(a, b)) })
	for len(sent) > 0 {
		first := on(sent[0])
		together := slices.DeleteFunc(slices.Clone(sent), func(n string) bool { return on(n).Sub(first) > sentTogether })
		sent = sent[len(together):]
		slices.Sort(together)
		lines = append(lines, fmt.Sprintf("%s Ready again (powered on %s ago)", text.List(together), text.Span(r.now().Sub(first))))
	}
	return lines
}
