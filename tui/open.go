package tui

import (
	"fmt"
	"strings"

	"lightsout/internal/view"
	"lightsout/loadgen"
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
			counted, ok := p.pane.(interface{ filtered() (int, int) })
			if !ok || !f.on() {
				return "text, pattern (^web-\\d) or labels (app=web); !: others"
			}
			shown, all := counted.filtered()
			return fmt.Sprintf("%d of %d", shown, all)
		},
		changed: set,
		accept:  func(text string) (view.Intent, string) { set(text); return nil, "" },
		cancel:  func() { set(before.text) },
	}
	d.in.insert(before.text)
	m.dialogs.open(d)
}

// openNumber asks for the size of the load used last.
func openNumber(m *Model) {
	z := &m.s.sizes
	d := &promptDialog{digits: true, in: newInput(false), accept: func(text string) (view.Intent, string) {
		if z.last == loadgen.Rate {
			f, fault := perSecond(text)
			if fault != "" {
				return nil, fault
			}
			z.rate = f
		} else {
			n, fault := wholeNumber(text)
			if fault != "" {
				return nil, fault
			}
			if z.last == loadgen.Hold {
				z.hold = n
			} else {
				z.burst = n
			}
		}
		m.say(z.text(z.last))
		if run := m.s.f.Load; run.Active && run.Spec.Shape == z.last && z.last != loadgen.Burst && m.s.f.LoadReady == "" {
			return view.StartLoad{Spec: z.spec()}, ""
		}
		return nil, ""
	}}
	help := ""
	switch z.last {
	case loadgen.Hold:
		d.heading, d.label = "Keep in flight", "requests in flight:"
		help = fmt.Sprintf("now %d; l starts and stops it", z.hold)
	case loadgen.Rate:
		d.heading, d.label = "Rate", "requests a second:"
		help = fmt.Sprintf("now %s; R starts and stops it", number(z.rate))
	default:
		d.heading, d.label = "Burst", "requests at once:"
		help = fmt.Sprintf("now %d; b sends them", z.burst)
	}
	d.help = func() string { return help }
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
