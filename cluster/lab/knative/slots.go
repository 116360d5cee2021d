package knative

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// errQueueFull is what a request gets when as many wait as may.
var errQueueFull = errors.New("pending request queue full")

// slots is what limits concurrency, at the activator over all pods of a
// revision, at a queue-proxy over its one container. A request holds a slot of
// one target, or waits in line for one.
//
// A request that hangs on a target which has been taken away still counts
// against the limit, as in serving's breaker: see acquire.
type slots struct {
	each  int // slots of a target
	depth int // how many may wait

	mu      sync.Mutex
	in      int // requests that hold a slot, of targets that are gone too
	targets []*target
	waiting []chan *target
}

// target is one place where requests can go.
type target struct {
	addr string
	busy int // guarded by slots.mu
}

func newSlots(each, depth int) *slots { return &slots{each: each, depth: depth} }

// acquire takes a slot of the first target, in order of address, that has one
// free: the policy of the activator for a container concurrency of up to 3.
// It waits while as many requests hold slots as the present targets have, and
// fails with errQueueFull, or with the cause of ctx's end.
func (s *slots) acquire(ctx context.Context) (*target, error) {
	s.mu.Lock()
	if len(s.waiting) == 0 {
		if t := s.take(); t != nil {
			s.mu.Unlock()
			return t, nil
		}
	}
	if len(s.waiting) >= s.depth {
		s.mu.Unlock()
		return nil, errQueueFull
	}
	turn := make(chan *target, 1)
	s.waiting = append(s.waiting, turn)
	s.mu.Unlock()

	select {
	case t := <-turn:
		return t, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	if i := slices.Index(s.waiting, turn); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		s.mu.Unlock()
	} else { // its turn came at the same moment
		s.mu.Unlock()
		s.release(<-turn)
	}
	return nil, context.Cause(ctx)
}

// take takes a slot if there is one. It is called with mu held.
func (s *slots) take() *target {
	if s.in >= s.each*len(s.targets) {
		return nil
	}
	for _, t := range s.targets {
		if t.busy < s.each {
			t.busy++
			s.in++
			return t
		}
	}
	return nil
}

// release gives a slot back.
func (s *slots) release(t *target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.busy--
	s.in--
	s.serve()
}

// serve gives free slots to those who wait. It is called with mu held.
func (s *slots) serve() {
	for len(s.waiting) > 0 {
		t := s.take()
		if t == nil {
			return
		}
		s.waiting[0] <- t
		s.waiting = slices.Delete(s.waiting, 0, 1)
	}
}

// set makes addrs the targets. One that stays keeps its requests.
func (s *slots) set(addrs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := map[string]*target{}
	for _, t := range s.targets {
		old[t.addr] = t
	}
	addrs = slices.Sorted(slices.Values(addrs))
	s.targets = make([]*target, 0, len(addrs))
	for _, a := range addrs {
		t := old[a]
		if t == nil {
			t = &target{addr: a}
		}
		s.targets = append(s.targets, t)
	}
	s.serve()
}

// counts returns how many requests hold a slot and how many wait, and how
// many slots there are.
func (s *slots) counts() (active, queued, capacity int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in, len(s.waiting), s.each * len(s.targets)
}
