package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/power"
)

const (
	// heldLimit is how long a drain is held up before the operator is asked,
	// and heldAgain how long it is waited on before they are asked again.
	heldLimit = 15 * time.Second
	heldAgain = time.Minute
)

// IDs of choices about a drain that is held up.
const (
	drainWait = "wait"
	drainOn   = "cut" // shut down all the same
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
	// before is what the nodes are drained for, and shown to be under, and the
	// operator is asked when one is held up; empty: for nothing else.
	before power.Action
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
	// held is what was said last of what holds it; askAt is when to ask.
	held  string
	askAt time.Time
	asked *asked
}

// drains is the drains under way.
type drains struct {
	*loop
	machines *machines
	cordons  *cordons

	running []*drain
}

// start cordons nodes, journal first, and then evicts their pods. within, unless
// 0, bounds it all.
func (r *drains) start(d *drain, nodes []string, within time.Duration) {
	if within == 0 {
		within = math.MaxInt64
	}
	r.running = append(r.running, d)
	d.cordoning = len(nodes)
	for _, name := range nodes {
		n := &nodeDrain{node: name}
		n.ctx, n.cancel = context.WithTimeout(r.ctx, within)
		d.nodes = append(d.nodes, n)
		r.cordons.keep(name)
		r.machines.busy(d.before, "cordoning", name)
		r.spawn(func() {
			ctx, stop := context.WithTimeout(n.ctx, planTimeout)
			defer stop()
			post(r.loop, r.cordons.cordon(ctx, name, "before a drain"), func(c cordoning) { r.cordoned(d, n, c) })
		})
	}
}

// cordoned takes in what has become of a node's cordon, and drains once all have
// been cordoned, so that none takes another's pods.
func (r *drains) cordoned(d *drain, n *nodeDrain, c cordoning) {
	r.cordons.cordoned(n.node, c)
	if c.err != nil {
		r.drained(d, n, c.err)
	}
	if n.state == drainLeft || n.state == drainWrong {
		r.cordons.release(n.node) // given up while it was being cordoned
	}
	if d.cordoning--; d.cordoning > 0 || r.ctx.Err() != nil {
		return
	}
	for _, n := range d.nodes {
		if n.state != draining {
			continue
		}
		r.spawn(func() {
			err := r.opt.Drain.Drain(n.ctx, n.node, func(p cluster.DrainProgress) {
				post(r.loop, p, func(p cluster.DrainProgress) { r.progress(d, n, p) })
			})
			post(r.loop, err, func(err error) { r.drained(d, n, err) })
		})
	}
}

// drain is a drain that nobody is asked about; end is called with what came of it.
func (r *drains) drain(nodes []string, within time.Duration, end func(error)) {
	d := &drain{}
	d.over = func() {
		var errs []error
		for _, n := range d.nodes {
			if n.err != nil {
				errs = append(errs, n.err)
			}
		}
		err := errors.Join(errs...)
		if err != nil {
			err = fmt.Errorf("not over within %s: %w", text.Span(within), err)
		}
		end(err)
	}
	r.start(d, nodes, within)
}

// drainResult are the nodes that are drained, or that the operator would not
// wait for; the error says what of the others.
type drainResult struct {
	nodes []string
	err   error
}

// Drain is power.Drainer's.
func (w *switching) Drain(ctx context.Context, nodes []string) ([]string, error) {
	got := make(chan drainResult, 1)
	post(w.loop, nodes, func(nodes []string) { w.drain(nodes, got) })
	select {
	case r := <-got:
		return r.nodes, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// drain drains nodes before they are shut down.
func (w *switching) drain(nodes []string, got chan<- drainResult) {
	w.guest.Draining(slices.Clone(nodes))
	for _, x := range w.requests {
		x.drained = x.drained || slices.Equal(x.nodes, nodes)
	}
	d := &drain{before: power.ActionShutdown}
	d.over = func() {
		var r drainResult
		var errs []error
		for _, n := range d.nodes {
			if n.state == drained || n.state == drainCut {
				r.nodes = append(r.nodes, n.node)
				continue
			}
			w.cordons.release(n.node)
			errs = append(errs, cmp.Or(n.err, fmt.Errorf("%s was left on", n.node)))
		}
		r.err = errors.Join(errs...)
		w.machines.busy(power.ActionShutdown, "drained; looking at the machine", r.nodes...)
		got <- r
	}
	w.drains.start(d, nodes, 0)
}
