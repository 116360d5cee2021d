package tui

import (
	"fmt"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// openDetails shows all that is known of the selected row.
func (m *Model) openDetails() {
	d := &factsDialog{}
	switch m.focus {
	case paneNodes:
		name, ok := m.nodes.list.selected()
		if !ok {
			return
		}
		d.heading, d.facts = "Node "+name, nodeDetails(name)
	case paneDeployments:
		k, ok := m.deployments.list.selected()
		if !ok {
			return
		}
		d.heading, d.facts = "Deployment "+k.String(), deploymentDetails(k)
	case panePods:
		k, ok := m.pods.list.selected()
		if !ok {
			return
		}
		d.heading, d.facts = "Pod "+k.String(), podDetails(k)
	case paneTrial:
		m.zoom = !m.zoom
		return
	default:
		return
	}
	m.dialogs = append(m.dialogs, d)
}

// openFilter asks for the filter of the focused pane; rows follow as it is typed.
func (m *Model) openFilter() {
	filter := m.filterOf(m.focus)
	if filter == nil {
		return
	}
	before := *filter
	set := func(text string) {
		*filter = text
		m.settle()
		m.timeline.settle(&m.s)
	}
	d := &promptDialog{
		heading: "Filter " + paneNames[m.focus], label: "containing:", help: "empty shows all",
		changed: set,
		accept:  func(text string) (view.Intent, string) { set(text); return nil, "" },
		cancel:  func() { set(before) },
	}
	d.in.insert(before)
	m.dialogs = append(m.dialogs, d)
}

// openNumber asks for the size of the load used last.
func (m *Model) openNumber() {
	z := &m.s.sizes
	d := &promptDialog{digits: true, accept: func(text string) (view.Intent, string) {
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
	switch z.last {
	case loadgen.Hold:
		d.heading, d.label = "Hold", "requests outstanding:"
		d.help = fmt.Sprintf("now %d; l starts and stops it", z.hold)
	case loadgen.Rate:
		d.heading, d.label = "Rate", "requests a second:"
		d.help = fmt.Sprintf("now %s; R starts and stops it", number(z.rate))
	default:
		d.heading, d.label = "Burst", "requests at once:"
		d.help = fmt.Sprintf("now %d; b sends them", z.burst)
	}
	m.dialogs = append(m.dialogs, d)
}

// openNote asks for a line of the operator's own for the timeline.
func (m *Model) openNote() {
	m.dialogs = append(m.dialogs, &promptDialog{
		heading: "Mark the timeline", label: "text:", help: "goes into the record with its time",
		accept: func(text string) (view.Intent, string) {
			if text == "" {
				return nil, "a few words, please"
			}
			return view.Mark{Text: text}, ""
		},
	})
}
