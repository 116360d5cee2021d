package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"lightsout/internal/view"
)

// quitTwice is how soon a second ctrl+c leaves at once.
const quitTwice = 2 * time.Second

// press takes a key: ctrl+c always, then the topmost dialog, then the panes.
func (m *Model) press(msg tea.KeyPressMsg) {
	key := msg.String()
	switch {
	case key == "ctrl+c":
		m.leave()
	case key == "ctrl+z": // also with a dialog open: what is typed then is for the shell
		suspend(m)
	case m.dialogs.top() != nil:
		m.pressDialog(keyPressed(msg))
	case key == "enter" && m.stepWaits():
		if m.step.take(m.opts.Now()) {
			m.opts.Send(view.NextStep{Step: m.s.f.Trial.Next})
		}
	case key == "enter" && m.step.echo(m.opts.Now()):
	default:
		switch b, refusal := findKey(m, msg); {
		case refusal != "":
			m.say(refusal)
		case b != nil && b.run != nil:
			b.run(m)
		}
	}
}

// pressDialog hands a key, or what was pasted, to the topmost dialog, but for the
// keys that hold in all that have a use for them: redraw, copy, and keep a picture.
func (m *Model) pressDialog(p pressed) {
	if d, ok := m.dialogs.top().(readable); ok && d.reading() {
		switch text := d.toCopy(); {
		case p.name == "y" && text != "":
			copyText(m, text)
			return
		case p.name == "P":
			m.opts.Send(view.SaveScreen{})
			return
		}
	}
	if p.name == "ctrl+l" {
		redraw(m)
		return
	}
	intent, closed := m.dialogs.press(p)
	if closed {
		m.step.uncovered()
	}
	if intent != nil {
		m.opts.Send(intent)
	}
}

// readable is a dialog that is read: reading reports that no text is being typed
// in it, toCopy gives what y copies, if anything.
type readable interface {
	reading() bool
	toCopy() string
}

// leave asks to quit; the second time within a moment it quits at once.
func (m *Model) leave() {
	now := m.opts.Now()
	m.opts.Send(view.AskQuit{})
	if !m.quitAt.IsZero() && now.Sub(m.quitAt) < quitTwice {
		m.cmd = tea.Quit
		return
	}
	m.quitAt = now
	m.say("ctrl+c again leaves at once")
}

// stepWaits reports whether enter is the key of a waiting step.
func (m *Model) stepWaits() bool { return m.step.waits && m.s.f.Replay == nil }
