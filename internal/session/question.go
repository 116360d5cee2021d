package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// question describes what lightsout will switch, how to undo it, what it hits and what
// the guards found: first what a typed confirmation is for and the sum, then the warnings, the machines
// and the rest. also are further lines. It is safe for concurrent use.
func (w *switching) question(p power.Question, also ...view.Line) view.Question {
	verb, drains := view.SwitchVerb(p.Action), p.Drain && p.CanDrain
	if drains {
		verb = drainFirst
	}
	q := view.Question{Kind: view.QuestionSwitch, Title: verb + " " + who(p.Nodes) + "?", Refused: p.Refused(), Type: p.Type}
	for _, f := range p.Changed {
		q.Lines = append(q.Lines, view.Line{Level: view.Bad, Text: "Since you were asked: " + f.Text, Command: f.Command})
	}
	if reasons := findingLines(p, true); len(reasons) > 0 {
		q.Lines = append(append(q.Lines, reasons...), view.Line{})
	}
	parts := []part{{"", findingLines(p, false)}, {"Machines:", w.machineLines(p)}}
	if s := w.cluster.snapshot(); p.Action != power.ActionOn && s != nil {
		foresee := func(of func(*cluster.Snapshot, []string, []string, time.Time) *forecast.Forecast) (view.Line, []part) {
			f := of(s.WithCordoned(p.Assumed.Cordoned, true), p.Nodes, p.Down, w.now()).After(p.Assumed.Drained)
			h := f.Hits().Off()
			h.ReadyWorkersLeft = p.Left + p.Awaited // the guard knows of machines that are off before the API server
			return forecastParts(f, h)
		}
		sum, more := foresee(forecast.Outage)
		if p.CanDrain {
			drained, rest := foresee(forecast.Drain)
			if drains {
				sum, more = drained, append(rest, part{"", []view.Line{{Text: drainCourse + " Then it shuts the machines down."}}})
			} else {
				drained.Text, drained.Short = "if drained first: "+drained.Text, "if drained first: "+cmp.Or(drained.Short, drained.Text)
				more = append(more, part{drainFirst + ":", append([]view.Line{drained}, rest[0].lines...)})
			}
		}
		q.Lines, parts = append(q.Lines, sum), append(parts, more...)
	}
	q.Lines = append(q.Lines, worstFirst(append(parts, part{"Also:", also}))...)
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
		if q.Type == "" && !slices.ContainsFunc(q.Lines, func(l view.Line) bool { return l.Level >= view.Warning }) {
			q.Default = view.ChoiceYes
		}
	}
	q.Choices = []view.Choice{{ID: view.ChoiceNo, Label: no}, {ID: view.ChoiceYes, Label: verb + " " + text.Count(len(p.Nodes), "node", "nodes")}}
	if p.CanDrain {
		q.Choices = append(q.Choices, view.Choice{ID: view.ChoiceDrain, Label: drainFirst})
	}
	if drains {
		q.Choices = slices.Delete(q.Choices, 1, 2)
	}
	return q
}

// part is some lines of a question under a heading.
type part struct {
	title string
	lines []view.Line
}

// worstFirst returns the warnings of all parts, and then the other lines of each under its heading.
func worstFirst(parts []part) (out []view.Line) {
	warns := func(l view.Line) bool { return l.Level >= view.Warning }
	for _, p := range parts {
		out = append(out, slices.DeleteFunc(slices.Clone(p.lines), func(l view.Line) bool { return !warns(l) })...)
	}
	many := len(out) > 0
	for _, p := range parts {
		rest := slices.DeleteFunc(slices.Clone(p.lines), warns)
		if len(rest) == 0 {
			continue
		}
		if many && p.title != "" {
			out = append(out, view.Line{Heading: true, Text: p.title})
		}
		out = append(out, rest...)
	}
	return out
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

// machineLines say by which machine each node is switched.
func (w *switching) machineLines(p power.Question) []view.Line {
	return text.Each(p.Bindings, func(b power.Binding) view.Line {
		return view.Line{Subject: true, Text: b.Node.Name + "  " + w.routeText(p.Action, b)}
	})
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
		return "on: " + view.MachineRoute(b.Node.Name, &m)
	}
	text := "off: " + view.MachineName(b.Node.Name, &m)
	if b.On != nil {
		text += " · on: " + view.MachineRoute(b.Node.Name, b.On)
	}
	return text
}

// drainFirst names a drain with a shutdown after it, and drainCourse is what a drain does.
const (
	drainFirst  = "Drain, then shut down"
	drainCourse = "lightsout cordons first, then evicts the pods, as kubectl drain does: budgets may block it."
)

// forecastParts is the forecast in a question: its sum, the budgets and what a drain loses, the actions of the control
// plane, what hangs, the pods that stop when the nodes go off, and the uncertainties.
func forecastParts(f *forecast.Forecast, h forecast.Hits) (sum view.Line, parts []part) {
	return viewLines([]forecast.Line{f.Sum(h)})[0], []part{
		{"", viewLines(h.BudgetLines())},
		{"What Kubernetes does next:", viewLines(f.FollowLines(h))},
		{"What Kubernetes does not do for you:", viewLines(f.WontLines(h))},
		{"What stops now:", viewLines(h.Lines())}}
}

// drainLines are the first lines of each question about a drain of nodes that stay on.
func (r *drains) drainLines(nodes []string) []view.Line {
	f := forecast.Drain(r.snapshot, nodes, r.machines.down(), r.now())
	sum, parts := forecastParts(f, f.Hits())
	return append(append([]view.Line{sum}, worstFirst(parts)...),
		view.Line{Text: drainCourse + " The machines stay on."})
}

func viewLines(lines []forecast.Line) []view.Line {
	return text.Each(lines, func(l forecast.Line) view.Line {
		return view.Line{Level: map[bool]view.Level{true: view.Warning}[l.Warn], Text: l.Text, Short: l.Short, Of: l.Of}
	})
}

// preview returns what the guards find before switching the machines.
func (w *switching) preview(ctx context.Context, a view.AskPower, assumed power.Assumption) (power.Question, error) {
	if w.switcher == nil {
		return power.Question{}, w.missing()
	}
	return w.switcher.Preview(ctx, power.Request{Action: a.Action, Nodes: a.Nodes, Drain: a.Drain, Assumed: assumed})
}

// Preview returns the question before switching the machines. It is safe for concurrent
// use.
func (s *Session) Preview(ctx context.Context, a view.AskPower, assumed power.Assumption) (view.Question, error) {
	q, err := s.switching.preview(ctx, a, assumed)
	return s.switching.question(q), err
}

// Refused is why lightsout would never switch the machines off, whenever it tried; nil if it may. With auto
// nobody is there to type a confirmation. It is safe for concurrent use.
func (s *Session) Refused(ctx context.Context, a view.AskPower, assumed power.Assumption, auto bool) error {
	q, err := s.switching.preview(ctx, a, assumed)
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
