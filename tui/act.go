package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// quitTwice is how soon a second ctrl+c leaves at once.
const quitTwice = 2 * time.Second

// press takes a key: ctrl+c always, then the topmost dialog, then the panes.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	if msg.String() == "ctrl+c" {
		now := m.opts.Now()
		m.opts.Send(view.AskQuit{})
		if !m.quitAt.IsZero() && now.Sub(m.quitAt) < quitTwice {
			return tea.Quit
		}
		m.quitAt = now
		m.say("ctrl+c again leaves at once")
		return nil
	}
	if d := m.top(); d != nil {
		if msg.String() == "ctrl+l" {
			return tea.ClearScreen
		}
		if m.absorbed(d) {
			return nil
		}
		intent, done := d.press(msg)
		if done {
			m.closeDialog(d)
		}
		if intent != nil {
			m.opts.Send(intent)
		}
		return nil
	}
	if msg.String() == "enter" {
		switch {
		case m.stepWaits():
			m.takeStep()
			return nil
		case m.step.echo(m.opts.Now()):
			return nil
		}
	}
	a, refusal := m.keys().action(msg, m.focus)
	if refusal != "" {
		m.say(refusal)
		return nil
	}
	if m.movement(a) || m.focusing(a) || m.replayed(a) {
		return nil
	}
	return m.act(a)
}

// keys is the keymap in force.
func (m *Model) keys() *keymap {
	if m.s.f.Replay != nil {
		return m.replay
	}
	return m.live
}

func (m *Model) closeDialog(d dialog) {
	if q, ok := d.(*questionDialog); ok {
		m.answered[q.q.ID] = true
	}
	m.dialogs = slices.DeleteFunc(m.dialogs, func(o dialog) bool { return o == d })
	m.step.uncovered()
}

// movement moves the cursor of the focused pane. Moving in Nodes or
// Deployments makes the Pods pane follow.
func (m *Model) movement(a action) bool {
	switch m.focus {
	case paneNodes:
		if m.nodes.list.move(a) {
			m.s.scope = scopeNode
			m.settlePods()
			return true
		}
	case paneDeployments:
		if m.deployments.list.move(a) {
			m.s.scope = scopeDeployment
			m.settlePods()
			return true
		}
	case panePods:
		return m.pods.list.move(a)
	case paneTimeline:
		return m.timeline.move(a)
	case paneTrial:
		return m.trial.move(a)
	}
	return a >= actUp && a <= actBottom
}

func (m *Model) focusing(a action) bool {
	panes := paneCount
	if m.s.f.Trial == nil {
		panes = paneTrial // the last one is not there
	}
	switch {
	case a == actNext:
		m.focus = (m.focus + 1) % panes
	case a == actPrevious:
		m.focus = (m.focus + panes - 1) % panes
	case a == actTrialPane && m.s.f.Trial == nil:
		m.say("there is no trial: t starts one")
		return true
	case a >= actNodes && a <= actTrialPane:
		m.focus = paneID(a - actNodes)
	default:
		return false
	}
	if m.focus <= panePods {
		m.list = m.focus
	}
	return true
}

// act carries out what is neither movement nor focus.
func (m *Model) act(a action) tea.Cmd {
	switch a {
	case actMark:
		m.mark()
	case actMarkAll:
		m.markAll()
	case actClear:
		m.clear()
	case actAllPods:
		if m.s.scope == scopeAll {
			m.s.scope = scopeAuto
		} else {
			m.s.scope = scopeAll
			clear(m.s.marks)
		}
		m.settle()
	case actDetails:
		m.openDetails()
	case actFilter:
		m.openFilter()
	case actZoom:
		m.zoom = !m.zoom
	case actSpan:
		m.s.span = (m.s.span + 1) % len(chartSpans)
	case actAim:
		m.aim()
	case actShutdown:
		m.askPower(power.ActionShutdown)
	case actPull:
		m.askPower(power.ActionOff)
	case actOn:
		m.askPower(power.ActionOn)
	case actBurst, actHold, actRate, actMore, actLess, actStop:
		m.load(a)
	case actRollout:
		m.askRollout()
	case actTrial:
		m.opts.Send(view.AskTrial{})
	case actWhole:
		m.wholeTrial()
	case actNumber:
		m.openNumber()
	case actNote:
		m.openNote()
	case actHelp:
		m.dialogs = append(m.dialogs, &factsDialog{heading: "Help", facts: helpFacts(m.keys(), m.focus, m.s.f.ReadOnly)})
	case actRedraw:
		return tea.ClearScreen
	case actQuit:
		m.opts.Send(view.AskQuit{})
	}
	return nil
}

func (m *Model) mark() {
	name, ok := m.nodes.list.selected()
	if !ok {
		return
	}
	if m.s.marks[name] {
		delete(m.s.marks, name)
	} else {
		m.s.marks[name] = true
	}
	m.nodes.list.move(actDown)
	m.settlePods()
}

// markAll marks all workers shown, or takes all marks away when there are any.
func (m *Model) markAll() {
	if len(m.s.marks) > 0 {
		clear(m.s.marks)
	} else {
		for _, n := range m.nodes.rows {
			if !n.ControlPlane && n.Gone.IsZero() {
				m.s.marks[n.Name] = true
			}
		}
	}
	m.settlePods()
}

// clear takes away, one a press: the filter of the pane, the marks, the scope
// and the zoom.
func (m *Model) clear() {
	filter := m.filterOf(m.focus)
	switch {
	case filter != nil && *filter != "":
		*filter = ""
		m.timeline.settle(&m.s)
	case m.zoom:
		m.zoom = false
	case len(m.s.marks) > 0:
		clear(m.s.marks)
	default:
		m.s.scope = scopeAuto
		m.timeline.at = 0
		m.flash = ""
	}
	m.settle()
}

func (m *Model) filterOf(p paneID) *string {
	switch p {
	case paneNodes:
		return &m.nodes.list.filter
	case paneDeployments:
		return &m.deployments.list.filter
	case panePods:
		return &m.pods.list.filter
	case paneTimeline:
		return &m.timeline.filter
	}
	return nil
}

// aim sends the load to the selected deployment.
func (m *Model) aim() {
	if dep, ok := m.selectedDeployment(); ok {
		m.opts.Send(view.SetFocus{Deployment: dep})
	}
}

// selectedDeployment is the one under the cursor, or that of the pod under it.
// It says so where there is none.
func (m *Model) selectedDeployment() (cluster.Key, bool) {
	if m.focus != panePods {
		return m.deployments.list.selected()
	}
	k, ok := m.pods.list.selected()
	p := m.s.snap.Pod(k)
	if !ok || p == nil || p.Deployment == "" {
		m.say("this pod belongs to no deployment")
		return cluster.Key{}, false
	}
	return cluster.Key{Namespace: p.Namespace, Name: p.Deployment}, true
}

// askPower asks about the marked nodes, or the one under the cursor.
func (m *Model) askPower(a power.Action) {
	if m.s.f.ReadOnly {
		m.say("read-only: machines can't be switched from here")
		return
	}
	var nodes []string
	for name := range m.s.marks {
		nodes = append(nodes, name)
	}
	slices.Sort(nodes)
	if len(nodes) == 0 && m.focus == paneNodes {
		if name, ok := m.nodes.list.selected(); ok {
			nodes = []string{name}
		}
	}
	if len(nodes) == 0 {
		m.say("choose nodes first: 1 goes to the nodes, space marks")
		return
	}
	m.opts.Send(view.AskPower{Action: a, Nodes: nodes})
}
