package tui

import (
	"fmt"
	"strings"

	"lightsout/internal/view"
)

func openHelp(m *Model) {
	m.dialogs.open(&factsDialog{heading: "Help", facts: helpFacts(m)})
}

func openNotices(m *Model) {
	m.dialogs.open(&factsDialog{heading: "What was said", facts: m.notices.facts, copied: m.notices.newest, copies: "the newest"})
}

// openFilter asks for the filter of the focused pane; rows follow as it is typed.
func openFilter(m *Model) {
	f, p := m.focus.filter(), m.focus
	if f == nil {
		return
	}
	before := *f
	var d *promptDialog
	set := func(text string) {
		f.text = text
		p.settle(&m.s)
		_, d.fault = f.contains()
	}
	d = &promptDialog{
		heading: "Filter " + p.name, label: "containing:", in: newInput(false),
		help: func() string {
			if !f.on() {
				return "text, pattern (^web-\\d) or labels (app=web); !: others"
			}
			return fmt.Sprintf("%d of %d", f.shown, f.all)
		},
		changed: set,
		accept:  func(text string) (view.Intent, string) { set(text); return nil, "" },
		cancel:  func() { set(before.text) },
	}
	d.in.insert(before.text)
	m.dialogs.open(d)
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
