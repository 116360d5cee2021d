package cluster

import (
	"sync"
	"sync/atomic"
)

// readFirst delays the other lists until lightsout has tried those of nodes and heartbeats: over a
// slow connection the screen shows the nodes while the pods, which are most of the data, are still
// arriving. A kind that lightsout cannot read does not delay the others.
func readFirst(sources []*source) {
	read := make(chan struct{})
	var left atomic.Int32
	for _, src := range sources {
		switch {
		case src.kind == KindNode || src.kind == KindLease || src.kind == kindComponent:
			left.Add(1)
			src.tried = sync.OnceFunc(func() {
				if left.Add(-1) == 0 {
					close(read)
				}
			})
		case src.after == nil:
			src.after = read
		}
	}
}

// unread returns the access to the kinds of sources before lightsout has read anything.
func unread(sources []*source) map[Kind]Access {
	out := map[Kind]Access{}
	for _, src := range sources {
		if src.kind != kindComponent && src.kind != KindKnativeService && src.kind != KindRevision {
			out[src.kind] = Access{}
		}
	}
	return out
}
