package recorder

import (
	"cmp"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/clock"
	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// kind is a kind of alert. Alerts of one kind are told apart by their subject.
type kind int

// The kinds of alerts.
const (
	apiGone kind = iota
	machineOff
	nodeDown
	endpointsLost
	podsWait
	requestsFail
	kinds // their number
)

// rule is what makes a kind of alert.
type rule struct {
	// hold is how long the condition must show until the alert fires.
	hold time.Duration
	// cause is who causes it: see Recorder.lock and operatorSteady.
	cause outage.Cause
	// muted are the mutes that count for it.
	muted []why
	// sees is the condition: the subjects for which it shows. known: all others are well.
	sees func(facts) (found []finding, known bool)
}

// rules are all kinds of alerts. To add one, see CONTRIBUTING.md.
//
// A rollout leaves pods without a node, and services without an endpoint, for a moment, a server
// that restarts is soon back, and a heartbeat may be a little late.
var rules = [kinds]rule{
	apiGone:    {hold: 2 * time.Second, muted: []why{duringTrial}, sees: silentAPI},
	machineOff: {hold: 2 * time.Second, cause: outage.Operator, muted: []why{duringTrial}, sees: machinesOff},
	// A trial's record does not have nodes that it did not switch.
	nodeDown:      {hold: 2 * time.Second, muted: []why{byPlan}, sees: nodesDown},
	endpointsLost: {hold: 10 * time.Second, muted: []why{duringTrial, besidePlan}, sees: unserved},
	podsWait:      {hold: 10 * time.Second, muted: []why{duringTrial, besidePlan, cordoned}, sees: podsWaiting},
	requestsFail:  {muted: []why{duringTrial, besidePlan, neverGood, duringRecord}, sees: requestsFailing},
}

// AskEvery is how long the API server may send nothing before the recorder asks whether it
// is ready. With the hold of apiGone and one look a second, the first sentence about
// a killed API server comes within 5 s of its last answer.
const AskEvery = time.Second

// facts are what conditions judge: what the Recorder has followed until now, and the newest snapshot.
type facts struct {
	*Recorder
	s     *cluster.Snapshot
	now   time.Time
	mutes mutes
}

// finding is a subject for which a condition shows. Its time is that at which all was well last;
// zero: now.
type finding struct {
	record.Sign
	// stage is that at which its alert begins: pending, or told if nobody is to hear of it.
	stage stage
}

// one is a condition without subjects, which shows since that time.
func one(sign view.Sign, at time.Time) []finding {
	return []finding{{Sign: record.Sign{Kind: sign, At: at}}}
}

// silentAPI: the API server does not answer.
func silentAPI(f facts) (found []finding, known bool) {
	if f.s.Link.State != cluster.LinkDisconnected {
		return nil, true
	}
	last := f.s.Link.LastContact
	for _, n := range f.s.Nodes() { // heartbeats have a connection of their own
		_, heard := n.Heartbeat()
		last = clock.Latest(last, heard)
	}
	return one(view.SignAPI, last), true
}

// machinesOff: the operator of the screen switched a node's machine off, and the node is neither back nor
// deleted.
func machinesOff(f facts) (found []finding, known bool) {
	for name, off := range f.switched {
		unwell := slices.ContainsFunc(f.s.Unwell(f.now), func(n *cluster.Node) bool { return n.Name == name && n.Gone.IsZero() })
		if m := f.Recorder.s.Machine(name); unwell || m.Busy != "" || m.LeftOff {
			found = append(found, finding{Sign: record.Sign{Kind: view.SignSwitchedOff, Subject: name, Action: off.Action, At: off.At}})
		}
	}
	return found, f.s.Link.State == cluster.LinkLive
}

// nodesDown: a node is silent or not Ready, or did not return after its planned switch-off. When
// the API server is back, the kubelets renew their Leases first.
func nodesDown(f facts) (found []finding, known bool) {
	settling := f.now.Before(f.alerts.resolved[apiGone].Add(view.SettlesAfterAPI))
	for _, n := range f.s.Unwell(f.now) {
		_, own := f.switched[n.Name]
		sign, at := downSince(f.s, n, f.now)
		begins := pending
		if n.Unschedulable { // somebody takes a cordoned node down, and may uncordon it before it is back
			begins = told
		}
		switch {
		case own:
		case !n.Gone.IsZero() || n.Ready == cluster.TriNone || n.Ready != cluster.TriTrue && n.ReadySince.Sub(n.Created) < joining:
			// Somebody deleted it, or it has never been Ready.
		case f.Recorder.s.Plans().Overdue(n.Name, f.now):
			found = append(found, finding{record.Sign{Kind: view.SignNotBack, Subject: n.Name}, begins})
		case !settling || sign == view.SignNotReady || f.alerts.down(n.Name):
			found = append(found, finding{record.Sign{Kind: sign, Subject: n.Name, At: at}, begins})
		}
	}
	return found, f.s.Link.State == cluster.LinkLive
}

// joining is the time within which a node that is not Ready has just joined, and has not
// been Ready yet.
const joining = 5 * time.Second

// downSince is the sign that a node which is silent or not Ready shows, and its time.
func downSince(s *cluster.Snapshot, n *cluster.Node, now time.Time) (view.Sign, time.Time) {
	_, heard := n.Heartbeat()
	marked := n.ReadySince.Add(-s.Ahead())
	_, silent := s.Silent(n, now)
	if !silent {
		return view.SignNotReady, marked
	}
	return view.SignSilent, cmp.Or(heard, marked)
}

// before returns the snapshot to compare with. known: it and the present one have the objects of a kind.
func (f facts) before(k cluster.Kind) (usual *cluster.Snapshot, known bool) {
	known = f.usual != nil && f.usual.Access[k].Synced && f.s.Access[k].Synced && f.s.Link.State == cluster.LinkLive
	return f.usual, known
}

// unserved: a service that had a ready endpoint has none, and was not scaled to zero.
func unserved(f facts) (found []finding, known bool) {
	before, known := f.before(cluster.KindEndpointSlice)
	if !known {
		return nil, false
	}
	for _, e := range f.s.Endpoints() {
		served := func(x *cluster.Endpoints) bool { return x.Service == e.Service && x.Ready > 0 }
		if e.Ready == 0 && e.Total > e.Terminating && slices.ContainsFunc(before.Endpoints(), served) {
			found = append(found, finding{Sign: record.Sign{Kind: view.SignEndpoints, Subject: e.Service.String(), At: e.Changed}})
		}
	}
	return found, true
}

// podsWaiting: more pods than before have no node.
func podsWaiting(f facts) (found []finding, known bool) {
	before, known := f.before(cluster.KindPod)
	if known && forecast.Unscheduled(f.s) > forecast.Unscheduled(before) {
		found = one(view.SignPending, time.Time{})
	}
	return found, known
}

// requestsFailing: several requests failed.
func requestsFailing(f facts) (found []finding, known bool) {
	from := f.now.Add(-loadgen.FailingWithin(f.requests.every))
	f.requests.series.Forget(from)
	if since, failing := f.requests.series.Failing(from); failing {
		found = one(view.SignRequests, since)
	}
	return found, true
}
