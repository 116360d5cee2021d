package knative

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// eventually waits until ok, with a generous limit.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not reached: %s", what)
		}
	}
}

func hold(t *testing.T, s *slots) *target {
	t.Helper()
	got, err := s.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestFirstAvailableTargetInOrderOfAddress(t *testing.T) {
	s := newSlots(1, 10)
	s.set([]string{"c", "a", "b"})
	for _, want := range []string{"a", "b", "c"} {
		if got := hold(t, s); got.addr != want {
			t.Errorf("got %s, want %s", got.addr, want)
		}
	}
}

func TestWaitersAreServedInOrderAndWhenTargetsCome(t *testing.T) {
	s := newSlots(1, 10)
	order := make(chan int, 3)
	for i := range 3 {
		go func() {
			s.acquire(context.Background())
			order <- i
		}()
		eventually(t, "the request waits", func() bool { _, queued, _ := s.counts(); return queued == i+1 })
	}
	for i := range 3 {
		s.set([]string{"a", "b", "c"}[:i+1])
		if got := <-order; got != i {
			t.Errorf("request %d was served as number %d", got, i)
		}
	}
}

func TestQueueOfLimitedDepth(t *testing.T) {
	s := newSlots(1, 1)
	s.set([]string{"a"})
	held := hold(t, s)
	done := make(chan error)
	go func() {
		got, err := s.acquire(context.Background())
		if err == nil {
			s.release(got)
		}
		done <- err
	}()
	eventually(t, "one waits", func() bool { _, queued, _ := s.counts(); return queued == 1 })
	if _, err := s.acquire(t.Context()); !errors.Is(err, errQueueFull) {
		t.Errorf("a request too many got %v", err)
	}
	s.release(held)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCancelledWaiterLeavesTheQueue(t *testing.T) {
	s := newSlots(1, 10)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errTimeout)
	if _, err := s.acquire(ctx); err != errTimeout {
		t.Errorf("got %v", err)
	}
	if active, queued, _ := s.counts(); active != 0 || queued != 0 {
		t.Errorf("%d active, %d queued", active, queued)
	}
}

// Serving's breaker counts requests that hang on pods which are gone: after
// half the pods died under load, the other half can't be used either.
func TestHungRequestsStealCapacity(t *testing.T) {
	s := newSlots(1, 10)
	s.set([]string{"a", "b", "c", "d"})
	hung := []*target{hold(t, s), hold(t, s)}
	s.set([]string{"c", "d"})
	if active, _, capacity := s.counts(); active != 2 || capacity != 2 {
		t.Fatalf("%d active of %d", active, capacity)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := s.acquire(ctx); err == nil {
		t.Fatalf("got a slot of %s", got.addr)
	}
	s.release(hung[0])
	if got := hold(t, s); got.addr != "c" {
		t.Errorf("got %s", got.addr)
	}
}

func TestSlotsAreNeverOverbookedOrLost(t *testing.T) {
	const each = 2
	s := newSlots(each, 1000)
	s.set([]string{"a", "b", "c"})
	var running [256]atomic.Int32
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			if i%5 == 0 { // some give up
				time.AfterFunc(time.Millisecond, cancel)
			}
			defer cancel()
			got, err := s.acquire(ctx)
			if err != nil {
				return
			}
			if n := running[got.addr[0]].Add(1); n > each {
				t.Errorf("%d requests on %s", n, got.addr)
			}
			time.Sleep(100 * time.Microsecond)
			running[got.addr[0]].Add(-1)
			s.release(got)
		})
	}
	wg.Wait()
	if active, queued, capacity := s.counts(); active != 0 || queued != 0 || capacity != 6 {
		t.Errorf("at the end %d active, %d queued, capacity %d", active, queued, capacity)
	}
}
