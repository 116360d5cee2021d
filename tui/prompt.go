package tui

import (
	"strings"

	"lightsout/internal/view"
)

// promptDialog asks for one line. changed, if set, is told of every edit;
// accept gets the line on enter and may refuse it with a sentence.
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

// openNote asks for a line of the operator's own for the timeline.
func openNote(m *Model) {
	m.dialogs.open(&promptDialog{
		heading: "Mark the timeline", label: "text:", in: newInput(false),
		help: func() string { return "goes into the record with its time" },
		accept: func(text string) (view.Intent, string) {
			if strings.TrimSpace(text) == "" {
				return nil, "a few words, please"
			}
			return view.Mark{Text: text}, ""
		},
	})
}
