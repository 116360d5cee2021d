package session

import (
	"context"
	"fmt"
	"sync"
)

// turns lets one call at a time change whether a node is cordoned: a cordon that passes an
// uncordon on its way would be lost. Its zero value is ready. It is safe for concurrent use.
type turns struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // by node; each holds one element while it is taken
}

// take waits for the node's turn, and returns the function that ends it.
func (t *turns) take(ctx context.Context, node string) (done func(), err error) {
	turn := t.turn(node)
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("lightsout still waits for the API server to cordon or uncordon %s: %w", node, ctx.Err())
	}
}

func (t *turns) turn(node string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken == nil {
		t.taken = map[string]chan struct{}{}
	}
	if t.taken[node] == nil {
		t.taken[node] = make(chan struct{}, 1)
	}
	return t.taken[node]
}
