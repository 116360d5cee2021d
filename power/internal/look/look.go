// Package look serves drivers whose poll of a machine takes longer than the caller can
// wait: a fence agent that logs in first, a command that starts slowly.
package look

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lightsout/power"
)

// keep is how long an answer that nobody waited for is good for one who asks.
const keep = 15 * time.Second

// ErrClosed is given when the driver has been closed.
var ErrClosed = errors.New("the driver has been closed")

// Looks carries looks on while those who asked come and go: who asks again is
// given the answer to the question that is still under way. It is safe for use
// by several goroutines; Close ends all of them.
type Looks[T any] struct {
	limit  time.Duration
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	flights map[string]*flight[T]
}

type flight[T any] struct {
	done  chan struct{}
	began time.Time
	// Set before done is closed.
	ended time.Time
	value T
	err   error
	taken bool // somebody got the answer; under Looks.mu
}

// New makes Looks of which none takes longer than limit.
func New[T any](limit time.Duration) *Looks[T] {
	ctx, cancel := context.WithCancel(context.Background())
	return &Looks[T]{limit: limit, ctx: ctx, cancel: cancel, flights: map[string]*flight[T]{}}
}

// Do returns the result of ask for key, and when that request was sent. It runs one
// request for a key at a time. If ctx ends first, the request continues, and the error
// is a *power.SilentError.
func (l *Looks[T]) Do(ctx context.Context, key string, ask func(context.Context) (T, error)) (value T, asked time.Time, err error) {
	var zero T
	if ctx.Err() != nil {
		return zero, asked, ctx.Err()
	}
	l.mu.Lock()
	if l.ctx.Err() != nil {
		l.mu.Unlock()
		return zero, asked, ErrClosed
	}
	f := l.flights[key]
	if f == nil || f.stale() {
		f = &flight[T]{done: make(chan struct{}), began: time.Now()}
		l.flights[key] = f
		l.wg.Go(func() {
			ctx, cancel := context.WithTimeout(l.ctx, l.limit)
			defer cancel()
			f.value, f.err = ask(ctx)
			f.ended = time.Now()
			close(f.done)
		})
	}
	l.mu.Unlock()

	select {
	case <-f.done:
		l.mu.Lock()
		defer l.mu.Unlock()
		f.taken = true
		return f.value, f.began, f.err
	case <-ctx.Done():
		return zero, f.began, &power.SilentError{Text: fmt.Sprintf("no answer yet, asked %s ago", time.Since(f.began).Round(time.Second)), Err: ctx.Err()}
	}
}

// stale reports whether a flight can't answer who comes now.
func (f *flight[T]) stale() bool {
	select {
	case <-f.done:
		return f.taken || time.Since(f.ended) > keep
	default:
		return false
	}
}

// Forget makes who asks from now on get an answer to a question asked from now
// on: after something was switched.
func (l *Looks[T]) Forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.flights, key)
}

// Close ends all looks and waits for them.
func (l *Looks[T]) Close() {
	l.mu.Lock()
	l.cancel()
	l.mu.Unlock()
	l.wg.Wait()
}
