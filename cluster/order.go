package cluster

import (
	"context"
	"sync"
)

// stage is the order in which lightsout reads the first lists: nodes and heartbeats
// first, then workloads, and last pods, which are most of the data. Over a slow
// connection the screen shows the nodes while the pods are still arriving.
func stage(k Kind) int {
	switch k {
	case KindNode, KindLease, kindComponent:
		return 0
	case KindPod, KindNeighbour, KindKnativeService, KindRevision:
		return lastStage
	}
	return 1
}

const lastStage = 2

// readingOrder delays the lists of a stage until lightsout has tried those of the
// earlier stages.
type readingOrder struct {
	done [lastStage]chan struct{}

	mu   sync.Mutex
	left [lastStage]map[*source]bool // not tried yet
}

func newReadingOrder(sources []*source) *readingOrder {
	o := &readingOrder{}
	for i := range lastStage {
		o.done[i], o.left[i] = make(chan struct{}), map[*source]bool{}
	}
	for _, src := range sources {
		if i := stage(src.kind); i < lastStage {
			o.left[i][src] = true
		}
	}
	return o
}

// wait waits until the kind's turn, or until ctx ends.
func (o *readingOrder) wait(ctx context.Context, k Kind) {
	for _, done := range o.done[:stage(k)] {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

// tried records that the list of a source has arrived, or has failed once: a kind that
// lightsout cannot read must not delay the others.
func (o *readingOrder) tried(src *source) {
	i := stage(src.kind)
	if i == lastStage {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.left[i][src] {
		return
	}
	delete(o.left[i], src)
	if len(o.left[i]) == 0 {
		close(o.done[i])
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
