package tui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// maxInput is how many characters an input takes.
const maxInput = 1024

// pressed is a key, or what was pasted: that has no name.
type pressed struct {
	name, text string // text is what it types
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

// press edits the text and reports whether that has changed it. What can't be
// shown in one line is left away, except in a secret, which is taken as it is up
// to its first line break.
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
	return r.put("", cutRight(t.text(string(shown[:at])), r.left-1)).put(cursorLook, here).put("", after).String()
}

// cursorLook shows a text cursor.
const cursorLook style = "\x1b[7m"
