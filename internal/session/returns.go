package session

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// returns follows machines after power-on until their nodes are Ready and the
// deployment in focus has all its pods again, and reports how long that took. A trial
// reports that in its own way. Only the session's loop may use it.
type returns struct {
	*loop

	since time.Time // the first power-on asked for of those that are followed
	// waiting are the nodes that are to be Ready, with the boot that they had
	// when they were powered on: one just switched off is Ready for a while.
	waiting map[string]string
	restore bool // the deployment is waited for
}

// stayedOnAfter is how long after the power-on a node that is Ready with the boot
// of before is taken for one that had never been off.
const stayedOnAfter = 5 * time.Minute

// poweredOn records that machines receive power-on requests now.
func (r *returns) poweredOn(nodes []string) {
	if !r.restore {
		r.since = r.now()
	}
	r.restore = true
	if r.waiting == nil {
		r.waiting = map[string]string{}
	}
	for _, n := range nodes {
		r.waiting[n] = ""
		if r.snapshot != nil && r.snapshot.Node(n) != nil {
			r.waiting[n] = r.snapshot.Node(n).BootID
		}
	}
}

// switchedOff records that machines receive power-off requests now; their return no
// longer matters.
func (r *returns) switchedOff(nodes []string) {
	for _, n := range nodes {
		delete(r.waiting, n)
	}
	r.restore = r.restore && len(r.waiting) > 0
}

// observe follows up on changes.
func (r *returns) observe(s *cluster.Snapshot) {
	if !r.restore || s.Link.State != cluster.LinkLive {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.waiting)) {
		n := s.Node(name)
		switch {
		case n == nil || n.Ready != cluster.TriTrue || silent(s, name, r.now()):
		case n.BootID != r.waiting[name] || n.BootID == "":
			delete(r.waiting, name)
			r.tell(cluster.KindNode, view.NewEvent(view.CodeNodeReturned, name, view.Facts{Seconds: r.now().Sub(r.since).Seconds()}))
		case r.now().Sub(r.since) > stayedOnAfter:
			delete(r.waiting, name)
		}
	}
	if len(r.waiting) > 0 {
		return
	}
	d := s.Deployment(r.opt.Target.Focus())
	switch {
	case d == nil:
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
	if len(r.waiting) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s Ready again (powered on %s ago)", text.List(slices.Sorted(maps.Keys(r.waiting))), r.ago())}
}
