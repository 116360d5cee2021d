package session

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// returns follows machines after power-on until their nodes are Ready and the
// focus has all its pods again, and reports how long that took. A trial
// reports that in its own way. Only the session's loop may use it.
type returns struct {
	*loop

	since   time.Time // the first request to power on of those that are followed; zero before
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
}

// stayedOnAfter is how long after the power-on a node that is Ready with the boot
// of before is taken for one that had never been off.
const stayedOnAfter = 5 * time.Minute

// poweredOn records that machines receive power-on requests now.
func (r *returns) poweredOn(nodes []string) {
	if len(r.waiting) == 0 {
		r.since, r.lacked, r.waiting = time.Time{}, false, map[string]awaited{}
	}
	r.restore = true
	for _, n := range nodes {
		a := awaited{since: r.now()}
		if r.snapshot != nil && r.snapshot.Node(n) != nil {
			a.boot = r.snapshot.Node(n).BootID
		}
		r.waiting[n] = a
	}
	if r.snapshot != nil {
		r.observeLack(r.snapshot)
	}
}

// sent records that the driver is asked to power a machine on.
func (r *returns) sent(node string, at time.Time) {
	a, followed := r.waiting[node]
	if !followed || a.sent {
		return
	}
	a.since, a.sent = at, true
	r.waiting[node] = a
	if r.since.IsZero() {
		r.since = at
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
		switch {
		case n == nil || n.Ready != cluster.TriTrue || silent(s, name, r.now()):
		case n.BootID != a.boot || n.BootID == "":
			delete(r.waiting, name)
			r.tell(cluster.KindNode, view.NewEvent(view.CodeNodeReturned, name, view.Facts{Seconds: r.now().Sub(a.since).Seconds()}))
		case r.now().Sub(a.since) > stayedOnAfter:
			delete(r.waiting, name)
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

func (r *returns) ago() string { return text.Span(r.now().Sub(r.since)) }

// next describes the event to wait for.
func (r *returns) next() []string {
	var sent []string
	for n, a := range r.waiting {
		if a.sent {
			sent = append(sent, n)
		}
	}
	if len(sent) == 0 {
		return nil
	}
	slices.Sort(sent)
	return []string{fmt.Sprintf("%s Ready again (powered on %s ago)", text.List(sent), r.ago())}
}
