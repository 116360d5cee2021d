package session

import (
	"cmp"
	"fmt"
	"maps"
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

	since   time.Time // the first request to power on one of the machines that have returned; zero before
	waiting map[string]awaited
	restore bool // the deployment is waited for
	lacked  bool // it has lacked pods since then
}

// awaited is a node that is to be Ready again.
type awaited struct {
	// boot is the one that it had when it was powered on: a node just switched off is Ready
	// for a while.
	boot  string
	since time.Time // the request to power it on
	sent  bool      // the driver has it; until then, since is when the operator agreed
	asked time.Time // when the operator agreed last
	off   time.Time // when the machine was proven off last; zero if it was not
}

// stayedOnAfter is how long after the power-on a node that is Ready with the boot
// of before is taken for one that had never been off.
const stayedOnAfter = 5 * time.Minute

// sentTogether is the time within which requests to power on count as one in the forecast.
const sentTogether = 5 * time.Second

// poweredOn records that machines receive power-on requests now. A machine that has been sent
// one keeps it, unless another one is sent.
func (r *returns) poweredOn(nodes []string) {
	if len(r.waiting) == 0 {
		r.since, r.lacked, r.waiting = time.Time{}, false, map[string]awaited{}
	}
	r.restore = true
	for _, n := range nodes {
		a := r.waiting[n]
		if !a.sent {
			a.since = r.now()
		}
		if a.boot == "" { // that of an earlier request stays: the machine may have booted since
			a.boot = r.boot(n).ID
		}
		a.asked = r.now()
		r.waiting[n] = a
	}
	if r.snapshot != nil {
		r.observeLack(r.snapshot)
	}
}

// boot returns what the newest snapshot shows of a node's boot.
func (r *returns) boot(name string) outage.Now {
	if r.snapshot == nil {
		return outage.Now{}
	}
	return r.snapshot.Boot(r.snapshot.Node(name))
}

// sent records that the driver is asked to power a machine on. The first request counts that
// follows the operator's agreement; the later ones repeat it.
func (r *returns) sent(node string, at time.Time) {
	a, followed := r.waiting[node]
	if !followed || a.sent && !a.asked.After(a.since) {
		return
	}
	if now := r.boot(node); a.sent && !now.Ready.IsZero() {
		a.boot = now.ID // until then, its kubelet may have registered the boot to come
	}
	a.since, a.sent = at, true
	r.waiting[node] = a
}

// returned ends the wait for a node. Its request counts for the time until the deployment has
// all its pods.
func (r *returns) returned(node string) {
	a := r.waiting[node]
	delete(r.waiting, node)
	if a.sent && (r.since.IsZero() || a.since.Before(r.since)) {
		r.since = a.since
	}
}

// failed records that a machine is not powered on by a request that was sent; it may be sent again.
func (r *returns) failed(node string) {
	if a, followed := r.waiting[node]; followed {
		a.sent = false
		r.waiting[node] = a
	}
}

// observeLack records whether the deployment lacks pods.
func (r *returns) observeLack(s *cluster.Snapshot) {
	d := s.Deployment(r.opt.Target.Focus())
	r.lacked = r.lacked || d != nil && d.Available < d.Replicas
}

// forget records that machines are not powered on: they receive power-off requests now, or
// the request to power on has failed.
func (r *returns) forget(nodes []string) {
	for _, n := range nodes {
		delete(r.waiting, n)
	}
	r.restore = r.restore && len(r.waiting) > 0
}

// offAgain forgets the machines that have been proven off since their power-on ended: somebody
// else has switched them off.
func (r *returns) offAgain(views map[string]view.MachineView) {
	var gone []string
	for n, a := range r.waiting {
		v := views[n]
		off := v.Reading.State == power.Off && v.Reading.Proof == power.Proven && v.Reading.CountsFrom().After(a.since)
		if a.sent && off && !v.Stage.Active() {
			gone = append(gone, n)
		}
		if v.Reading.State == power.Off && v.Reading.Proof == power.Proven {
			a.off = v.Reading.CountsFrom()
			r.waiting[n] = a
		}
	}
	r.forget(gone)
}

// observe follows up on changes.
func (r *returns) observe(s *cluster.Snapshot) {
	if !r.restore || s.Link.State != cluster.LinkLive {
		return
	}
	r.observeLack(s)
	for _, name := range slices.Sorted(maps.Keys(r.waiting)) {
		n, a := s.Node(name), r.waiting[name]
		if n == nil || n.Ready != cluster.TriTrue || silent(s, name, r.now()) {
			continue
		}
		back := view.Facts{Seconds: r.now().Sub(a.since).Seconds()}
		switch (outage.Before{ID: a.boot, Asked: a.since, Off: a.off}).Seen(s.Boot(n)) {
		case outage.CantTell, outage.Booted:
			r.returned(name)
			r.tell(cluster.KindNode, view.NewEvent(view.CodeNodeReturned, name, back))
		default:
			if r.now().Sub(a.since) > stayedOnAfter {
				r.returned(name)
			}
		}
	}
	if len(r.waiting) > 0 {
		return
	}
	d := s.Deployment(r.opt.Target.Focus())
	switch {
	case d == nil, !r.lacked:
		r.restore = false
	case r.since.IsZero(): // nothing was sent: the machines were on
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
	for n, a := range r.waiting {
		if a.sent {
			sent = append(sent, n)
		}
	}
	slices.SortFunc(sent, func(a, b string) int {
		return cmp.Or(r.waiting[a].since.Compare(r.waiting[b].since), cmp.Compare(a, b))
	})
	for len(sent) > 0 {
		first := r.waiting[sent[0]].since
		later := func(n string) bool { return r.waiting[n].since.Sub(first) > sentTogether }
		together := slices.DeleteFunc(slices.Clone(sent), later)
		sent = sent[len(together):]
		slices.Sort(together)
		lines = append(lines, fmt.Sprintf("%s Ready again (powered on %s ago)", text.List(together), text.Span(r.now().Sub(first))))
	}
	return lines
}
