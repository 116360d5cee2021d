package tui

import (
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// toggleMouse lets the program have the mouse, or leaves it to the terminal,
// which then selects and copies.
func toggleMouse(m *Model) {
	m.mouse = !m.mouse
	if m.mouse {
		m.say("the mouse chooses panes and rows; O leaves it to the terminal again")
	} else {
		m.say("the mouse is the terminal's")
	}
}

// mouseMode is what the terminal is asked for.
func (m *Model) mouseMode() tea.MouseMode {
	if m.mouse {
		return tea.MouseModeCellMotion
	}
	return tea.MouseModeNone
}

// retaken draws all of the screen on a terminal that somebody else has had.
func (m *Model) retaken() {
	m.cmd = tea.ClearScreen
	if m.mouse {
		m.cmd = tea.Sequence(tea.Raw(ansi.SetModeMouseButtonEvent+ansi.SetModeMouseExtSgr), tea.ClearScreen)
	}
}

// pointed gives the pane at a cell of the screen; nil where there is none, or
// while a dialog lies over them.
func pointed(m *Model, at tea.Mouse) *placed {
	if m.dialogs.top() != nil {
		return nil
	}
	for _, p := range m.shown.all() {
		if at.X >= p.x && at.X < p.x+p.w+2 && at.Y >= p.y && at.Y <= p.y+p.h {
			return &p
		}
	}
	return nil
}

// click gives a pane the focus and chooses the row under the mouse.
func click(m *Model, at tea.Mouse) {
	p := pointed(m, at)
	if p == nil || at.Button != tea.MouseLeft {
		return
	}
	m.focusPane(p.slot)
	if at.Y > p.y {
		p.click(&m.s, at.Y-p.y-1)
	}
}

// wheel moves the cursor of the pane under the mouse.
func wheel(m *Model, at tea.Mouse) {
	p := pointed(m, at)
	switch {
	case p == nil:
	case at.Button == tea.MouseWheelUp:
		p.key(&m.s, moveUp)
	case at.Button == tea.MouseWheelDown:
		p.key(&m.s, moveDown)
	}
}
