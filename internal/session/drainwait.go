package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// progress takes in how the drain of a node stands.
func (r *drains) progress(d *drain, n *nodeDrain, p cluster.DrainProgress) {
	if !n.state.underWay() {
		return
	}
	if n.state == waiting && p.Waiting == "" {
		n.state = draining
		if !p.Done() {
			r.say(view.NewEvent(view.CodeDrainBegun, n.node, view.Facts{N: len(p.Evicting) + len(p.Held), Gone: p.Gone}))
		}
	}
	was, held := heldText(n.progress), heldText(p)
	n.progress = p
	doing, stage := "draining", power.StageDraining
	if n.state == draining {
		doing = fmt.Sprintf("draining: %s to go", text.Count(len(p.Evicting)+len(p.Held), "pod", "pods"))
	}
	if p.Gone > 0 {
		doing += fmt.Sprintf(", %d gone", p.Gone)
	}
	switch {
	case held == "":
		n.askAt = time.Time{}
	case n.askAt.IsZero():
		n.askAt = r.now().Add(heldLimit)
	}
	if held != "" {
		doing, stage = doing+"; blocked: "+held, power.StageBlocked
	}
	if held != was && held != "" {
		f := view.Facts{Reported: held}
		if pods := p.HeldPods(); len(pods) > 0 { // the API server names the budget only in a sentence
			f.Name, f.Budget = pods[0].Name, forecast.Holder(r.snapshot, pods[0])
		}
		n.holder = f.Budget
		r.say(view.NewEvent(view.CodeDrainHeld, n.node, f))
	}
	r.machines.show(actionsAfter[d.by], stage, doing, n.node)
}

// heldText is why a drain does not go on: its last round failed, or a pod is held; and how many more are.
func heldText(p cluster.DrainProgress) string {
	switch {
	case p.Waiting != "":
		return p.Waiting
	case len(p.Held) == 0:
		return ""
	}
	text := p.Held[p.HeldPods()[0]]
	if n := len(p.Held) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// next states, one sentence each, what the drains that stand still wait for, and how to decide on them.
func (r *drains) next() (out []string) {
	for _, d := range r.running {
		for _, n := range d.nodes {
			if !n.state.underWay() || heldText(n.progress) == "" {
				continue
			}
			waits := "drain of " + n.node + " is blocked"
			if n.holder != "" {
				waits = "drain of " + n.node + " waits for budget " + n.holder
			}
			if again := asksAgain[d.by]; again != "" {
				waits += " · " + again + n.node + " asks again"
			}
			out = append(out, waits)
		}
	}
	return out
}

// drained is the end of one node's drain.
func (r *drains) drained(d *drain, n *nodeDrain, err error) {
	if !n.state.underWay() || err != nil && r.ctx.Err() != nil {
		return // decided already, or the session ends
	}
	if err != nil {
		n.err = err
		if errors.Is(n.ctx.Err(), context.DeadlineExceeded) {
			n.err = fmt.Errorf("not complete within %s: %w", text.Span(d.within), err)
		}
		r.decide(d, n, drainWrong)
		return
	}
	r.say(view.NewEvent(view.CodeDrained, n.node, view.Facts{Gone: n.progress.Gone, N: len(n.progress.Stay)}))
	r.decide(d, n, drained)
}

// decide ends the drain of one node, and the whole one with its last.
func (r *drains) decide(d *drain, n *nodeDrain, s drainState) {
	if !n.state.underWay() {
		return
	}
	n.state = s
	n.cancel()
	switch s {
	case drainCut:
		r.warn(view.LanePower, n.node, "the drain is not complete: the pods that are left are shut down with the node")
	case drainLeft:
		r.notify(view.NewEvent(view.CodeDrainCancelled, n.node, view.Facts{}))
	case drainWrong:
		r.warn(view.LanePower, n.node, n.err.Error())
	}
	r.machines.update(n.node, func(v *view.MachineView) {
		v.Busy, v.Stage, v.Text = "", "", ""
		if d.by == drainerShutdown && (s == drainLeft || s == drainWrong) {
			v.Stage, v.Text = power.StageFailed, n.whyOn()
		}
	})
	if !slices.ContainsFunc(d.nodes, func(n *nodeDrain) bool { return n.state.underWay() }) {
		r.running = slices.DeleteFunc(r.running, func(x *drain) bool { return x == d })
		d.over()
	}
}

// leave gives all drains up: the nodes stay on, also those that are drained and wait for the others.
func (r *drains) leave() {
	for _, d := range slices.Clone(r.running) {
		for _, n := range d.nodes {
			if d.by == drainerShutdown && (n.state == drained || n.state == drainCut) {
				n.state = drainLeft
				r.machines.update(n.node, func(v *view.MachineView) { v.Stage, v.Text = power.StageFailed, n.whyOn() })
			}
		}
		for _, n := range d.nodes {
			r.decide(d, n, drainLeft)
		}
	}
}

// cancelled describes what leave does; nil if no drain runs.
func (r *drains) cancelled() []view.Line {
	var nodes []string
	for _, d := range r.running {
		for _, n := range d.nodes {
			if d.by == drainerShutdown || n.state.underWay() {
				nodes = append(nodes, n.node)
			}
		}
	}
	slices.Sort(nodes)
	return listed("Being drained; if the drain is cancelled, they stay on:", slices.Compact(nodes), func(string) string { return "" })
}

// askAboutHeld asks about those that are held up for too long, unless the operator keeps waiting.
func (r *drains) askAboutHeld() {
	now := r.now()
	for _, d := range r.running {
		for _, n := range d.nodes {
			if d.by != drainerTrial && n.state.underWay() && !n.waits && !n.askAt.IsZero() && !now.Before(n.askAt) {
				r.ask(d, n)
			}
		}
	}
}

// of is the drain of a node that is under way.
func (r *drains) of(nodes ...string) (*drain, *nodeDrain) {
	for _, d := range r.running {
		for _, n := range d.nodes {
			if n.state.underWay() && slices.Contains(nodes, n.node) {
				return d, n
			}
		}
	}
	return nil, nil
}

// ask asks what to do about a drain that is under way, until it is over; after any other question.
func (r *drains) ask(d *drain, n *nodeDrain) {
	if r.opt.Questions.first() != nil {
		return
	}
	r.opt.Questions.follow(func() (view.Question, bool) { return n.question(d.by), n.state.underWay() }, func(a view.Answer) {
		switch a.Choice {
		case drainOn:
			r.decide(d, n, drainCut)
		case leaveNow:
			r.decide(d, n, drainLeft)
		default:
			n.waits = true
		}
	})
}

// question names the pods that block the drain.
func (n *nodeDrain) question(by drainer) view.Question {
	choices := []view.Choice{{ID: drainWait, Label: "Keep waiting"}, {ID: drainOn, Label: "Shut down anyway"}, {ID: leaveNow, Label: "Leave it on"}}
	undone := "Leave it on: lightsout evicts no more pods, and uncordons the node if lightsout cordoned it for this."
	if by == drainerOperator {
		choices = []view.Choice{choices[0], {ID: leaveNow, Label: "Stop the drain"}}
		undone = "Stop the drain: lightsout evicts no more pods; the node stays cordoned until :uncordon."
	}
	q := view.Question{Kind: view.QuestionDrain, Title: n.node + " is being drained", Choices: choices}
	if heldText(n.progress) != "" {
		q.Title = "The drain of " + n.node + " is blocked"
	}
	if n.progress.Waiting != "" {
		q.Lines = append(q.Lines, view.Line{Level: view.Warning, Text: n.progress.Waiting})
	}
	for _, k := range n.progress.HeldPods() {
		q.Lines = append(q.Lines, view.Line{Level: view.Warning, Text: n.progress.Held[k], Of: "pods"})
	}
	q.Lines = append(q.Lines, view.Line{Text: "Keep waiting: lightsout asks no more by itself; " + asksAgain[by] + n.node + " asks again."}, view.Line{Text: undone})
	return q
}
