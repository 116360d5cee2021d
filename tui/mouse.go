package tui

import (
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// region is where a pane was drawn, its title line included.
type region struct {
	*slot
	x, y, w, h int
}

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
func pointed(m *Model, x, y int) *region {
	if m.dialogs.top() != nil {
		return nil
	}
	for i, r := range m.regions {
		if x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h {
			return &m.regions[i]
		}
	}
	return nil
}

// click gives a pane the focus and chooses the row under the mouse.
func click(m *Model, at tea.Mouse) {
	r := pointed(m, at.X, at.Y)
	if r == nil || at.Button != tea.MouseLeft {
		return
	}
	m.focusPane(r.slot)
	if at.Y > r.y {
		r.pane.click(&m.s, at.Y-r.y-1)
	}
}

// wheel moves the cursor of the pane under the mouse.
func wheel(m *Model, at tea.Mouse) {
	r := pointed(m, at.X, at.Y)
	switch {
	case r == nil:
	case at.Button == tea.MouseWheelUp:
		r.pane.key(&m.s, moveUp)
	case at.Button == tea.MouseWheelDown:
		r.pane.key(&m.s, moveDown)
	}
}
