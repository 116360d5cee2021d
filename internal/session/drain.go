package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

const (
	// heldLimit is how long a drain is held up before the operator is asked,
	// and heldAgain how long it is waited on before they are asked again.
	heldLimit = 15 * time.Second
	heldAgain = time.Minute
)

// drainState is where the drain of one node stands.
type drainState int

const (
	draining   drainState = iota
	drained               // nothing is left to go
	drainCut              // the operator goes on without its end
	drainLeft             // given up: the node stays on
	drainWrong            // it can't be done
)

// drain is the drain of some nodes, side by side.
type drain struct {
	nodes []*nodeDrain
	// asks: the operator is asked when a node is held up.
	asks bool
	// busy is the action that the nodes are shown to be under; empty for none.
	busy power.Action
	// over is called on the loop when no node is being drained any more.
	over func()
}

// nodeDrain is one node's part of a drain.
type nodeDrain struct {
	node     string
	cancel   context.CancelFunc
	state    drainState
	err      error
	progress cluster.DrainProgress
	// held is what was said last of what holds it; askAt is when to ask.
	held  string
	askAt time.Time
	asked *asked
}

// startDrain cordons nodes, journal first, and then evicts their pods. within,
// unless 0, bounds it all.
func (e *Engine) startDrain(d *drain, nodes []string, within time.Duration) {
	ctx, cancel := context.WithCancel(e.ctx)
	if within > 0 {
		ctx, cancel = context.WithTimeout(e.ctx, within)
	}
	contexts := make([]context.Context, len(nodes))
	for i, name := range nodes {
		n := &nodeDrain{node: name}
		contexts[i], n.cancel = context.WithCancel(ctx)
		d.nodes = append(d.nodes, n)
		if c := e.cordons.ours[name]; c != nil {
			c.due = false
		}
		e.show(d, n, "cordoning")
	}
	e.cordons.drains = append(e.cordons.drains, d)
	e.goDo(func() {
		defer cancel()
		each := func(do func(n *nodeDrain, ctx context.Context)) {
			var wg sync.WaitGroup
			for i, n := range d.nodes {
				wg.Go(func() { do(n, contexts[i]) })
			}
			wg.Wait()
		}
		var mu sync.Mutex
		ready := map[*nodeDrain]bool{}
		// All are cordoned first, so that none takes another's pods.
		each(func(n *nodeDrain, ctx context.Context) {
			ctx, stop := context.WithTimeout(ctx, planTimeout)
			defer stop()
			noted, err := e.cordon(ctx, n.node, "before a drain")
			if err == nil {
				mu.Lock()
				ready[n] = true
				mu.Unlock()
			}
			e.mail.post(func() {
				e.cordoned(n.node, noted, err)
				if err != nil {
					e.nodeDrained(d, n, err)
				}
				if n.state == drainLeft || n.state == drainWrong {
					e.release(n.node) // given up while it was being cordoned
				}
			})
		})
		each(func(n *nodeDrain, ctx context.Context) {
			defer n.cancel()
			if !ready[n] {
				return
			}
			err := e.opt.Drain.Drain(ctx, n.node, func(p cluster.DrainProgress) {
				e.mail.post(func() { e.drainProgress(d, n, p) })
			})
			e.mail.post(func() { e.nodeDrained(d, n, err) })
		})
	})
}

// show keeps a sentence on a drain for the machine's view.
func (e *Engine) show(d *drain, n *nodeDrain, text string) {
	v := e.machines[n.node]
	v.Busy, v.Phase, v.Text = d.busy, power.PhaseAsking, text
	e.machines[n.node] = v
}

// drainProgress takes in how the drain of a node stands.
func (e *Engine) drainProgress(d *drain, n *nodeDrain, p cluster.DrainProgress) {
	if n.state != draining {
		return
	}
	first := n.progress.Node == ""
	n.progress = p
	text := fmt.Sprintf("draining: %s to go", text.Count(len(p.Evicting)+len(p.Held), "pod", "pods"))
	if p.Gone > 0 {
		text += fmt.Sprintf(", %d gone", p.Gone)
	}
	if first && !p.Done() {
		e.say(view.Event{Lane: view.LanePower, Subject: n.node, Text: text})
	}
	held := heldText(p)
	switch {
	case held == "":
		n.askAt = time.Time{}
		e.withdrawDrain(n)
	case n.askAt.IsZero():
		n.askAt = e.now().Add(heldLimit)
	}
	if held != "" {
		text += "; held: " + held
	}
	if held != n.held && held != "" {
		e.say(view.Event{Lane: view.LanePower, Subject: n.node, Text: "the drain is held: " + held, Level: view.Warning})
	}
	n.held = held
	e.show(d, n, text)
}

// heldText is the sentence on the first pod that is held, and how many more are.
func heldText(p cluster.DrainProgress) string {
	if len(p.Held) == 0 {
		return ""
	}
	text := p.Held[heldPods(p)[0]]
	if n := len(p.Held) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

func heldPods(p cluster.DrainProgress) []cluster.Key {
	return slices.SortedFunc(maps.Keys(p.Held), func(a, b cluster.Key) int { return strings.Compare(a.String(), b.String()) })
}

// nodeDrained is the end of one node's drain.
func (e *Engine) nodeDrained(d *drain, n *nodeDrain, err error) {
	if n.state != draining || err != nil && e.ctx.Err() != nil {
		return // decided already, or the session ends
	}
	if err != nil {
		n.err = err
		e.decideDrain(d, n, drainWrong)
		return
	}
	text := "drained: " + text.Count(n.progress.Gone, "pod has gone", "pods have gone")
	if stay := len(n.progress.Stay); stay > 0 {
		text += fmt.Sprintf(", %d stay with the node", stay)
	}
	e.say(view.Event{Lane: view.LanePower, Subject: n.node, Text: text, Level: view.Good})
	e.decideDrain(d, n, drained)
}

// decideDrain ends the drain of one node, and the whole one with its last.
func (e *Engine) decideDrain(d *drain, n *nodeDrain, s drainState) {
	if n.state != draining {
		return
	}
	n.state = s
	n.cancel()
	e.withdrawDrain(n)
	switch s {
	case drainCut:
		e.warn(view.LanePower, n.node, "not drained to the end: what is left on it is shut down with it")
	case drainLeft:
		e.warn(view.LanePower, n.node, "the drain is given up: nothing more is evicted, it stays on")
	case drainWrong:
		e.warn(view.LanePower, n.node, n.err.Error())
	}
	v := e.machines[n.node]
	v.Busy, v.Text = "", ""
	e.machines[n.node] = v
	if !slices.ContainsFunc(d.nodes, func(n *nodeDrain) bool { return n.state == draining }) {
		e.cordons.drains = slices.DeleteFunc(e.cordons.drains, func(x *drain) bool { return x == d })
		d.over()
	}
}

// leaveDrains gives all drains up.
func (e *Engine) leaveDrains() {
	for _, d := range slices.Clone(e.cordons.drains) {
		for _, n := range d.nodes {
			e.decideDrain(d, n, drainLeft)
		}
	}
}

// watchDrains asks about those that are held up for too long.
func (e *Engine) watchDrains() {
	now := e.now()
	for _, d := range e.cordons.drains {
		for _, n := range d.nodes {
			if d.asks && n.state == draining && !n.askAt.IsZero() && !now.Before(n.askAt) {
				e.askDrain(d, n)
			}
		}
	}
}

// drainOf is the drain of a node that is under way.
func (e *Engine) drainOf(nodes ...string) (*drain, *nodeDrain) {
	for _, d := range e.cordons.drains {
		for _, n := range d.nodes {
			if n.state == draining && slices.Contains(nodes, n.node) {
				return d, n
			}
		}
	}
	return nil, nil
}

// askDrain asks what to do about a drain that is under way.
func (e *Engine) askDrain(d *drain, n *nodeDrain) {
	if n.asked != nil {
		return
	}
	q := view.Question{Kind: view.QuestionDrain, Title: n.node + " is being drained", Choices: []view.Choice{{ID: choiceWait, Label: "Wait on"}, {ID: choiceCut, Label: "Shut down all the same"}, {ID: choiceLeave, Label: "Leave it on"}}}
	p := n.progress
	if len(p.Held) > 0 {
		q.Title = "The drain of " + n.node + " is held up"
		q.Lines = append(q.Lines, view.Line{Text: "What holds it:"})
	}
	const most = 6
	for i, k := range heldPods(p) {
		if i == most {
			q.Lines = append(q.Lines, view.Line{Level: view.Warning, Text: fmt.Sprintf("and %d more pods", len(p.Held)-most)})
			break
		}
		q.Lines = append(q.Lines, view.Line{Level: view.Warning, Text: p.Held[k]})
	}
	q.Lines = append(q.Lines,
		view.Line{Text: fmt.Sprintf("%s gone, %d ending, %d held.", text.Count(p.Gone, "pod has", "pods have"), len(p.Evicting), len(p.Held))},
		view.Line{Text: "Leave it on: nothing more is evicted, and it is uncordoned again if lightsout cordoned it."})
	n.asked = e.ask(q, func(a view.Answer) {
		n.asked = nil
		switch a.Choice {
		case choiceCut:
			e.decideDrain(d, n, drainCut)
		case choiceLeave:
			e.decideDrain(d, n, drainLeft)
		default:
			if !n.askAt.IsZero() {
				n.askAt = e.now().Add(heldAgain)
			}
		}
	})
}

func (e *Engine) withdrawDrain(n *nodeDrain) {
	if n.asked != nil {
		e.withdraw(n.asked)
		n.asked = nil
	}
}
