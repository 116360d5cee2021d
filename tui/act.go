package tui

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"lightsout/cluster"
	"lightsout/loadgen"
	"lightsout/power"
	"lightsout/trial"
)

// quitTwice is how soon a second ctrl+c leaves at once; cancelTwice how long a
// second "stop" cancels what is in flight.
const (
	quitTwice   = 2 * time.Second
	cancelTwice = 5 * time.Second
)

// press takes a key: ctrl+c always, then the topmost dialog, then the panes.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	if msg.String() == "ctrl+c" {
		now := m.opts.Now()
		m.opts.Send(trial.AskQuit{})
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
	a := m.keys.action(msg, m.focus)
	if m.movement(a) || m.focusing(a) {
		return nil
	}
	return m.act(a)
}

func (m *Model) closeDialog(d dialog) {
	if q, ok := d.(*questionDialog); ok {
		m.answered[q.q.ID] = true
	}
	m.dialogs = slices.DeleteFunc(m.dialogs, func(o dialog) bool { return o == d })
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
	}
	return a >= actUp && a <= actBottom
}

func (m *Model) focusing(a action) bool {
	switch {
	case a == actNext:
		m.focus = (m.focus + 1) % paneCount
	case a == actPrevious:
		m.focus = (m.focus + paneCount - 1) % paneCount
	case a >= actNodes && a <= actTimeline:
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
	case actNumber:
		m.openNumber()
	case actNote:
		m.openNote()
	case actHelp:
		m.dialogs = append(m.dialogs, &factsDialog{heading: "Help", facts: helpFacts(m.keys, m.focus, m.s.f.ReadOnly)})
	case actRedraw:
		return tea.ClearScreen
	case actQuit:
		m.opts.Send(trial.AskQuit{})
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
	var dep cluster.Key
	if m.focus == panePods {
		k, ok := m.pods.list.selected()
		p := m.s.snap.Pod(k)
		if !ok || p == nil || p.Deployment == "" {
			m.say("this pod belongs to no deployment")
			return
		}
		dep = cluster.Key{Namespace: p.Namespace, Name: p.Deployment}
	} else {
		var ok bool
		if dep, ok = m.deployments.list.selected(); !ok {
			return
		}
	}
	m.opts.Send(trial.SetFocus{Deployment: dep})
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
	m.opts.Send(trial.AskPower{Action: a, Nodes: nodes})
}

// load carries out the load keys.
func (m *Model) load(a action) {
	run, z := m.s.f.Load, &m.s.sizes
	switch a {
	case actStop:
		m.stop()
		return
	case actBurst:
		z.last = loadgen.Burst
	case actHold:
		z.last = loadgen.Hold
	case actRate:
		z.last = loadgen.Rate
	case actMore, actLess:
		z.step(a == actMore)
		m.say(z.text(z.last))
		if !run.Active || run.Spec.Shape != z.last || z.last == loadgen.Burst {
			return
		}
	}
	if (a == actHold || a == actRate) && run.Active && run.Spec.Shape == z.last {
		m.opts.Send(trial.StopLoad{})
		m.say(string(z.last) + " stopped; what is in flight goes on")
		return
	}
	if m.s.f.LoadReady != "" {
		m.say(m.s.f.LoadReady)
		return
	}
	m.opts.Send(trial.StartLoad{Spec: z.spec()})
	if a == actBurst {
		m.say(fmt.Sprintf("sending %d", z.burst))
	}
}

// stop stops sending, and at the second press cancels what is in flight.
func (m *Model) stop() {
	now := m.opts.Now()
	inFlight := m.s.f.Load.Totals.InFlight()
	switch {
	case now.Before(m.cancelAt):
		m.cancelAt = time.Time{}
		m.opts.Send(trial.StopLoad{Cancel: true})
		m.say("cancelling what is in flight")
	case !m.s.f.Load.Active && inFlight == 0:
		m.say("nothing is being sent")
	default:
		m.cancelAt = now.Add(cancelTwice)
		m.opts.Send(trial.StopLoad{})
		m.say(fmt.Sprintf("sending stopped; c again cancels the %d in flight", inFlight))
	}
}

func (z *sizes) spec() loadgen.Spec {
	switch z.last {
	case loadgen.Hold:
		return loadgen.Spec{Shape: loadgen.Hold, N: z.hold}
	case loadgen.Rate:
		return loadgen.Spec{Shape: loadgen.Rate, PerSecond: z.rate}
	}
	return loadgen.Spec{Shape: loadgen.Burst, N: z.burst}
}

func (z *sizes) text(sh loadgen.Shape) string {
	switch sh {
	case loadgen.Hold:
		return fmt.Sprintf("hold %d", z.hold)
	case loadgen.Rate:
		return fmt.Sprintf("rate %s/s", number(z.rate))
	}
	return fmt.Sprintf("burst %d", z.burst)
}

// step changes the size used last by one.
func (z *sizes) step(more bool) {
	by := -1
	if more {
		by = 1
	}
	switch z.last {
	case loadgen.Hold:
		z.hold = min(max(1, z.hold+by), maxSize)
	case loadgen.Rate:
		if z.rate+float64(by) >= 1 {
			z.rate = min(z.rate+float64(by), maxSize)
		}
	default:
		z.burst = min(max(1, z.burst+by), maxSize)
	}
}
