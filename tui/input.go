package tui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// maxInput is how many characters an input takes.
const maxInput = 1024

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

// press edits the text and reports whether that has changed it.
func (in *input) press(msg tea.KeyPressMsg) bool {
	if msg.Text != "" && !in.secret {
		if msg.Text = clean(msg.Text); msg.Text == "" {
			return false
		}
	}
	before := in.m.Value()
	in.m, _ = in.m.Update(msg)
	return in.m.Value() != before
}

// insert puts text at the cursor. What can't be shown in one line is left away,
// except in a secret, which is taken as it is up to its first line break.
func (in *input) insert(text string) {
	if in.secret {
		text, _, _ = strings.Cut(strings.TrimRight(text, "\r\n"), "\n")
	} else {
		text = clean(text)
	}
	before, after := []rune(in.m.Value())[:in.m.Position()], []rune(in.m.Value())[in.m.Position():]
	r := []rune(text)
	r = r[:min(len(r), maxInput-len(before)-len(after))]
	in.m.SetValue(string(before) + string(r) + string(after))
	in.m.SetCursor(len(before) + len(r))
}

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
