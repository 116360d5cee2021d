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

// returns follows machines after power-on until their nodes are Ready and the
// focus has all its pods again, and reports how long that took. A trial
// reports that in its own way. Only the session's loop may use it.
type returns struct {
	*loop
	machines *machines

	since   time.Time // the first request to power on one of the machines that have returned; zero before
	restore bool      // the deployment is waited for
	lacked  bool      // it has lacked pods since then
}

// sentTogether is the time within which requests to power on count as one in the forecast.
const sentTogether = 5 * time.Second

// poweredOn records that machines receive power-on requests now.
func (r *returns) poweredOn(nodes []string) {
	if !r.awaits() {
		r.since, r.lacked = time.Time{}, false
	}
	r.restore = true
	for _, n := range nodes {
		r.machines.learn(n, outage.Fact{Kind: outage.Agreed, At: r.now(), Node: r.machines.boot(n)})
	}
	if r.snapshot != nil {
		r.observeLack(r.snapshot)
	}
}

// awaits reports whether a machine that was powered on is still to return.
func (r *returns) awaits() bool {
	for _, o := range r.machines.outages {
		if o.Awaited() {
			return true
		}
	}
	return false
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

// observeLack records whether the deployment lacks pods.
func (r *returns) observeLack(s *cluster.Snapshot) {
	d := s.Deployment(r.opt.Target.Focus())
	r.lacked = r.lacked || d != nil && d.Available < d.Replicas
}

// observe follows up on changes. ready are the nodes that are Ready again.
func (r *returns) observe(s *cluster.Snapshot, ready []string) {
	if !r.restore || s.Link.State != cluster.LinkLive {
		return
	}
	r.observeLack(s)
	for _, name := range ready {
		o := r.machines.outages[name]
		if !o.Returned() {
			continue
		}
		sent := o.At[outage.StepOn]
		if r.since.IsZero() || sent.Before(r.since) {
			r.since = sent
		}
		r.tell(cluster.KindNode, view.NewEvent(view.CodeNodeReturned, name, view.Facts{Seconds: r.now().Sub(sent).Seconds()}))
	}
	if r.awaits() {
		return
	}
	d := s.Deployment(r.opt.Target.Focus())
	switch {
	case d == nil, !r.lacked, r.since.IsZero(): // nothing has returned: the machines were on
		r.restore = false
	case d.Available >= d.Replicas && d.Replicas > 0:
		r.restore = false
		r.tell(cluster.KindDeployment, view.NewEvent(view.CodeCapacityRestored, d.Key.String(),
			view.Facts{Seconds: r.now().Sub(r.since).Seconds(), N: d.Available, Of: d.Replicas}))
	}
}

// tell adds an event, unless a trial reports it.
func (r *returns) tell(kind cluster.Kind, ev view.Event) {
	ev.Kind = string(kind)
	if r.guest.UnderWay() == nil {
		r.notify(ev)
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
