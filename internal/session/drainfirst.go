package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"lightsout/power"
)

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
