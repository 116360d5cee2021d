package cluster

import "context"

// turn is a lock that a goroutine may hold while it waits for the network: who waits for the
// turn gives up when its context ends.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn. The error is the context's.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// give ends the turn.
func (t turn) give() { <-t }
