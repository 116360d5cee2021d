package session

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/planned"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// readEvery is how often machines' power states are read when nothing is being
// switched.
const readEvery = 5 * time.Second

// machines is the state of the nodes' machines: their identity, their power state, and
// which of them lightsout has left off.
type machines struct {
	*loop

	views    map[string]view.MachineView
	bindings map[string]power.Binding
	// bound is the same as bindings, for the goroutine that reads the machines.
	bound     atomic.Pointer[[]power.Binding]
	resolved  string // the nodes that bindings were resolved for
	resolving bool
	// resolvedIn has no nodes but those.
	resolvedIn *cluster.Snapshot
	// again is when to look up once more what could not be; zero when all could.
	again   time.Time
	leftOff map[string]power.LeftOff
	// taken has the machines of leftOff that others had switched off since at the last look: see whyLeft.
	taken map[string]power.Ownership
	// outages are those of nodes that were switched, or whose machines were seen off.
	outages map[string]*outage.Outage
	// crossed has, of nodes whose machines are another node's, when that machine was proven off.
	crossed map[string]time.Time
	spans   *outage.Spans
	plans   planned.Offs
	opened  time.Time // of the session
}

func newMachines(l *loop) *machines {
	return &machines{
		loop: l, views: map[string]view.MachineView{}, bindings: map[string]power.Binding{}, leftOff: map[string]power.LeftOff{},
		outages: map[string]*outage.Outage{}, crossed: map[string]time.Time{}, spans: outage.NewSpans(), plans: planned.Offs{}, opened: l.now(),
	}
}

// watch begins to read the machines' states. It is for when they are known.
func (m *machines) watch() {
	m.work.Go(func() {
		m.opt.Fleet.Watch(m.ctx, func() []power.Binding { return *m.bound.Load() }, readEvery, func(node string, r power.Reading) {
			m.post(func() { m.watched(power.NamedReading{Node: node, Reading: r}) })
		})
	})
}

// watched handles a reading of a machine.
func (m *machines) watched(r power.NamedReading) {
	m.read(r.Node, r.Reading)
	m.settleReading(r.Node, r.Reading)
	m.findCrossed(r.Node, r.Reading)
}

// NodeRef is what power needs to know of a node of a snapshot.
func NodeRef(s *cluster.Snapshot, n *cluster.Node) power.NodeRef {
	return power.NodeRef{Name: n.Name, Addresses: n.Addresses, ProviderID: n.ProviderID, BootID: s.Boot(n).ID, SystemUUID: n.SystemUUID, Annotations: n.Annotations}
}

// resolveAgain is between two tries to find what could not be found.
const resolveAgain = 30 * time.Second

// resolve finds the machines of the nodes, again whenever something has changed
// by which they are found, and from time to time while one is not found.
func (m *machines) resolve(s *cluster.Snapshot) {
	if m.opt.Fleet == nil || m.resolving || !s.Access[cluster.KindNode].Synced {
		return
	}
	again := !m.again.IsZero() && !m.now().Before(m.again)
	if !again && m.resolvedIn != nil && s.SameNodes(m.resolvedIn) {
		return
	}
	refs, sign := nodeRefs(s)
	deleted := m.deleted(s)
	for _, b := range deleted {
		sign += "deleted " + b.Node.Name + ";"
	}
	if sign == m.resolved && !again {
		m.resolvedIn = s
		return
	}
	m.resolving = true
	async(m.loop, apiTimeout, func(ctx context.Context) []power.Binding { return append(m.opt.Fleet.Resolve(ctx, refs), deleted...) }, func(bindings []power.Binding) {
		m.resolving, m.resolved, m.again = false, sign, time.Time{}
		m.bindings = make(map[string]power.Binding, len(bindings))
		for _, b := range bindings {
			m.bindings[b.Node.Name] = b
			if b.Off == nil || b.On == nil {
				m.again = m.now().Add(resolveAgain)
			}
		}
		if m.bound.Swap(&bindings) == nil && m.ctx.Err() == nil {
			m.watch()
		}
	})
}

// deleted returns the bindings, from the journal, of machines that lightsout left off and
// whose nodes the cluster has deleted since.
func (m *machines) deleted(s *cluster.Snapshot) (out []power.Binding) {
	for _, name := range m.off() {
		if n := s.Node(name); n == nil || !n.Gone.IsZero() {
			out = append(out, m.leftOff[name].Binding)
		}
	}
	return out
}

func nodeRefs(s *cluster.Snapshot) (refs []power.NodeRef, sign string) {
	var b strings.Builder
	for _, n := range s.Nodes() {
		if n.Gone.IsZero() {
			refs = append(refs, NodeRef(s, n))
			fmt.Fprintf(&b, "%s=%s %s %s;", n.Name, strings.Join(n.Addresses, ","), n.ProviderID, n.Annotations[power.AnnotationMachine])
		}
	}
	return refs, b.String()
}

// read stores a reading of a machine's state and reports a change.
func (m *machines) read(node string, r power.Reading) {
	old := m.views[node].Reading
	if r.RequestedAt.Before(old.RequestedAt) {
		return // a late answer describes an earlier state
	}
	m.update(node, func(v *view.MachineView) { v.Reading = r })
	off := r.Proves(power.Off) || r.State == power.Off && m.outages[node] != nil // proven, or presumed after a request
	if off || r.State == power.On {
		var began time.Time // as the journal knows
		if off {
			began = m.leftOff[node].Before.Off
		}
		m.spans.See(outage.Sight{Node: node, Kind: outage.SpanOff, Down: off, At: cmp.Or(began, r.Arrived), After: began})
	}
	switch at := r.RequestedAt; {
	case r.Proves(power.Off):
		m.learn(node, outage.Fact{Kind: outage.MachineOff, At: at, Node: m.boot(node)})
	case r.Proves(power.On) && m.outages[node] != nil:
		m.learn(node, outage.Fact{Kind: outage.MachineOn, At: at})
	}
	m.guest.Handle(Reading{node, r})
	if (old.State == r.State && old.Proof == r.Proof) || (old.RequestedAt.IsZero() && r.State == power.On) {
		return
	}
	levels := map[power.State]view.Level{power.On: view.Good, power.Off: view.Bad} // else Info
	m.say(view.Event{
		At: r.Arrived, Code: view.CodeMachineState, Lane: view.LanePower, Subject: node, Level: levels[r.State],
		From: old.State.String(), To: r.State.String(), Facts: view.Facts{Proof: r.Proof, Reported: r.Detail},
	})
}

// proven returns the nodes whose machines are proven to be in a state.
func (m *machines) proven(state power.State) map[string]bool {
	out := map[string]bool{}
	for node, v := range m.views {
		if v.Reading.Proves(state) {
			out[node] = true
		}
	}
	return out
}

// shown returns the views of all machines.
func (m *machines) shown() map[string]view.MachineView {
	out := maps.Clone(m.views)
	for _, node := range slices.AppendSeq(m.off(), maps.Keys(m.bindings)) {
		out[node] = m.view(node)
	}
	return out
}

// view is what is known of a node's machine.
func (m *machines) view(node string) view.MachineView {
	v := m.views[node]
	if b, found := m.bindings[node]; found {
		v.Machine, v.Names = view.MachineText(b), view.NamesOf(b)
		if b.Off != nil && m.opt.SSH != nil {
			v.SSH = m.opt.SSH(*b.Off)
		}
	}
	if _, left := m.leftOff[node]; left {
		v.LeftOff = true
		_, v.HeartbeatOpen = m.stillHeard(node)
	}
	return v
}

// mayBeOff reports whether a machine may be off: it is being switched off, its state, its
// node or the journal contradicts "on", or all of them are unknown.
func (m *machines) mayBeOff(node string) bool {
	r, busy := m.views[node].Reading, m.views[node].Busy
	_, left := m.leftOff[node]
	return left || busy != "" && busy != power.ActionOn || !r.Proves(power.On) || m.away(node)
}

// away reports whether a node is not known to be Ready and heard.
func (m *machines) away(node string) bool {
	if m.snapshot == nil || m.snapshot.Link.State != cluster.LinkLive {
		return true
	}
	n := m.snapshot.Node(node)
	return n == nil || n.Ready != cluster.TriTrue || silent(m.snapshot, node, m.now())
}

// mayBeOn reports whether a machine may be on: it is being powered on, is not proven off, or
// its node is Ready or gone.
func (m *machines) mayBeOn(node string) bool {
	r := m.views[node].Reading
	if m.views[node].Busy == power.ActionOn || !r.Proves(power.Off) || m.snapshot == nil || m.snapshot.Link.State != cluster.LinkLive {
		return true
	}
	n := m.snapshot.Node(node)
	return n == nil || n.Ready == cluster.TriTrue
}

// alreadyOn are the lines of a question about powering on nodes: of which ones the machines are on, although they are
// down.
func (m *machines) alreadyOn(nodes []string) []view.Line {
	on := m.proven(power.On)
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return !on[n] || m.standing(n) != power.StandsOn })
	return text.Each(nodes, func(n string) view.Line {
		return view.Line{Level: view.Warning, Text: fmt.Sprintf("%s's machine is on already (%s): a power-on changes nothing. Look at its console, or :shell; S and then o switch it off and on", n, m.views[n].Reading.Detail)}
	})
}

// update changes the view of a node's machine.
func (m *machines) update(node string, change func(v *view.MachineView)) {
	v := m.views[node]
	change(&v)
	m.views[node] = v
}

// show shows a stage of an action on the machines of nodes; of a drain that no action follows, a is empty.
func (m *machines) show(a power.Action, stage power.Stage, text string, nodes ...string) {
	for _, n := range nodes {
		m.update(n, func(v *view.MachineView) { v.Busy, v.Stage, v.Text = a, stage, text })
	}
}

// learn applies a fact to the outage of a node.
func (m *machines) learn(node string, f outage.Fact) {
	o := m.outages[node]
	if o == nil {
		o = &outage.Outage{}
		m.outages[node] = o
	}
	o.Apply(f)
}

// boot returns what the newest snapshot shows of a node's boot.
func (m *machines) boot(node string) outage.Now {
	if m.snapshot == nil {
		return outage.Now{}
	}
	return m.snapshot.Boot(m.snapshot.Node(node))
}

// observe follows the outages of the nodes in s, and returns the nodes that are Ready again. was is the
// snapshot before.
func (m *machines) observe(was, s *cluster.Snapshot) (ready []string) {
	if s.Link.State != cluster.LinkLive {
		return nil
	}
	now := m.now()
	if was == nil || was.Link.State != cluster.LinkLive || !s.SameNodes(was) {
		var found []string
		for _, n := range s.Nodes() {
			found = append(found, m.look(s, n, was == nil || was.Node(n.Name) == nil)...)
		}
		if len(found) > 1 {
			m.notice.Text = strings.Join(found, " ")
		}
	}
	for node, o := range m.outages {
		n := s.Node(node)
		if n != nil && o.Apply(outage.Fact{Kind: outage.Seen, At: now, Node: s.Boot(n), Ready: n.Ready == cluster.TriTrue, Silent: silent(s, node, now)}) && o.Step() == outage.StepReady {
			ready = append(ready, node)
		}
	}
	slices.Sort(ready)
	return ready
}

// look follows whether a node of s is silent and not Ready. At the first look, its condition tells since
// when it is not Ready, and look returns what it has said of that.
func (m *machines) look(s *cluster.Snapshot, n *cluster.Node, first bool) (said []string) {
	here := n.Gone.IsZero()
	not := outage.Sight{Node: n.Name, Kind: outage.SpanNotReady, Down: here && n.Ready != cluster.TriTrue, At: m.now()}
	if first && not.Down && !n.ReadySince.IsZero() {
		not.After = n.ReadySince.Add(-s.Ahead())
		not.At = not.After
		if not.At.Before(m.opened) {
			said = []string{n.Name + " was down before this screen opened: " + m.origin(n, not.At)}
			m.warn(view.LaneNode, n.Name, said[0])
		}
	}
	m.spans.See(not)
	m.spans.See(outage.Sight{Node: n.Name, Kind: outage.SpanSilent, Down: here && (n.Overdue || n.Ready == cluster.TriUnknown), At: m.now()})
	return said
}

// origin tells since when a node is down, and who asked for it, each with its source.
func (m *machines) origin(n *cluster.Node, not time.Time) string {
	said := "not Ready since " + not.Local().Format(time.DateTime) + "."
	if _, heard := n.Heartbeat(); !heard.IsZero() {
		said = "silent since " + heard.Local().Format(time.DateTime) + ", " + said
	}
	if _, listed := m.leftOff[n.Name]; listed {
		said += " By the journal it is " + m.word(n.Name) + "."
	}
	for _, note := range m.notes(n.Name) {
		said += " It was asked to go off by " + note.String() + "."
	}
	return said
}

// underWay is how long a heartbeat that a node sent before its machine went off may take to arrive.
const underWay = 3 * time.Second

// longestBeat bounds the wait for a heartbeat; a kubelet sends one every 10 s unless told otherwise.
const longestBeat = 12 * time.Second

// heardWithin bounds the wait for the second reading that proves a machine off whose node is still heard.
const heardWithin = time.Minute

// stillHeard reports whether a node has sent a heartbeat since its machine was proven off, which a machine
// that is off cannot. open is true while its next heartbeat, or another reading, may still come.
func (m *machines) stillHeard(node string) (heard, open bool) {
	o, now := m.outages[node], m.now()
	if o == nil || o.Step() != outage.StepOff || m.snapshot == nil || m.snapshot.Node(node) == nil || silent(m.snapshot, node, now) {
		return false, false
	}
	n, off := m.snapshot.Node(node), o.At[outage.StepOff]
	_, seen := n.Heartbeat()
	wait := underWay + min(n.RenewEvery(), longestBeat)
	if heard = seen.After(off.Add(underWay)); heard {
		wait = heardWithin
	}
	return heard, !seen.IsZero() && now.Sub(off) <= wait
}

// findCrossed names a node whose heartbeats go on between two readings that prove its machine off: the
// machine is another node's.
func (m *machines) findCrossed(node string, r power.Reading) {
	heard, _ := m.stillHeard(node)
	if !heard || !r.Proves(power.Off) || m.snapshot.Link.State != cluster.LinkLive {
		return
	}
	off := m.outages[node].At[outage.StepOff]
	if _, seen := m.snapshot.Node(node).Heartbeat(); seen.After(r.RequestedAt) || m.crossed[node].Equal(off) {
		return // it may have gone off since; or that was said
	}
	m.crossed[node] = off
	why := fmt.Sprintf("%s runs on: it sends heartbeats although its machine is proven off (%s), so that machine is another node's. Power it on again: %s %s. Then give each node its own machine under power.nodes", node, r.Detail, m.opt.Restore, node)
	m.update(node, func(v *view.MachineView) { v.Stage, v.Text = power.StageFailed, why })
	m.warn(view.LanePower, node, why)
}
