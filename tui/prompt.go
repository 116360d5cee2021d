package tui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"lightsout/internal/view"
)

// promptDialog asks for one line. It passes every edit to changed, if set, and the line
// to accept on enter; accept may refuse it with a sentence.
type promptDialog struct {
	heading, label string
	help           func() string
	in             input
	digits         bool // takes numbers only
	changed        func(string)
	accept         func(string) (view.Intent, string)
	cancel         func()
	fault          string
}

func (d *promptDialog) title() string { return d.heading }
func (d *promptDialog) foot() string  { return "enter accept · esc cancel" }

func (d *promptDialog) press(p pressed) (view.Intent, bool) {
	switch p.name {
	case "esc":
		if d.cancel != nil {
			d.cancel()
		}
		return nil, true
	case "enter":
		intent, fault := d.accept(d.in.String())
		d.fault = fault
		return intent, fault == ""
	}
	if d.digits && strings.Trim(p.text, "0123456789.") != "" || !d.in.press(p) {
		return nil, false
	}
	d.fault = ""
	if d.changed != nil {
		d.changed(d.in.String())
	}
	return nil, false
}

func (d *promptDialog) draw(s *scene, w, h int) ([]string, int) {
	wide := min(w, 56)
	st, text := s.t.dim, d.help()
	if d.fault != "" {
		st, text = s.t.bad, d.fault
	}
	below := newRow(wide).put(st, fit(s.t.text(text), wide, s.t.ellipsis))
	return []string{blank(wide), d.in.line(s.t, fit(d.label, wide-12, s.t.ellipsis)+" ", wide), blank(wide), below.String()}, wide
}

// openRemark asks for a line of the operator's own for the timeline.
func openRemark(m *Model) {
	m.dialogs.open(&promptDialog{
		heading: "Mark the timeline", label: "text:", in: newInput(false),
		help: func() string { return "goes into the record with its time" },
		accept: func(text string) (view.Intent, string) {
			if strings.TrimSpace(text) == "" {
				return nil, "type a few words"
			}
			return view.Remark{Text: text}, ""
		},
	})
}

// maxInput is how many characters an input takes.
const maxInput = 1024

// pressed is a key, or pasted text, which has no name.
type pressed struct {
	name, text string // the text that it types
	key        tea.KeyPressMsg
}

func keyPressed(key tea.KeyPressMsg) pressed { return pressed{key.String(), key.Text, key} }

// input is one line of typed text: bubbles' text input does the editing; it is
// drawn here, within given cells and in the theme's characters.
type input struct {
	m      textinput.Model
	secret bool
}

func newInput(secret bool) input {
	in := input{m: textinput.New(), secret: secret}
	in.m.CharLimit = maxInput
	in.m.KeyMap.Paste = key.NewBinding(key.WithDisabled()) // it would ask the system for its clipboard
	in.m.Focus()
	return in
}

func (in *input) String() string { return in.m.Value() }

// press edits the text and reports whether it changed. It drops characters that one
// line cannot show, except in a secret, of which it takes everything up to the first
// line break.
func (in *input) press(p pressed) bool {
	text := clean(p.text)
	if in.secret {
		text, _, _ = strings.Cut(strings.TrimRight(p.text, "\r\n"), "\n")
	}
	if text == "" && p.text != "" {
		return false
	}
	before := in.m.Value()
	if p.name == "" {
		in.m, _ = in.m.Update(tea.PasteMsg{Content: text})
	} else {
		p.key.Text = text
		in.m, _ = in.m.Update(p.key)
	}
	return in.m.Value() != before
}

// insert puts text at the cursor.
func (in *input) insert(text string) { in.press(pressed{text: text}) }

// line is the text with its cursor after a prompt, on a line of w cells; a secret
// as asterisks.
func (in *input) line(t *theme, prompt string, w int) string {
	shown := []rune(in.m.Value())
	at := min(in.m.Position(), len(shown))
	if in.secret {
		shown = []rune(strings.Repeat("*", len(shown)))
	}
	here, after := " ", ""
	if at < len(shown) {
		here, after = t.text(string(shown[at])), t.text(string(shown[at+1:]))
		if width(here) == 0 {
			here = " "
		}
	}
	r := newRow(w).put(t.strong, prompt)
	return r.put("", cutRight(t.text(string(shown[:at])), r.left-1)).put(cursorStyle, here).put("", after).String()
}

// cursorStyle shows a text cursor.
const cursorStyle style = "\x1b[7m"
