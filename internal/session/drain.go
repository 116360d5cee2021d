package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

// drains is the drains under way.
type drains struct {
	*loop
	machines  *machines
	cordons   *cordons
	questions *Questions

	running []*drain
}

// start cordons nodes, journal first, and then evicts their pods. within, unless
// 0, bounds it all.
func (r *drains) start(d *drain, nodes []string, within time.Duration) {
	ctx, cancel := context.WithCancel(r.ctx)
	if within > 0 {
		ctx, cancel = context.WithTimeout(r.ctx, within)
	}
	contexts := make(map[*nodeDrain]context.Context, len(nodes))
	for _, name := range nodes {
		n := &nodeDrain{node: name}
		contexts[n], n.cancel = context.WithCancel(ctx)
		d.nodes = append(d.nodes, n)
		r.cordons.keep(name)
		r.show(d, n, "cordoning")
	}
	r.running = append(r.running, d)
	r.spawn(func() {
		defer cancel()
		r.carryOut(d, contexts)
	})
}

// carryOut cordons and drains off the loop.
func (r *drains) carryOut(d *drain, contexts map[*nodeDrain]context.Context) {
	each := func(do func(n *nodeDrain, ctx context.Context)) {
		var wg sync.WaitGroup
		for _, n := range d.nodes {
			wg.Go(func() { do(n, contexts[n]) })
		}
		wg.Wait()
	}
	var mu sync.Mutex
	ready := map[*nodeDrain]bool{}
	// All are cordoned first, so that none takes another's pods.
	each(func(n *nodeDrain, ctx context.Context) {
		ctx, stop := context.WithTimeout(ctx, planTimeout)
		defer stop()
		c := r.cordons.cordon(ctx, n.node, "before a drain")
		mu.Lock()
		ready[n] = c.err == nil
		mu.Unlock()
		r.inbox.put(nodeCordoned{d, n, c})
	})
	each(func(n *nodeDrain, ctx context.Context) {
		defer n.cancel()
		if !ready[n] {
			return
		}
		err := r.cordons.drainer.Drain(ctx, n.node, func(p cluster.DrainProgress) { r.inbox.put(drainProgress{d, n, p}) })
		r.inbox.put(nodeDrained{d, n, err})
	})
}

// What the goroutines of a drain tell.
type (
	nodeCordoned struct {
		drain  *drain
		node   *nodeDrain
		result cordoning
	}
	drainProgress struct {
		drain    *drain
		node     *nodeDrain
		progress cluster.DrainProgress
	}
	nodeDrained struct {
		drain *drain
		node  *nodeDrain
		err   error
	}
)

func (m nodeCordoned) deliver(s *Session) {
	s.cordons.cordoned(m.node.node, m.result)
	if m.result.err != nil {
		s.drains.drained(m.drain, m.node, m.result.err)
	}
	if m.node.state == drainLeft || m.node.state == drainWrong {
		s.cordons.release(m.node.node) // given up while it was being cordoned
	}
}

func (m drainProgress) deliver(s *Session) { s.drains.progress(m.drain, m.node, m.progress) }

func (m nodeDrained) deliver(s *Session) { s.drains.drained(m.drain, m.node, m.err) }

// show keeps a sentence on a drain for the machine's view.
func (r *drains) show(d *drain, n *nodeDrain, text string) {
	r.machines.update(n.node, func(v *view.MachineView) { v.Busy, v.Phase, v.Text = d.busy, power.PhaseAsking, text })
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

// drainRequest has nodes drained before they are shut down.
type drainRequest struct {
	nodes []string
	got   chan<- drainResult
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
	w.inbox.put(drainRequest{nodes, got})
	select {
	case r := <-got:
		return r.nodes, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m drainRequest) deliver(s *Session) {
	w := s.switching
	w.guest.Draining(slices.Clone(m.nodes))
	for _, x := range w.requests {
		x.drained = x.drained || slices.Equal(x.nodes, m.nodes)
	}
	d := &drain{asks: true, busy: power.ActionShutdown}
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
		w.busy(r.nodes, power.ActionShutdown, "drained; looking at the machine")
		m.got <- r
	}
	w.drains.start(d, m.nodes, 0)
}
