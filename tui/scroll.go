package tui

import (
	"lightsout/internal/view"

	tea "charm.land/bubbletea/v2"
)

// fact is one line of a details or help dialog: a heading when value is empty.
type fact struct {
	label, value string
	st           style
}

// factsDialog shows labelled facts, scrolled. The facts are asked for at every
// drawing, so that they stay true while it is open.
type factsDialog struct {
	heading string
	facts   func(s *scene) []fact
	top     int
	rows    int
	room    int
}

func (d *factsDialog) title() string { return d.heading }

func (d *factsDialog) foot() string {
	if d.rows > d.room {
		return "↑/↓ scroll · esc close"
	}
	return "esc close"
}

func (d *factsDialog) paste(string) {}

func (d *factsDialog) press(msg tea.KeyPressMsg) (view.Intent, bool) {
	switch msg.String() {
	case "up", "k":
		d.top--
	case "down", "j":
		d.top++
	case "pgup", "ctrl+b":
		d.top -= d.room
	case "pgdown", "ctrl+f", "space":
		d.top += d.room
	case "home", "g":
		d.top = 0
	case "end", "G":
		d.top = d.rows
	case "esc", "enter", "q", "?":
		return nil, true
	}
	d.top = max(0, min(d.top, d.rows-d.room))
	return nil, false
}

func (d *factsDialog) draw(s *scene, w, h int) ([]string, int) {
	facts := d.facts(s)
	label, value := 0, 20
	for _, f := range facts {
		if f.value != "" {
			label = max(label, width(f.label))
			value = max(value, width(f.value))
		}
	}
	label = min(label, w/3)
	value = min(value, w-label-2)
	wide := label + 2 + value
	var lines []string
	for _, f := range facts {
		if f.value == "" {
			lines = append(lines, newRow(wide).put(s.t.strong, f.label).String())
			continue
		}
		for i, l := range wrap(f.value, value) {
			name := f.label
			if i > 0 {
				name = ""
			}
			lines = append(lines, newRow(wide).cell(s.t, s.t.dim, name, label).space(2).put(f.st, l).String())
		}
	}
	d.rows, d.room = len(lines), max(1, h)
	d.top = max(0, min(d.top, d.rows-d.room))
	return lines[d.top:min(d.rows, d.top+d.room)], wide
}
