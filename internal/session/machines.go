package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
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
	// taken has the notes of other journals that had switched machines of leftOff off since
	// at the last look: see takenOver.
	taken map[string]power.NodeNote
	// outages are those of nodes that were switched, or whose machines were seen off.
	outages map[string]*outage.Outage
	spans   view.NodeSpans
}

func newMachines(l *loop) *machines {
	return &machines{loop: l, views: map[string]view.MachineView{}, bindings: map[string]power.Binding{}, leftOff: map[string]power.LeftOff{}, outages: map[string]*outage.Outage{}}
}

// watch begins to read the machines' states. It is for when they are known.
func (m *machines) watch() {
	m.spawn(func() {
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
	v := m.views[node]
	old := v.Reading
	if r.RequestedAt.Before(old.RequestedAt) {
		return // a late answer describes an earlier state
	}
	v.Reading = r
	if r.State == power.Off || r.State == power.On {
		m.spans.Set(node, view.SpanOff, r.State == power.Off, r.Arrived)
	}
	switch at := r.CountsFrom(); {
	case r.Proof != power.Proven:
	case r.State == power.Off:
		m.learn(node, outage.Fact{Kind: outage.MachineOff, At: at, Node: m.boot(node)})
	case r.State == power.On && m.outages[node] != nil:
		m.learn(node, outage.Fact{Kind: outage.MachineOn, At: at})
	}
	m.guest.Handle(Reading{node, r})
	m.views[node] = v
	if (old.State == r.State && old.Proof == r.Proof) || (old.RequestedAt.IsZero() && r.State == power.On) {
		return
	}
	levels := map[power.State]view.Level{power.On: view.Good, power.Off: view.Bad} // else Info
	m.say(view.Event{
		At: r.Arrived, Code: view.CodeMachineState, Lane: view.LanePower, Subject: node, Level: levels[r.State],
		From: old.State.String(), To: r.State.String(), Facts: view.Facts{Proof: r.Proof, Reported: r.Detail},
	})
}

// provenOff returns the nodes whose machines are proven off.
func (m *machines) provenOff() map[string]bool {
	out := map[string]bool{}
	for node, v := range m.views {
		if v.Reading.State == power.Off && v.Reading.Proof == power.Proven {
			out[node] = true
		}
	}
	return out
}

func (m *machines) shown() map[string]view.MachineView {
	out := maps.Clone(m.views)
	for node, b := range m.bindings {
		v := out[node]
		v.Machine, v.Names = view.MachineText(b), view.NamesOf(b)
		out[node] = v
	}
	for node := range m.leftOff {
		v := out[node]
		v.LeftOff = true
		out[node] = v
	}
	return out
}

// mayBeOff reports whether a machine may be off: it is being switched off, its state, its
// node or the journal contradicts "on", or all of them are unknown.
func (m *machines) mayBeOff(node string) bool {
	r, busy := m.views[node].Reading, m.views[node].Busy
	_, left := m.leftOff[node]
	if left || busy != "" && busy != power.ActionOn || r.State != power.On || r.Proof != power.Proven || m.snapshot == nil || m.snapshot.Link.State != cluster.LinkLive {
		return true
	}
	n := m.snapshot.Node(node)
	return n == nil || n.Ready != cluster.TriTrue || silent(m.snapshot, node, m.now())
}

// mayBeOn reports whether a machine may be on: it is being powered on, is not proven off, or
// its node is Ready or gone.
func (m *machines) mayBeOn(node string) bool {
	r := m.views[node].Reading
	if m.views[node].Busy == power.ActionOn || r.State != power.Off || r.Proof != power.Proven || m.snapshot == nil || m.snapshot.Link.State != cluster.LinkLive {
		return true
	}
	n := m.snapshot.Node(node)
	return n == nil || n.Ready == cluster.TriTrue
}

// update changes the view of a node's machine.
func (m *machines) update(node string, change func(v *view.MachineView)) {
	v := m.views[node]
	change(&v)
	m.views[node] = v
}

// busy shows that an action is under way on the machines of nodes.
func (m *machines) busy(a power.Action, text string, nodes ...string) {
	for _, n := range nodes {
		m.update(n, func(v *view.MachineView) { v.Busy, v.Stage, v.Text = a, power.StageWaiting, text })
	}
}

// readLeftOff reads from the journal which machines lightsout has left off.
func (m *machines) readLeftOff() bool {
	left, err := m.opt.Journal.LeftOff()
	if err != nil {
		m.warn(view.LanePower, "journal", err.Error())
		return false
	}
	m.leftOff, m.resolvedIn = make(map[string]power.LeftOff, len(left)), nil
	for _, l := range left {
		m.leftOff[l.Node] = l
		m.learn(l.Node, outage.Fact{Kind: outage.Listed, Before: l.Before})
	}
	for node, o := range m.outages {
		if _, listed := m.leftOff[node]; !listed {
			o.Apply(outage.Fact{Kind: outage.Settled, At: m.now()})
		}
	}
	return true
}

// off names the nodes whose machines are off according to the journal.
func (m *machines) off() []string { return slices.Sorted(maps.Keys(m.leftOff)) }

// down names the nodes whose machines are off or on their way off: by the journal, by their
// drivers, or because lightsout is switching them.
func (m *machines) down() []string {
	out := m.off()
	for node, v := range m.views {
		busy := (v.Busy == power.ActionOff || v.Busy == power.ActionShutdown) && v.Stage != power.StageFailed
		if (busy || v.Reading.State == power.Off) && !slices.Contains(out, node) {
			out = append(out, node)
		}
	}
	slices.Sort(out)
	return out
}

// takenOver reports whether another journal has switched off since what ours lists as off.
func (m *machines) takenOver(node string) bool {
	return m.taken[node].Since(m.leftOff[node])
}

// own names the nodes whose machines are off because of us, and of nobody else since.
func (m *machines) own() []string { return slices.DeleteFunc(m.off(), m.takenOver) }

// isOnYet reports whether a node's machine is on, but may still go off by lightsout's last request.
func (m *machines) isOnYet(node string) bool {
	left, listed := m.leftOff[node]
	return listed && left.Certainty == power.LeftOffUncertain && m.views[node].Reading.State == power.On
}

// word describes what is known of a machine of own.
func (m *machines) word(node string) string {
	switch {
	case goesOff(m.views[node]):
		return "being switched off"
	case m.isOnYet(node):
		return "on, but may still go off by a request from here"
	case m.leftOff[node].Certainty == power.LeftOffUncertain:
		return "still off (requested, outcome unknown)"
	}
	return "still off"
}

// stillOff is a sentence about machines of own.
func (m *machines) stillOff(nodes []string) string {
	var parts []string
	for len(nodes) > 0 {
		word := m.word(nodes[0])
		other := func(n string) bool { return m.word(n) != word }
		alike := slices.DeleteFunc(slices.Clone(nodes), other)
		parts = append(parts, text.List(alike)+text.Noun(len(alike), " is ", " are ")+word)
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return !other(n) })
	}
	return strings.Join(parts, "; ")
}

// takenLines lists the machines that another journal has switched off since, with who
// did; nil if there are none.
func (m *machines) takenLines() []view.Line {
	nodes := slices.DeleteFunc(m.off(), func(node string) bool { return !m.takenOver(node) })
	return listed("Others have switched these off since, and lightsout leaves them off:", nodes, func(node string) string { return ", by " + m.taken[node].Note.String() })
}

// lines lists the machines of own below a title; nil if there are none.
func (m *machines) lines(title string) []view.Line {
	return listed(title, m.own(), func(node string) string { return ": " + m.word(node) })
}

// listed are nodes below a title, each with a note.
func listed(title string, nodes []string, note func(node string) string) (lines []view.Line) {
	for i, n := range nodes {
		if i == 0 {
			lines = append(lines, view.Line{Heading: true, Text: title})
		}
		lines = append(lines, view.Line{Level: view.Warning, Text: "  " + n + note(n)})
	}
	return lines
}

// goesOff reports whether a request to switch a machine off is under way.
func goesOff(v view.MachineView) bool {
	return (v.Busy == power.ActionOff || v.Busy == power.ActionShutdown) && v.Stage.Active()
}

// settleReading tells the journal of a machine that its driver proves on or off: it may be on again, or off
// by a request that was carried out late, unless an annotation names who has switched it off.
func (m *machines) settleReading(node string, r power.Reading) {
	seen, ok := m.opt.Fleet.Evidence(m.bindings[node], r)
	_, left := m.leftOff[node]
	if !ok || !left && (r.State == power.On || m.noted(node)) {
		return
	}
	changed, err := m.opt.Journal.Saw(seen)
	if err != nil {
		m.warn(view.LanePower, node, err.Error())
	}
	if changed {
		m.readLeftOff()
	}
}

// noted reports whether an annotation names who has switched a node's machine off.
func (m *machines) noted(node string) bool {
	if m.snapshot == nil {
		return false
	}
	n := m.snapshot.Node(node)
	return n != nil && len(power.NotesOn(n.Annotations)) > 0
}

// settleBoots marks machines that we switched off as on again when their node is Ready
// after another boot, and says once of each other one that is Ready again that it can't tell. was is
// the snapshot before.
func (m *machines) settleBoots(was, s *cluster.Snapshot) {
	if s.Link.State != cluster.LinkLive {
		return
	}
	settled := false
	for name, l := range m.leftOff {
		n := s.Node(name)
		if n == nil || n.Ready != cluster.TriTrue || l.Before.Seen(s.Boot(n)) == outage.NotBooted {
			continue
		}
		over, err := m.opt.Journal.Saw(BootSeen(s, n))
		if err != nil {
			m.warn(view.LanePower, name, err.Error())
		}
		if cant := l.CantTell(s.Boot(n)); !over && cant != "" && (was == nil || l.CantTell(was.Boot(was.Node(name))) == "") {
			m.warn(view.LanePower, name, cant)
		}
		settled = settled || over
	}
	if settled {
		m.readLeftOff()
	}
}

// learn applies a fact to the outage of a node, and reports whether it has taken another step.
func (m *machines) learn(node string, f outage.Fact) bool {
	o := m.outages[node]
	if o == nil {
		o = &outage.Outage{}
		m.outages[node] = o
	}
	return o.Apply(f)
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
		for _, n := range s.Nodes() {
			if n.Gone.IsZero() {
				m.spans.Set(n.Name, view.SpanNotReady, n.Ready != cluster.TriTrue, now)
			}
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
