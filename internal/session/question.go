package session

import (
	"fmt"
	"lightsout/cluster/forecast"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
	"maps"
	"slices"
	"strings"
)

// question says what will be switched, how it will be undone, what it
// hits and what the guards say.
func (w *switching) question(p switchPlan) view.Question {
	q := view.Question{Kind: view.QuestionSwitch, Title: switchTitle(p.ask)}
	for _, b := range p.bindings {
		q.Lines = append(q.Lines, view.Line{Text: b.Node.Name + "  " + w.routeText(p.ask.Action, b)})
	}
	if p.ask.Action != power.ActionOn && p.snapshot != nil {
		f := forecast.Outage(p.snapshot, p.ask.Nodes, w.now())
		q.Lines = append(q.Lines, forecastLines(f)...)
		if w.canDrain(p.ask.Action) {
			q.Lines = append(q.Lines, viewLines(f.Hits().DrainLines())...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.problems)) {
		q.Lines = append(q.Lines, view.Line{Level: view.Bad, Text: fmt.Sprintf("%s: %v", name, p.problems[name])})
	}
	for _, f := range p.findings {
		level := view.Warning
		if f.Severity == power.Refuse {
			level = view.Bad
		}
		q.Lines = append(q.Lines, view.Line{Level: level, Text: f.Text})
	}
	switch {
	case power.Refused(p.findings):
		q.Refused = true
		q.Choices = []view.Choice{{ID: view.ChoiceNo, Label: "Close"}}
		return q
	case p.ask.Action == power.ActionOn:
	case w.opt.Production:
		q.Type = w.opt.Cluster
	case power.NeedsOverride(p.findings):
		q.Type = strings.Join(p.ask.Nodes, " ")
	}
	if w.opt.DryRun {
		q.Lines = append(q.Lines, view.Line{Text: "Dry run: nothing will be switched."})
	}
	q.Choices = []view.Choice{{ID: view.ChoiceNo, Label: noLabel(p.ask)}, {ID: view.ChoiceYes, Label: yesLabel(p.ask)}}
	if w.canDrain(p.ask.Action) {
		q.Choices = append(q.Choices, view.Choice{ID: view.ChoiceDrain, Label: "Drain, then shut down"})
	}
	return q
}

func switchTitle(a view.AskPower) string {
	who := text.Count(len(a.Nodes), "node", "nodes")
	if n := len(a.Nodes); n <= 3 {
		who = strings.Join(a.Nodes[:max(n-1, 0)], ", ")
		if n > 1 {
			who += " and "
		}
		who += a.Nodes[n-1]
	}
	return view.SwitchVerb(a.Action) + " " + who + "?"
}

func yesLabel(a view.AskPower) string {
	return view.SwitchVerb(a.Action) + " " + text.Count(len(a.Nodes), "node", "nodes")
}

func noLabel(a view.AskPower) string {
	if a.Action == power.ActionOn {
		return "Not now"
	}
	return "Leave " + text.Noun(len(a.Nodes), "it", "them") + " on"
}

// routeText says by which machine an action is done and how it is undone.
func (w *switching) routeText(a power.Action, b power.Binding) string {
	m, err := w.opt.Fleet.Can(b, a)
	if err != nil {
		return "no way: " + err.Error()
	}
	if a == power.ActionOn {
		return "on by " + view.MachineName(&m)
	}
	text := "off by " + view.MachineName(&m)
	if b.On != nil {
		text += "; on again by " + view.MachineName(b.On)
	}
	return text
}
