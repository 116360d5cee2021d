package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// maxInput is how many characters an input takes.
const maxInput = 1024

// input is one line of typed text.
type input struct {
	text   []rune
	at     int
	secret bool
}

func (in *input) String() string { return string(in.text) }

// press edits the text and reports whether the key was one for it.
func (in *input) press(msg tea.KeyPressMsg) bool {
	switch msg.String() {
	case "backspace", "ctrl+h":
		if in.at > 0 {
			in.text = slices.Delete(in.text, in.at-1, in.at)
			in.at--
		}
	case "delete":
		if in.at < len(in.text) {
			in.text = slices.Delete(in.text, in.at, in.at+1)
		}
	case "left":
		in.at = max(0, in.at-1)
	case "right":
		in.at = min(len(in.text), in.at+1)
	case "home", "ctrl+a":
		in.at = 0
	case "end", "ctrl+e":
		in.at = len(in.text)
	case "ctrl+u":
		in.text, in.at = slices.Clone(in.text[in.at:]), 0
	case "ctrl+k":
		in.text = in.text[:in.at]
	default:
		k := msg.Key()
		if k.Text == "" || k.Mod.Contains(tea.ModCtrl) || k.Mod.Contains(tea.ModAlt) {
			return false
		}
		in.insert(k.Text)
	}
	return true
}

// insert puts text at the cursor. What can't be shown in one line is left away,
// except in a secret, which is taken as it is up to its first line break.
func (in *input) insert(text string) {
	if in.secret {
		text, _, _ = strings.Cut(strings.TrimRight(text, "\r\n"), "\n")
	} else {
		text = clean(text)
	}
	r := []rune(text)
	r = r[:min(len(r), maxInput-len(in.text))]
	in.text = slices.Insert(in.text, in.at, r...)
	in.at += len(r)
}

// draw writes the text with its cursor in w cells; a secret as bullets.
func (in *input) draw(t *theme, r *row, w int) {
	shown := in.text
	if in.secret {
		shown = []rune(strings.Repeat("*", len(in.text)))
	}
	before := cutRight(t.text(string(shown[:in.at])), w-1)
	here, after := " ", ""
	if in.at < len(shown) {
		here, after = t.text(string(shown[in.at])), t.text(string(shown[in.at+1:]))
		if width(here) == 0 {
			here = " "
		}
	}
	start := r.left
	r.put("", before).put(cursorLook, here)
	after, _ = cutLeft(after, w-(start-r.left))
	r.put("", after).space(w - (start - r.left))
}

// cursorLook shows a text cursor.
const cursorLook style = "\x1b[7m"
