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
	case key == "ctrl+z": // also with a dialog open: the operator types for the shell
		suspend(m)
	case m.dialogs.top() != nil:
		m.pressDialog(keyPressed(msg))
	case key == "enter" && stepWaits(m):
		if m.step.take(m.opts.Now()) {
			m.opts.Send(view.NextStep{Step: m.s.f.Trial.Next})
		}
	default:
		switch b, refusal := findKey(m, msg); {
		case refusal != "":
			m.say(refusal)
		case b != nil && b.run != nil:
			b.run(m)
		case b == nil && otherKeys[key] != "":
			m.say(otherKeys[key])
		}
	}
}

// otherKeys are keys of k9s that do nothing here, and what does it instead.
var otherKeys = map[string]string{"e": noEdit, "ctrl+d": noEdit, "ctrl+k": noEdit, "u": "uncordon: :uncordon; cordon: :cordon; the owner: d, then u"}

const noEdit = "lightsout edits and deletes nothing; :delete shows the command line for it"

// pressDialog passes a key, or pasted text, to the topmost dialog, except for the keys
// that work in every dialog: redraw, copy, save a picture, and leave for a command.
func (m *Model) pressDialog(p pressed) {
	if d := m.dialogs.top(); readsOnly(d) {
		switch text := d.(readable).toCopy(); {
		case (p.name == "y" || p.name == "Y") && text != "":
			copyText(m, text)
			return
		case p.name == "P":
			m.opts.Send(view.SaveScreen{})
			return
		case p.name == ":" && m.dialogs.asked == nil:
			m.dialogs.stack = nil
			openPalette(m)
			return
		}
	}
	if p.name == "ctrl+l" {
		redraw(m)
		return
	}
	d := m.dialogs.top()
	intent, done := d.press(p)
	if done {
		m.dialogs.close(d)
		m.step.uncovered()
	}
	if intent != nil {
		m.opts.Send(intent)
	}
}

// readable is a dialog with text to read. reading reports that the operator is not
// typing in it; toCopy returns the text that Y (or y) copies, if any.
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
func stepWaits(m *Model) bool { return m.step.waits && m.s.f.Replay == nil }

// stepGuard sees to it that one press takes one step: keys typed before a
// waiting step was on the screen, or behind a dialog that has just closed,
// were meant for something else, and a second press while the first is on its
// way was meant for the same step.
type stepGuard struct {
	step  [3]any // distinguishes one waiting step from another
	waits bool
	grace grace // begins anew when it was asked for
}

// follow takes note of the step that waits now.
func (g *stepGuard) follow(t *view.TrialView) {
	if t == nil || !t.Driven || !t.Waiting || t.Verdict != "" {
		g.waits = false
		return
	}
	step := [3]any{t.Name, t.Started.UnixNano(), t.Next}
	if !g.waits || step != g.step {
		*g = stepGuard{step: step, waits: true}
	}
}

// uncovered notes that a dialog has closed over it, or that the screen is too small
// to show it.
func (g *stepGuard) uncovered() { g.grace = grace{} }

// take reports whether a press of enter now takes the step.
func (g *stepGuard) take(now time.Time) bool {
	if g.grace.absorbs(now) {
		return false
	}
	g.grace = grace{drawn: now}
	return true
}
