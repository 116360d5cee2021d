package session

import (
	"context"
	"fmt"
	"slices"

	"lightsout/cluster/forecast"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// question describes what lightsout will switch, how to undo it, what it hits and what
// the guards found. It is safe for concurrent use.
func (w *switching) question(p power.Question) view.Question {
	verb := view.SwitchVerb(p.Action)
	q := view.Question{Kind: view.QuestionSwitch, Title: verb + " " + who(p.Nodes) + "?", Refused: p.Refused(), Type: p.Type}
	for _, f := range p.Changed {
		q.Lines = append(q.Lines, view.Line{Level: view.Bad, Text: "Since you were asked: " + f.Text, Command: f.Command})
	}
	if reasons := findingLines(p, true); len(reasons) > 0 {
		q.Lines = append(append(q.Lines, reasons...), view.Line{})
	}
	machines := w.machineLines(p)
	if len(machines) <= manyMachines {
		q.Lines = append(q.Lines, machines...)
	}
	if s := w.cluster.snapshot(); p.Action != power.ActionOn && s != nil {
		f := forecast.Outage(s.WithCordoned(p.Assumed.Cordoned), p.Nodes, p.Down, w.now())
		q.Lines = append(q.Lines, forecastLines(f, p.Left, p.Awaited > 0)...)
		if p.CanDrain {
			q.Lines = append(q.Lines, viewLines(f.Hits().DrainLines())...)
		}
	}
	q.Lines = append(q.Lines, findingLines(p, false)...)
	if len(machines) > manyMachines {
		q.Lines = append(q.Lines, machines...)
	}
	if q.Refused {
		done := map[power.Action]string{power.ActionShutdown: "shut down", power.ActionOff: "switched off", power.ActionOn: "powered on"}
		q.Title, q.Type = who(p.Nodes)+" can't be "+done[p.Action], ""
		q.Choices = []view.Choice{{ID: view.ChoiceNo, Label: "Close"}}
		return q
	}
	if p.DryRun {
		q.Lines = append(q.Lines, view.Line{Text: "Dry run: lightsout will switch nothing."})
	}
	no := "Leave " + text.Noun(len(p.Nodes), "it", "them") + " on"
	if p.Action == power.ActionOn {
		no = "Not now"
	}
	q.Choices = []view.Choice{{ID: view.ChoiceNo, Label: no}, {ID: view.ChoiceYes, Label: verb + " " + text.Count(len(p.Nodes), "node", "nodes")}}
	if p.CanDrain {
		q.Choices = append(q.Choices, view.Choice{ID: view.ChoiceDrain, Label: "Drain, then shut down"})
	}
	return q
}

// findingLines returns the findings of the guards: those that demand a typed confirmation,
// which stand above everything else, or the others. They lack p.Changed.
func findingLines(p power.Question, typed bool) (lines []view.Line) {
	for _, f := range p.Findings {
		if (f.Effect == power.Override) != typed || slices.Contains(p.Changed, f) || f.Rule == power.RuleDryRun {
			continue
		}
		level := view.Warning
		if f.Effect == power.Refuse || f.Rule == power.RulePreflight {
			level = view.Bad
		}
		lines = append(lines, view.Line{Level: level, Text: f.Text, Command: f.Command})
	}
	return lines
}

// manyMachines is how many machines stand before what is hit, rather than after it.
const manyMachines = 6

// machineLines say by which machine each node is switched.
func (w *switching) machineLines(p power.Question) []view.Line {
	out := make([]view.Line, 0, len(p.Bindings))
	for _, b := range p.Bindings {
		out = append(out, view.Line{Subject: true, Text: b.Node.Name + "  " + w.routeText(p.Action, b)})
	}
	return out
}

// who names a few nodes, and counts many.
func who(nodes []string) string {
	if n := len(nodes); n > 3 {
		return text.Count(n, "node", "nodes")
	}
	return text.List(nodes)
}

// routeText names the machine for an action, and the one that undoes it.
func (w *switching) routeText(a power.Action, b power.Binding) string {
	m, err := w.opt.Fleet.Can(b, a)
	if err != nil {
		return "cannot " + power.Verb(a) + ": " + err.Error()
	}
	if a == power.ActionOn {
		return "on: " + view.MachineRoute(&m)
	}
	text := "off: " + view.MachineRoute(&m)
	if b.On != nil {
		text += " · on: " + view.MachineRoute(b.On)
	}
	return text
}

// forecastLines is the forecast in a question: the pods that stop when the nodes go off,
// the next actions of the control plane, and the uncertainties. left is the number of
// workers left by the guard's count, and more reports whether further ones may be left.
// The guard learns of machines that are off before the API server does, and counts only
// nodes whose heartbeat lightsout has received.
func forecastLines(f *forecast.Forecast, left int, more bool) (out []view.Line) {
	h := f.Hits()
	h.ReadyWorkersLeft, h.MoreWorkers = left, more
	for _, part := range []struct {
		title string
		lines []forecast.Line
	}{{"What stops now:", h.Lines()}, {"What Kubernetes does next:", f.FollowLines(h)}, {"What Kubernetes does not do for you:", f.WontLines(h)}} {
		if len(part.lines) > 0 {
			out = append(append(out, view.Line{Heading: true, Text: part.title}), viewLines(part.lines)...)
		}
	}
	return out
}

func viewLines(lines []forecast.Line) (out []view.Line) {
	for _, l := range lines {
		v := view.Line{Text: l.Text}
		if l.Warn {
			v.Level = view.Warning
		}
		out = append(out, v)
	}
	return out
}

// outlook is the forecast for switching off the nodes.
func outlook(f *forecast.Forecast) (out []string) {
	h := f.Hits()
	for _, l := range slices.Concat(h.Lines(), f.FollowLines(h), f.WontLines(h)) {
		out = append(out, l.Text)
	}
	return out
}

// Preview returns the question before switching the machines. It is safe for concurrent
// use.
func (s *Session) Preview(ctx context.Context, a view.AskPower, assumed power.Assumption) (view.Question, error) {
	if s.switching.switcher == nil {
		return view.Question{}, s.switching.missing()
	}
	q, err := s.switching.switcher.Preview(ctx, power.Request{Action: a.Action, Nodes: a.Nodes, Assumed: assumed})
	return s.switching.question(q), err
}

// Refused is why lightsout would never switch the machines off, whenever it tried; nil if it may. With auto
// nobody is there to type a confirmation. It is safe for concurrent use.
func (s *Session) Refused(ctx context.Context, a view.AskPower, assumed power.Assumption, auto bool) error {
	if s.switching.switcher == nil {
		return s.switching.missing()
	}
	q, err := s.switching.switcher.Preview(ctx, power.Request{Action: a.Action, Nodes: a.Nodes, Assumed: assumed})
	switch lasting := q.Lasting(); {
	case err != nil:
		return err
	case len(lasting) > 0:
		q.Findings = lasting
		return &power.NotDoneError{Why: power.NotAllowed, Question: q}
	case auto && q.Type != "" && !q.Refused():
		return fmt.Errorf("%w; run the trial on a terminal without --yes", &power.NotDoneError{Why: power.NotTyped, Question: q})
	}
	return nil
}
