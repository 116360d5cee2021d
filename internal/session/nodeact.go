package session

import (
	"slices"

	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// act does to nodes what the operator wants; it asks before a drain. draining is switching.draining.
func (r *drains) act(i view.AskNodes, draining func(node string) bool) {
	i.Nodes = slices.DeleteFunc(slices.Clone(i.Nodes), func(n string) bool { return r.snapshot == nil || r.snapshot.Node(n) == nil })
	if err := r.cordons.missing(); err != nil {
		r.warn(view.LanePower, "nodes", err.Error())
		return
	}
	if i.Act == view.ActUncordon {
		i.Nodes = slices.DeleteFunc(i.Nodes, func(n string) bool {
			if draining(n) {
				r.warn(view.LanePower, n, n+" is being drained; :drain "+n+" can stop it")
			}
			return draining(n)
		})
	}
	switch {
	case len(i.Nodes) == 0:
	case i.Act == view.ActDrain:
		r.askDrain(i)
	default:
		r.notice = view.Notice{Text: "asked to " + string(i.Act) + " " + text.List(i.Nodes), At: r.now()}
		r.guest.Handle(Did{i})
		if i.Act == view.ActCordon {
			r.cordons.cordonAll(i.Nodes, power.ForItself, "by the operator")
		} else {
			r.cordons.uncordonAll(i.Nodes)
		}
	}
}

// underWay reports whether one of the nodes is being drained, and asks or warns about that.
func (r *drains) underWay(nodes []string) bool {
	d, n := r.of(nodes...)
	switch {
	case n == nil:
		return false
	case d.by == drainerTrial:
		r.warn(view.LanePower, n.node, n.node+" is being drained by a step of the trial")
	default:
		r.ask(d, n)
	}
	return true
}

// askDrain asks whether to drain nodes, and drains them after a yes.
func (r *drains) askDrain(i view.AskNodes) {
	if r.underWay(i.Nodes) || r.opt.Questions.first() != nil {
		return
	}
	q := view.Question{Kind: view.QuestionDrain, Title: "Drain " + who(i.Nodes) + "?", Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Leave the pods"}, {ID: view.ChoiceYes, Label: "Drain " + text.Count(len(i.Nodes), "node", "nodes")}}}
	q.Lines = append(r.drainLines(i.Nodes), view.Line{Text: "Undo: :uncordon; the pods stay where they are then, until r restarts their rollout."})
	if r.opt.DryRun {
		q.Lines = append(q.Lines, view.Line{Text: "Dry run: lightsout will evict nothing."})
	}
	r.opt.Questions.ask(q, func(a view.Answer) {
		if a.Choice != view.ChoiceYes || r.underWay(i.Nodes) {
			return
		}
		if r.cordons.notDone(i.Nodes, "not drained") == nil {
			r.guest.Handle(Did{i})
			r.start(&drain{by: drainerOperator, over: func() {}}, i.Nodes)
		}
	})
}
