package tui

import (
	"slices"

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

// point takes what the mouse does to a pane: a click gives it the focus and chooses
// the row, the wheel moves its cursor. A dialog lies over all of them.
func point(m *Model, at tea.Mouse) {
	panes := m.shown.all()
	i := slices.IndexFunc(panes, func(p placed) bool {
		return at.X >= p.x && at.X < p.x+p.w+2 && at.Y >= p.y && at.Y <= p.y+p.h
	})
	if i < 0 || m.dialogs.top() != nil {
		return
	}
	switch p := panes[i]; at.Button {
	case tea.MouseWheelUp:
		p.key(&m.s, moveUp)
	case tea.MouseWheelDown:
		p.key(&m.s, moveDown)
	case tea.MouseLeft:
		m.focusPane(p.slot)
		if at.Y > p.y {
			p.click(&m.s, at.Y-p.y-1)
		}
	}
}
