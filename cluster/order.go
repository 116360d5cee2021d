package cluster

import (
	"context"
	"sync"
)

// readingOrder delays the other lists until lightsout has tried those of nodes and heartbeats: over a
// slow connection the screen shows the nodes while the pods, which are most of the data, are still
// arriving.
type readingOrder struct {
	done chan struct{}

	mu   sync.Mutex
	left map[*source]bool // not tried yet
}

func readFirst(k Kind) bool { return k == KindNode || k == KindLease || k == kindComponent }

func newReadingOrder(sources []*source) *readingOrder {
	o := &readingOrder{done: make(chan struct{}), left: map[*source]bool{}}
	for _, src := range sources {
		if readFirst(src.kind) {
			o.left[src] = true
		}
	}
	return o
}

// wait waits until the kind's turn, or until ctx ends.
func (o *readingOrder) wait(ctx context.Context, k Kind) {
	if readFirst(k) {
		return
	}
	select {
	case <-o.done:
	case <-ctx.Done():
	}
}

// tried records that the list of a source has arrived, or has failed once: a kind that
// lightsout cannot read must not delay the others.
func (o *readingOrder) tried(src *source) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.left[src] {
		delete(o.left, src)
		if len(o.left) == 0 {
			close(o.done)
		}
	}
}

// unread returns the access to the kinds of sources before lightsout has read anything.
func unread(sources []*source) map[Kind]Access {
	out := map[Kind]Access{}
	for _, src := range sources {
		if src.kind != kindComponent && src.after == nil {
			out[src.kind] = Access{}
		}
	}
	return out
}
