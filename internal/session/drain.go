package session

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/power"
)

// heldLimit is how long a blocked drain waits before it asks the operator.
const heldLimit = 15 * time.Second

// IDs of choices about a drain that is held up.
const (
	drainWait = "wait"
	drainOn   = "cut" // shut down in spite of that
)

// drainState is where the drain of one node stands.
type drainState int

const (
	waiting    drainState = iota // no round has succeeded yet
	draining                     // pods go
	drained                      // nothing is left to go
	drainCut                     // the operator continues before it has ended
	drainLeft                    // cancelled: the node stays on
	drainWrong                   // it can't be done
)

// underWay reports whether the drain has not ended.
func (s drainState) underWay() bool { return s <= draining }

// drainer is who wants a drain.
type drainer int

const (
	drainerTrial    drainer = iota // a step of a trial: it asks nobody
	drainerShutdown                // a shutdown follows, which the screen shows
	drainerOperator                // the nodes stay on
)

// beforeDrain marks in the journal the cordon of an operator's drain, which lasts until :uncordon.
const beforeDrain power.Action = "drain"

// cordonsBefore are the actions that a drain's cordon prepares.
var cordonsBefore = map[drainer]power.Action{drainerTrial: power.ActionShutdown, drainerShutdown: power.ActionShutdown, drainerOperator: beforeDrain}

// asksAgain is what, followed by the node, has a drain ask the operator again.
var asksAgain = map[drainer]string{drainerShutdown: "s on ", drainerOperator: ":drain "}

// actionsAfter are the actions that follow a drain.
var actionsAfter = map[drainer]power.Action{drainerShutdown: power.ActionShutdown}

// drain is the drain of some nodes, side by side.
type drain struct {
	nodes []*nodeDrain
	by    drainer
	// within, unless 0, bounds it all.
	within time.Duration
	// cordoning is how many are not cordoned yet: none is drained before.
	cordoning int
	// over is called on the loop when no node is being drained any more.
	over func()
}

// nodeDrain is one node's part of a drain.
type nodeDrain struct {
	node     string
	ctx      context.Context // of the goroutines that cordon and drain it
	cancel   context.CancelFunc
	state    drainState
	err      error
	progress cluster.DrainProgress
	holder   string    // the budget that holds the first of the held pods; empty if unknown
	askAt    time.Time // when to ask the operator about the pods that block the drain
	waits    bool      // the operator keeps waiting: it asks no more by itself
}

// has reports whether a node is one of those that are drained.
func (d *drain) has(node string) bool {
	return slices.ContainsFunc(d.nodes, func(n *nodeDrain) bool { return n.node == node })
}

// cancelled reports whether the operator has cancelled the drain of a node: then its machine stays on as asked.
func (d *drain) cancelled(node string) bool {
	return d != nil && slices.ContainsFunc(d.nodes, func(n *nodeDrain) bool { return n.node == node && n.state == drainLeft })
}

// whyOn describes why a node stays on after its drain.
func (n *nodeDrain) whyOn() string {
	if n.err != nil {
		return n.err.Error()
	}
	return "left on: its drain was cancelled"
}

// drains is the drains under way.
type drains struct {
	*loop
	machines *machines
	cordons  *cordons

	running []*drain
}

// start cordons nodes, journal first, and then evicts their pods.
func (r *drains) start(d *drain, nodes []string) {
	r.running = append(r.running, d)
	d.cordoning = len(nodes)
	for _, name := range nodes {
		n := &nodeDrain{node: name}
		n.ctx, n.cancel = context.WithTimeout(r.ctx, cmp.Or(d.within, math.MaxInt64))
		d.nodes = append(d.nodes, n)
		r.cordons.keep(name)
		r.machines.show(actionsAfter[d.by], power.StageDraining, "cordoning", name)
		r.work.Go(func() {
			ctx, stop := context.WithTimeout(n.ctx, apiTimeout)
			defer stop()
			c := r.cordons.cordon(ctx, name, cordonsBefore[d.by], "before a drain")
			r.post(func() { r.cordoned(d, n, c) })
		})
	}
}

// cordoned handles the result of a node's cordon, and starts the drain once all nodes
// are cordoned, so that no pod moves from one to another.
func (r *drains) cordoned(d *drain, n *nodeDrain, c cordoning) {
	r.cordons.cordoned(n.node, c)
	if c.err != nil {
		r.drained(d, n, c.err)
	}
	if n.state == drainLeft || n.state == drainWrong {
		r.cordons.giveBack(n.node) // cancelled during the cordon
	}
	d.cordoning--
	if d.cordoning > 0 || r.ctx.Err() != nil {
		return
	}
	for _, n := range d.nodes {
		if !n.state.underWay() {
			continue
		}
		r.machines.show(actionsAfter[d.by], power.StageDraining, "draining: waiting for the API server", n.node)
		n.askAt = r.now().Add(heldLimit) // unless there is progress
		r.work.Go(func() {
			err := r.opt.Drain.Drain(n.ctx, n.node, func(p cluster.DrainProgress) {
				r.post(func() { r.progress(d, n, p) })
			})
			r.post(func() { r.drained(d, n, err) })
		})
	}
}

// drain drains without questions; it calls end with the result.
func (r *drains) drain(nodes []string, within time.Duration, end func(error)) {
	r.guest.Handle(Draining{nodes})
	d := &drain{within: within}
	d.over = func() {
		var err error
		for _, n := range d.nodes {
			err = errors.Join(err, n.err)
		}
		end(err)
	}
	r.start(d, nodes)
}

// drainResult lists the nodes that are drained, or for which the operator does not
// wait; the error describes the others.
type drainResult struct {
	nodes []string
	err   error
}

// Drain is power.Drainer's.
func (w *switching) Drain(ctx context.Context, nodes []string) ([]string, error) {
	got := make(chan drainResult, 1)
	w.post(func() { w.drain(nodes, got) })
	select {
	case r := <-got:
		return r.nodes, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// draining reports whether a node's drain is under way, or has ended and the shutdown after it has
// not begun.
func (w *switching) draining(node string) bool {
	drains := slices.ContainsFunc(w.drains.running, func(d *drain) bool { return d.has(node) })
	return drains || slices.ContainsFunc(w.requests, func(x *request) bool {
		return x.drain != nil && x.stage != acting && slices.Contains(x.nodes, node)
	})
}

// drain drains nodes before they are shut down.
func (w *switching) drain(nodes []string, got chan<- drainResult) {
	w.guest.Handle(Draining{slices.Clone(nodes)})
	d := &drain{by: drainerShutdown}
	for _, x := range w.requests {
		if slices.Equal(x.nodes, nodes) {
			x.drain = d
		}
	}
	d.over = func() {
		var r drainResult
		failed := map[string]string{}
		for _, n := range d.nodes {
			if n.state == drained || n.state == drainCut {
				r.nodes = append(r.nodes, n.node)
				continue
			}
			w.cordons.giveBack(n.node)
			failed[n.node] = n.whyOn()
		}
		if len(failed) > 0 {
			r.err = &power.ActionError{Action: power.ActionShutdown, Failed: failed}
		}
		w.machines.show(power.ActionShutdown, power.StageWaiting, "drained; polling the machine", r.nodes...)
		got <- r
	}
	w.drains.start(d, nodes)
}
