package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"lightsout/internal/view"
)

// quitTwice is how soon a second ctrl+c leaves at once.
const quitTwice = 2 * time.Second

// press takes a key: ctrl+c always, then the topmost dialog, then the panes.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	m.uiGen++
	if msg.String() == "ctrl+c" {
		return m.leave()
	}
	if m.dialogs.top() != nil {
		if msg.String() == "ctrl+l" {
			return tea.ClearScreen
		}
		if c, ok := m.dialogs.top().(interface{ toCopy() string }); ok && msg.String() == "y" && c.toCopy() != "" {
			copyText(m, c.toCopy())
			return m.todo()
		}
		if d, ok := m.dialogs.top().(interface{ reading() bool }); ok && msg.String() == "P" && d.reading() {
			m.opts.Send(view.SaveScreen{})
			return nil
		}
		intent, closed := m.dialogs.press(msg)
		if closed {
			m.step.uncovered()
		}
		if intent != nil {
			m.opts.Send(intent)
		}
		return m.todo()
	}
	if msg.String() == "enter" {
		switch {
		case m.stepWaits():
			if m.step.take(m.opts.Now()) {
				m.opts.Send(view.NextStep{Step: m.s.f.Trial.Next})
			}
			return nil
		case m.step.echo(m.opts.Now()):
			return nil
		}
	}
	switch b, refusal := findKey(m, msg); {
	case refusal != "":
		m.say(refusal)
	case b != nil && b.run != nil:
		b.run(m)
	}
	return m.todo()
}

// todo gives what a command has left for the program to do, once.
func (m *Model) todo() tea.Cmd {
	cmd := m.cmd
	m.cmd = nil
	return cmd
}

// leave asks to quit; the second time within a moment it quits at once.
func (m *Model) leave() tea.Cmd {
	now := m.opts.Now()
	m.opts.Send(view.AskQuit{})
	if !m.quitAt.IsZero() && now.Sub(m.quitAt) < quitTwice {
		return tea.Quit
	}
	m.quitAt = now
	m.say("ctrl+c again leaves at once")
	return nil
}

// stepWaits reports whether enter is the key of a waiting step.
func (m *Model) stepWaits() bool { return m.step.waits && m.s.f.Replay == nil }
