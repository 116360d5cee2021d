package recorder

import (
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	boots "lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/power"
)

// graces are how long a sign must last: a rollout leaves pods without a node, and services
// without an endpoint, for a moment, a server that restarts is soon back, and a heartbeat
// may be a little late. Other signs count at once.
var graces = map[view.Sign]time.Duration{
	view.SignEndpoints: 10 * time.Second, view.SignPending: 10 * time.Second, view.SignAPI: 2 * time.Second, view.SignSilent: 2 * time.Second,
}

// AskEvery is how long the API server may send nothing before the recorder asks whether it
// is ready. With the grace of view.SignAPI and one look a second, the first sentence about
// a killed API server comes within 5 s of its last answer.
const AskEvery = time.Second

// cordonCalm is for how long after a node was cordoned pods without a node are no sign: a
// drain moves them.
const cordonCalm = 15 * time.Minute

// subject identifies a sign: a node is silent, not Ready or not back, and that is one sign.
type subject struct {
	kind view.Sign
	name string
}

func subjectOf(x record.Sign) subject {
	if x.Kind.OfNode() {
		x.Kind = view.SignSilent
	}
	return subject{x.Kind, x.Subject}
}

// nodeDown reports whether a node is silent or not Ready now.
func (g *signs) nodeDown(name string) bool { return g.open[subject{view.SignSilent, name}] != nil }

// open is a sign that shows now.
type open struct {
	record.Sign
	since time.Time
	// counted: it has lasted for its grace.
	counted bool
	// ignored: it belongs to a record that has ended, or to the operator's. excused: a plan
	// or a cordon explains it for a time, or it is older than the past; see signs.ignores.
	ignored, excused bool
}

// plannedOff is a node whose machine lightsout has switched off.
type plannedOff struct {
	node string
	note power.Note
	text string // of the annotation
	// back is when it was seen to have returned, though the annotation may stay: other
	// operators, or somebody at the machine, powered it on. removed is when the annotation
	// was gone. down: it has been silent or not Ready.
	back, removed time.Time
	down          bool
	// since is when the recorder saw the annotation.
	since time.Time
	// listed: newlyPlanned has returned it.
	listed bool
	// before: its plan ended before the recorder began. Only a heartbeat after that shows that
	// it has booted since.
	before bool
}

// signs are the signs of an outage that show now.
type signs struct {
	past    time.Duration
	first   time.Time // when the first complete snapshot came
	open    map[subject]*open
	changed time.Time // when a sign came or went
	// served names the services that had a ready endpoint.
	served map[cluster.Key]bool
	// waiting is the least number of pods without a node; more are a sign. -1: unknown. pending
	// is their present number.
	waiting  int
	pending  int
	cordoned time.Time
	// explained is the end of the last time whose failures belong to a record or a plan: requests that
	// hung in it and fail later date no other outage into it. explaining: a plan explains failures now.
	explained  time.Time
	explaining bool
	// apiBack is when the API server answered again last.
	apiBack time.Time
	// booted is when each node booted last.
	booted  map[string]time.Time
	planned map[string]*plannedOff
	// went are the planned nodes that have gone down, of the last day at least.
	went  []*plannedOff
	nodes *cluster.Snapshot // whose annotations were read last
	// switched are the nodes that the operator of the screen switches off.
	switched map[string]bool
}

func newSigns(past time.Duration) signs {
	return signs{
		past: past, open: map[subject]*open{}, served: map[cluster.Key]bool{}, waiting: -1,
		booted: map[string]time.Time{}, planned: map[string]*plannedOff{}, switched: map[string]bool{},
	}
}

// transition follows a change in the cluster.
func (g *signs) transition(t cluster.Transition) {
	switch t.Change {
	case cluster.ChangeCordon:
		g.cordoned = t.Seen
	case cluster.ChangeBoot:
		g.booted[t.Subject.Name] = t.Seen
	}
}

// observe compares the signs in a snapshot with those before. It returns those that are new
// and last long enough, the earliest first. during: an outage is being recorded.
func (g *signs) observe(s *cluster.Snapshot, p *probes, during bool, now time.Time) (news []record.Sign) {
	starting := g.first.IsZero() && s.Link.State == cluster.LinkLive && seen(s)
	if starting {
		g.first = now
	}
	found := g.showingIn(s, p, now)
	for k, o := range g.open {
		if _, still := found[k]; still {
			continue
		}
		if !o.counted && !o.ignored && !o.excused && k.kind == view.SignSilent && !g.booted[k.name].Before(o.since) {
			o.Noticed = now // a boot proves that it was no late heartbeat
			news = append(news, o.Sign)
		}
		delete(g.open, k)
		g.changed = now
		if k.kind == view.SignAPI {
			g.apiBack = now
		}
	}
	for k, x := range found {
		o := g.open[k]
		if o == nil {
			o = &open{Sign: x, since: now, excused: !(during && g.switched[k.name]) && g.ignores(s, x, starting)}
			g.open[k], g.changed = o, now
		}
		switch p := g.planned[k.name]; {
		case !o.excused:
		case k.kind == view.SignSilent && p.overdue(now):
			o.excused, o.since, o.Kind, o.At = false, now, view.SignNotBack, p.removed
		case k.kind != view.SignSilent && !g.ignores(s, x, false):
			o.excused, o.since = false, now // it lasts longer than the plan explains
			if o.At.Before(g.explained) {
				o.At = g.explained
			}
		}
		if g.mayCount(k, o, now) && now.Sub(o.since) >= graces[k.kind] {
			o.counted, o.Noticed = true, now
			news = append(news, o.Sign)
		}
	}
	if len(news) > 0 && !during { // beside another sign, an overdue heartbeat is not just late
		for k, o := range g.open {
			if k.kind == view.SignSilent && g.mayCount(k, o, now) {
				o.counted, o.Noticed = true, now
				news = append(news, o.Sign)
			}
		}
	}
	slices.SortFunc(news, func(a, b record.Sign) int { return a.At.Compare(b.At) })
	return news
}

// mayCount reports whether an open sign can begin an outage once it has lasted for its grace.
func (g *signs) mayCount(k subject, o *open, now time.Time) bool {
	settles := k.kind == view.SignSilent && now.Sub(g.apiBack) < view.SettlesAfterAPI
	return !o.counted && !o.ignored && !o.excused && !settles
}

// showingIn returns the signs that show in a snapshot and in the requests.
func (g *signs) showingIn(s *cluster.Snapshot, p *probes, now time.Time) map[subject]record.Sign {
	found := map[subject]record.Sign{}
	add := func(kind view.Sign, name string, at time.Time) {
		if at.IsZero() || at.After(now) {
			at = now
		}
		x := record.Sign{Kind: kind, Subject: name, At: at, Noticed: now}
		found[subjectOf(x)] = x
	}
	if s.Link.State == cluster.LinkLive {
		g.followPlanned(s, now)
		g.find(s, now, add)
	} else {
		for k, x := range g.open { // their state is unknown
			if k.kind != view.SignAPI && k.kind != view.SignRequests {
				found[k] = x.Sign
			}
		}
		if s.Link.State == cluster.LinkDisconnected {
			add(view.SignAPI, "", lastContact(s))
		}
	}
	p.explained = g.explainedUntil(now)
	if at, failing := p.failing(now); failing {
		if at.Before(g.explained) {
			at = g.explained
		}
		add(view.SignRequests, "", at)
	}
	return found
}

// explainedUntil is until when a record or a plan explains failures, for the requests. A sign that
// is open lasts as long as any request fails.
func (g *signs) explainedUntil(now time.Time) time.Time {
	explaining := g.anyPlanned(now)
	if g.explaining && !explaining {
		g.explained = now
	}
	g.explaining = explaining
	if o := g.open[subject{kind: view.SignRequests}]; o != nil && !o.excused {
		return time.Time{}
	}
	return g.explained
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

// find adds the signs in a snapshot.
func (g *signs) find(s *cluster.Snapshot, now time.Time, add func(view.Sign, string, time.Time)) {
	for _, n := range s.Unwell(now) {
		if !n.Gone.IsZero() {
			if _, heard := n.Heartbeat(); !n.Unschedulable && leavesPods(s, n) {
				add(view.SignSilent, n.Name, heard)
			}
			continue
		}
		if n.Ready == cluster.TriNone || n.Ready != cluster.TriTrue && n.ReadySince.Sub(n.Created) < joining {
			continue
		}
		kind, at := downSince(s, n, now)
		add(kind, n.Name, at)
	}
	if s.Access[cluster.KindEndpointSlice].Synced {
		for _, e := range s.Endpoints() {
			switch {
			case e.Ready > 0:
				g.served[e.Service] = true
			case e.Total == e.Terminating: // scaled to zero, or being deleted
				delete(g.served, e.Service)
			case g.served[e.Service]:
				add(view.SignEndpoints, e.Service.String(), e.Changed)
			}
		}
	}
	if s.Access[cluster.KindPod].Synced {
		g.pending = forecast.Unscheduled(s)
		if g.waiting < 0 || g.pending < g.waiting {
			g.waiting = g.pending
		}
		if g.pending > g.waiting {
			add(view.SignPending, "", now)
		}
	}
}

// downSince is the sign that a node which is silent or not Ready shows, and its time.
func downSince(s *cluster.Snapshot, n *cluster.Node, now time.Time) (view.Sign, time.Time) {
	_, heard := n.Heartbeat()
	marked := n.ReadySince.Add(-s.Ahead())
	_, silent := s.Silent(n, now)
	// Leases have a watch of their own, and may show that a node is back before the node's
	// object does: after a lost link that still shows what the control plane found.
	back := heard.After(marked) && n.Ready == cluster.TriUnknown && !n.Overdue && !n.HeartbeatLate(now)
	switch {
	case !silent || back:
		return view.SignNotReady, marked
	case heard.IsZero():
		return view.SignSilent, marked
	}
	return view.SignSilent, heard
}

// leavesPods reports whether somebody deleted a node without draining it: pods that would run
// elsewhere are still on it. A cloud controller deletes the node of a machine that is gone.
func leavesPods(s *cluster.Snapshot, n *cluster.Node) bool {
	return slices.ContainsFunc(s.PodsOn(n.Name), func(p *cluster.Pod) bool {
		return p.Gone.IsZero() && p.Deleting.IsZero() && !p.Finished() && !p.Static && p.OwnerKind != "DaemonSet"
	})
}

// joining is the time within which a node that is not Ready has just joined, and has not
// been Ready yet.
const joining = 5 * time.Second

// ignores reports whether a new sign does not begin an outage: somebody planned it, or
// it is older than the recorder's past.
func (g *signs) ignores(s *cluster.Snapshot, x record.Sign, starting bool) bool {
	switch x.Kind {
	case view.SignSilent, view.SignNotReady:
		n, p := s.Node(x.Subject), g.planned[x.Subject]
		return p != nil && p.back.IsZero() && !p.overdue(x.Noticed) || n != nil && n.Unschedulable || starting && x.Noticed.Sub(x.At) > g.past
	case view.SignPending:
		return g.anyPlanned(x.Noticed) || x.Noticed.Sub(g.cordoned) < cordonCalm
	case view.SignEndpoints, view.SignRequests:
		return g.anyPlanned(x.Noticed)
	}
	return false
}

// anyPlanned reports whether a planned switch-off explains failures now.
func (g *signs) anyPlanned(now time.Time) bool {
	for _, p := range g.planned {
		if p.back.IsZero() && !p.overdue(now) || now.Sub(p.back) < plannedReturn {
			return true
		}
	}
	return false
}

// observe finds out whether the machine is back.
func (p *plannedOff) observe(n *cluster.Node, boot boots.Now, silent bool, now time.Time) {
	_, heard := n.Heartbeat()
	up := n.Ready == cluster.TriTrue && !silent && (!p.before || heard.IsZero() || heard.After(p.removed))
	booted := (boots.Before{ID: p.note.Boot, Asked: p.since}).Seen(boot)
	stayed := !p.down && now.Sub(p.since) > plannedGoes
	if p.back.IsZero() && up && (booted == boots.Booted || p.down && (booted == boots.CantTell || p.note.Boot == "") || stayed || !p.removed.IsZero()) {
		p.back = now
	}
	p.down = p.down || !up && p.back.IsZero()
}

// overdue reports whether the plan ended so long ago that the node should be back. It is
// false for nil.
func (p *plannedOff) overdue(now time.Time) bool {
	return p != nil && p.back.IsZero() && !p.removed.IsZero() && now.Sub(p.removed) >= returnsWithin
}

// returnsWithin is how long after the end of a plan its machine may boot: servers test
// their memory for minutes.
const returnsWithin = 10 * time.Minute

// returning takes nodes whose plan ended before the recorder began: lightsout powered them on then.
func (g *signs) returning(on map[string]time.Time, now time.Time) {
	for name, at := range on {
		if ago := now.Sub(at); ago >= 0 && ago < returnsWithin {
			g.planned[name] = &plannedOff{node: name, since: at, removed: at, down: true, listed: true, before: true}
		}
	}
}

// plannedGoes is how long an annotated node may stay up until its machine goes off. A
// lightsout that ended before its request leaves a node that stays up.
const plannedGoes = 45 * time.Second

// followPlanned follows which nodes lightsout has switched off. One that is back counts
// for as long as its return may be noticed.
func (g *signs) followPlanned(s *cluster.Snapshot, now time.Time) {
	if g.nodes != nil && s.SameNodes(g.nodes) && len(g.planned) == 0 {
		return
	}
	g.nodes = s
	for _, n := range s.Nodes() {
		text := n.Annotations[power.AnnotationSwitchedOff]
		switch p := g.planned[n.Name]; {
		case text != "" && p != nil && p.text != text && p.down && p.back.IsZero():
			// Somebody else annotated the node too: it is the same outage.
			p.text, p.note, p.removed = text, power.ParseNote(text), time.Time{}
		case text != "" && (p == nil && !g.nodeDown(n.Name) || p != nil && p.text != text):
			g.planned[n.Name] = &plannedOff{node: n.Name, note: power.ParseNote(text), text: text, since: now}
		case p != nil && text == "" && p.removed.IsZero():
			p.removed = now
		case p != nil && text == "" && !p.back.IsZero() && now.Sub(p.removed) > plannedReturn && now.Sub(p.back) > plannedReturn:
			delete(g.planned, n.Name)
		}
	}
	for name, p := range g.planned {
		n := s.Node(name)
		if n == nil {
			if p.back.IsZero() {
				p.back = now
			}
			delete(g.planned, name)
			continue
		}
		_, silent := s.Silent(n, now)
		was := p.down
		if p.observe(n, s.Boot(n), silent, now); p.down && !was {
			g.went = append(g.went, p)
		}
	}
	g.went = slices.DeleteFunc(g.went, func(p *plannedOff) bool { return !p.back.IsZero() && now.Sub(p.back) > 24*time.Hour })
}

// plannedReturn is how long after its return a node that was switched off by plan explains
// failures.
const plannedReturn = time.Minute

// newlyPlanned returns the planned nodes that have gone down and were not returned before.
func (g *signs) newlyPlanned() (out []plannedOff) {
	for _, p := range g.planned {
		if p.down && !p.listed {
			p.listed = true
			out = append(out, *p)
		}
	}
	return out
}

// wentByPlan maps the nodes that were down by plan at that time or later to who switched
// them off. One that was annotated and stayed up is not among them.
func (g *signs) wentByPlan(since time.Time) map[string]string {
	out := map[string]string{}
	for _, p := range g.went {
		if p.back.IsZero() && !p.overdue(since) || p.back.After(since) {
			out[p.node] = p.note.By
		}
	}
	return out
}

// forget makes signs new again.
func (g *signs) forget(news []record.Sign) {
	for _, x := range news {
		if o := g.open[subjectOf(x)]; o != nil {
			o.counted = false
		}
	}
}

// leave leaves signs to the record of the operator's own outage, except those of nodes
// that the operator did not switch: they stay new.
func (g *signs) leave(news []record.Sign) {
	g.forget(news)
	for k, o := range g.open {
		o.ignored = o.ignored || k.kind != view.SignSilent || g.switched[k.name]
	}
}

// settle ends an outage: the signs that still show begin no other one. Pods that still have no
// node are as usual from now on: only more of them are a sign. Other signs that something excuses
// are not of this outage, and may begin another one, from now on, when nothing excuses them any
// more.
func (g *signs) settle(p *probes, now time.Time) (down []string) {
	switch {
	case g.showing() || g.anyPlanned(now):
		g.explained = now
	case g.changed.After(g.explained):
		g.explained = p.goodFrom(g.changed) // the service may return after the last sign has gone
	}
	for k, o := range g.open {
		switch {
		case k.kind == view.SignPending:
			g.waiting = g.pending
			delete(g.open, k)
		case o.excused:
			if !o.Kind.OfNode() {
				o.At = now
			}
		default:
			o.ignored = true
			if o.Kind.OfNode() {
				down = append(down, o.Subject)
			}
		}
	}
	slices.Sort(down)
	return down
}

// showing reports whether a sign of the outage shows now.
func (g *signs) showing() bool {
	for _, o := range g.open {
		if !o.ignored && !o.excused {
			return true
		}
	}
	return false
}
