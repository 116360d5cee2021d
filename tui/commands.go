package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// send makes a command of an intent.
func send(i view.Intent) func(*Model) { return func(m *Model) { m.opts.Send(i) } }

// move moves the cursor of the active pane.
func move(by motion) func(*Model) { return func(m *Model) { m.active.pane.key(&m.s, by) } }

// activateNext makes the next pane that there is the active one, or the one before.
func activateNext(by int) func(*Model) {
	return func(m *Model) {
		i, n := slices.Index(m.panes, m.active), len(m.panes)
		for next := true; next; next = !m.panes[i].isThere(m.s.f) || m.panes[i].place == placeWhole {
			i = (i + n + by) % n
		}
		m.activate(m.panes[i])
	}
}

// showPane makes a pane the active one, if there is anything for it to show. A
// pane that is for the whole screen gives it back at the second press.
func showPane(name string) func(*Model) {
	return func(m *Model) {
		switch p := m.find(name); {
		case !canShow(m, p):
		case p.place == placeWhole:
			toggleWhole(m, p)
		default:
			m.activate(p)
		}
	}
}

// canShow reports whether a pane has anything to show, and otherwise the reason.
func canShow(m *Model, p *openPane) bool {
	if !p.isThere(m.s.f) {
		m.say(p.missing(m.s.f))
		return false
	}
	return true
}

// activate makes a pane the active one. The timeline follows the newest events again once the
// operator has left it: an event that nobody has seen must not stay below its end.
func (m *Model) activate(p *openPane) {
	if m.active != p && m.active.name == "Timeline" {
		m.active.pane.key(&m.s, moveBottom)
	}
	m.active = p
	if p.listed() {
		m.list = p
	}
}

// toggleWhole gives a pane the whole screen, or takes it back.
func toggleWhole(m *Model, p *openPane) {
	if m.active == p && (m.zoom || p.place == placeWhole) {
		m.active, m.zoom = cmp.Or(m.before, m.list), false
		return
	}
	if m.active != p {
		m.before = m.active
		if w, ok := p.pane.(*workloadsPane); ok {
			w.only = "" // a kind is for as long as the pane is there
		}
	}
	m.active, m.zoom = p, p.place != placeWhole
}

// wholeTrial gives the trial the whole screen, or takes it back.
func wholeTrial(m *Model) {
	if p := m.find("Trial"); canShow(m, p) {
		toggleWhole(m, p)
	}
}

// clearOne removes one thing with each press: the filter of the pane, the zoom, in a list
// the marks, and the choice of the list below.
func clearOne(m *Model) {
	s := &m.s
	f := m.active.filter()
	p, ok := m.active.pane.(*objectsPane)
	switch {
	case f != nil && f.text != "":
		f.text = ""
	case ok && p.before != "":
		listKind(p.before, "")(m)
	case m.active.place == placeWhole:
		toggleWhole(m, m.active)
	case m.zoom:
		m.zoom = false
	case len(s.marks) > 0 && m.active.listed(): // they are not the timeline's
		clear(s.marks)
		s.showPods(scopeAuto)
	default:
		s.showPods(scopeAuto)
	}
}

// sortBy changes the order of the rows of the active pane: the column, or its
// direction.
func sortBy(reverse bool) func(*Model) {
	return func(m *Model) {
		if p, ok := m.active.pane.(interface{ sortBy(reverse bool) string }); ok {
			m.say(p.sortBy(reverse))
		}
	}
}

// aim has the selected deployment measured.
func aim(m *Model) {
	if dep, ok := selectedDeployment(m); ok {
		m.opts.Send(view.SetFocus{Deployment: dep})
	}
}

// selectedDeployment returns the deployment under the cursor, or in the pane of pods that of
// the pod under it. If there is none, it shows why.
func selectedDeployment(m *Model) (cluster.Key, bool) {
	if pods, ok := m.active.pane.(*podsPane); ok {
		p, ok := pods.selected()
		switch {
		case !ok:
			m.say(pods.empty(&m.s))
		case p.Deployment == "":
			m.say("this pod belongs to no deployment")
		default:
			return cluster.Key{Namespace: p.Namespace, Name: p.Deployment}, true
		}
		return cluster.Key{}, false
	}
	if m.s.deployment.Name == "" {
		p := m.find("Deployments")
		m.say(p.pane.(*deploymentsPane).empty(&m.s) + fmt.Sprintf(": %d and then esc clear a filter, 0 shows all namespaces", p.number))
	}
	return m.s.deployment, m.s.deployment.Name != ""
}

// askPower asks about the marked nodes, or the one under the cursor.
func askPower(a power.Action) func(*Model) {
	return withNodes(func(nodes []string) view.Intent { return view.AskPower{Action: a, Nodes: nodes} })
}

// onNodes has something done to the marked nodes, or the one under the cursor; or to those that are named.
func onNodes(a view.NodeAct, desc string) binding {
	ask := func(nodes []string) view.Intent { return view.AskNodes{Act: a, Nodes: nodes} }
	b := bind(withNodes(ask), "", ":"+string(a), desc).named(string(a))
	b.takes = nodesFor(func(m *Model, nodes []string) { m.opts.Send(ask(nodes)) })
	return b
}

// withNodes sends an intent for the marked nodes, or the one under the cursor.
func withNodes(intent func(nodes []string) view.Intent) func(*Model) {
	return func(m *Model) {
		if nodes := chosenNodes(m); len(nodes) > 0 {
			m.opts.Send(intent(nodes))
		}
	}
}

// chosenNodes returns the marked nodes, or the one under the cursor. If there is none, it shows
// how to choose one.
func chosenNodes(m *Model) []string {
	nodes := slices.Sorted(maps.Keys(m.s.marks))
	n := nodeUnderCursor(m)
	o, _ := m.active.row(&m.s)
	p := m.s.snap.Pod(o.ref.Key)
	switch {
	case len(nodes) > 0:
	case n != nil:
		nodes = []string{n.Name}
	case m.active.name == "Nodes":
		m.say("no node matches the filter: esc clears it")
	case o.ref.Kind == cluster.KindPod && p != nil && p.Node != "":
		m.say(fmt.Sprintf("this is for nodes, and no node is marked: the pod is on %s, and :%s goes there", p.Node, p.Node))
	default:
		m.say("this is for nodes, and no node is marked: 1 goes to the nodes, space marks")
	}
	return nodes
}

// nodeUnderCursor returns the node under the cursor of the active pane; nil if there
// is none.
func nodeUnderCursor(m *Model) (n *cluster.Node) {
	if p, ok := m.active.pane.(interface{ selected() (*cluster.Node, bool) }); ok {
		n, _ = p.selected()
	}
	return n
}

// markNode marks or unmarks the node under the cursor.
func markNode(m *Model) {
	switch n := nodeUnderCursor(m); {
	case n == nil:
	case !n.Gone.IsZero():
		m.say("this node is gone")
	default:
		if m.s.marks[n.Name] {
			delete(m.s.marks, n.Name)
		} else {
			m.s.marks[n.Name] = true
		}
		m.s.showPods(scopeAuto)
	}
}

// askRollout asks for a restart of the deployment under the cursor, or else
// of the one that the gauge measures.
func askRollout(m *Model) {
	dep, ok := m.s.f.Focus, true
	if m.active.place == placeRight || dep.Name == "" {
		dep, ok = selectedDeployment(m)
	}
	if ok {
		m.opts.Send(view.AskRollout{Deployment: dep})
	}
}

// copyName hands the name under the cursor to the terminal's clipboard.
func copyName(m *Model) {
	o, ok := m.active.row(&m.s)
	if !ok {
		m.say("there is nothing to copy here")
		return
	}
	copyText(m, o.name)
}

// copyText hands a line to the terminal's clipboard.
func copyText(m *Model, text string) { m.toClipboard(clean(text), text) }

// toClipboard hands a text to the terminal's clipboard, and shows what it is for long enough to type it off. Whether it
// arrives, only the terminal knows.
func (m *Model) toClipboard(text, what string) {
	m.cmd = tea.SetClipboard(text)
	m.notices.add(notice{text: "sent to the terminal's clipboard: " + what + m.opts.Clipboard, copied: text, at: m.opts.Now(), stands: time.Minute, st: m.s.t.strong})
	m.opts.Clipboard = ""
}

func redraw(m *Model) { m.cmd = tea.ClearScreen }

// suspend stops the program until it is called to the foreground again. What it
// is doing would stop as well, so it is refused while that matters.
func suspend(m *Model) {
	f := m.s.f
	busy := ""
	switch {
	case f.Replay != nil:
	case f.Trial != nil && f.Trial.Verdict == "":
		busy = "the trial"
	case f.Load.Active || f.Load.Totals.InFlight() > 0:
		busy = "the load"
	}
	for _, p := range f.Power {
		if p.Busy != "" && p.Stage.Active() {
			busy = "the switching of machines"
		}
	}
	if busy != "" {
		m.say("not suspended: " + busy + " would stop as well")
		return
	}
	m.cmd = tea.Suspend
}
