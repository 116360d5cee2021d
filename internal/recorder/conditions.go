package recorder

import (
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/record"
	"lightsout/internal/view"
)

// kind is a kind of alert.
type kind struct {
	// sign identifies it. The alert of a node may have another sign of a node.
	sign view.Sign
	// hold is how long the condition must show until the alert fires.
	hold time.Duration
	// sees calls show for each subject for which the condition shows, with the time at which all
	// was well last; zero: now. known: subjects that it does not name are well.
	sees func(f facts, show func(record.Sign)) (known bool)
}

// kinds are all kinds of alerts. To add one, see CONTRIBUTING.md.
//
// A rollout leaves pods without a node, and services without an endpoint, for a moment, a server
// that restarts is soon back, and a heartbeat may be a little late.
var kinds = []kind{
	{view.SignAPI, 2 * time.Second, apiGone},
	{view.SignSilent, 2 * time.Second, nodesDown},
	{view.SignEndpoints, 10 * time.Second, endpointsLost},
	{view.SignPending, 10 * time.Second, podsWaiting},
	{view.SignRequests, 0, requestsFail},
}

// AskEvery is how long the API server may send nothing before the recorder asks whether it
// is ready. With the hold of view.SignAPI and one look a second, the first sentence about
// a killed API server comes within 5 s of its last answer.
const AskEvery = time.Second

// facts are what conditions judge: what the Recorder has followed until now, and the newest snapshot.
type facts struct {
	*Recorder
	s     *cluster.Snapshot
	now   time.Time
	mutes mutes
	// failing: requests failed when somebody looked last.
	failing bool
}

// apiGone: the API server does not answer.
func apiGone(f facts, show func(record.Sign)) bool {
	if f.s.Link.State == cluster.LinkDisconnected {
		show(record.Sign{Kind: view.SignAPI, At: lastContact(f.s)})
	}
	return true
}

// lastContact is when the API server answered last.
func lastContact(s *cluster.Snapshot) time.Time {
	last := s.Link.LastContact
	for _, n := range s.Nodes() { // heartbeats have a connection of their own
		if _, heard := n.Heartbeat(); heard.After(last) {
			last = heard
		}
	}
	return last
}

// nodesDown: the operator of the screen switched a node's machine off, or a node is silent or not
// Ready, or did not return after its planned switch-off.
func nodesDown(f facts, show func(record.Sign)) bool {
	if f.s.Link.State != cluster.LinkLive {
		return false
	}
	for name, off := range f.switched {
		show(record.Sign{Kind: view.SignSwitchedOff, Subject: name, At: off.at})
	}
	for _, n := range f.s.Unwell(f.now) {
		switch {
		case !n.Gone.IsZero() || n.Ready == cluster.TriNone || n.Ready != cluster.TriTrue && n.ReadySince.Sub(n.Created) < joining:
			// Somebody deleted it, or it has never been Ready.
		case f.plans.overdue(n.Name):
			show(record.Sign{Kind: view.SignNotBack, Subject: n.Name})
		default:
			sign, at := downSince(f.s, n, f.now)
			show(record.Sign{Kind: sign, Subject: n.Name, At: at})
		}
	}
	return true
}

// joining is the time within which a node that is not Ready has just joined, and has not
// been Ready yet.
const joining = 5 * time.Second

// downSince is the sign that a node which is silent or not Ready shows, and its time.
func downSince(s *cluster.Snapshot, n *cluster.Node, now time.Time) (view.Sign, time.Time) {
	_, heard := n.Heartbeat()
	marked := n.ReadySince.Add(-s.Ahead())
	_, silent := s.Silent(n, now)
	switch {
	case !silent:
		return view.SignNotReady, marked
	case heard.IsZero():
		return view.SignSilent, marked
	}
	return view.SignSilent, heard
}

// endpointsLost: a service that had a ready endpoint has none.
func endpointsLost(f facts, show func(record.Sign)) bool {
	if f.s.Link.State != cluster.LinkLive || !f.s.Access[cluster.KindEndpointSlice].Synced {
		return false
	}
	for _, e := range f.s.Endpoints() {
		switch {
		case e.Ready > 0:
			f.served[e.Service] = true
		case e.Total == e.Terminating: // scaled to zero, or being deleted
			delete(f.served, e.Service)
		case f.served[e.Service]:
			show(record.Sign{Kind: view.SignEndpoints, Subject: e.Service.String(), At: e.Changed})
		}
	}
	return true
}

// podsWaiting: more pods than usual have no node.
func podsWaiting(f facts, show func(record.Sign)) bool {
	if f.s.Link.State != cluster.LinkLive || !f.s.Access[cluster.KindPod].Synced {
		return false
	}
	f.waiting = forecast.Unscheduled(f.s)
	if f.usual == nil || f.waiting < *f.usual {
		f.accept()
	}
	if f.waiting > *f.usual {
		show(record.Sign{Kind: view.SignPending})
	}
	return true
}

// accept takes the present number of pods without a node for the usual one.
func (r *Recorder) accept() {
	usual := r.waiting
	r.usual = &usual
}

// requestsFail: several requests failed. Those that a mute covers do not begin an alert, and any
// others make it last.
func requestsFail(f facts, show func(record.Sign)) bool {
	covered := f.mutes
	if f.failing {
		covered = nil
	}
	if since, failing := f.requests.fail(covered, f.now); failing {
		show(record.Sign{Kind: view.SignRequests, At: since})
	}
	return true
}
