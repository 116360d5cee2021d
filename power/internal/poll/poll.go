// Package poll serves drivers whose poll of a machine takes longer than the caller can
// wait: a fence agent that logs in first, a command that starts slowly.
package poll

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lightsout/power"
)

// keep is how long an answer that nobody waited for stays valid.
const keep = 15 * time.Second

// ErrClosed is given when the driver has been closed.
var ErrClosed = errors.New("the driver has been closed")

// Shared polls on while its callers come and go: a caller that asks again receives the
// answer of the poll under way. It is safe for concurrent use; Close ends all polls.
type Shared[T any] struct {
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
	taken bool // somebody got the answer; under Shared.mu
}

// New makes a Shared whose polls take no longer than limit.
func New[T any](limit time.Duration) *Shared[T] {
	ctx, cancel := context.WithCancel(context.Background())
	return &Shared[T]{limit: limit, ctx: ctx, cancel: cancel, flights: map[string]*flight[T]{}}
}

// Do returns the result of ask for key, and when that request was sent. It runs one
// request for a key at a time. If ctx ends first, the request continues, and the error
// is a *power.SilentError.
func (l *Shared[T]) Do(ctx context.Context, key string, ask func(context.Context) (T, error)) (value T, asked time.Time, err error) {
	if ctx.Err() != nil {
		return value, asked, ctx.Err()
	}
	l.mu.Lock()
	if l.ctx.Err() != nil {
		l.mu.Unlock()
		return value, asked, ErrClosed
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
		return value, f.began, &power.SilentError{Text: fmt.Sprintf("no answer yet, asked %s ago", time.Since(f.began).Round(time.Second)), Err: ctx.Err()}
	}
}

// stale reports whether a flight cannot answer a new caller.
func (f *flight[T]) stale() bool {
	select {
	case <-f.done:
		return f.taken || time.Since(f.ended) > keep
	default:
		return false
	}
}

// Forget drops the poll of key, so that the next caller starts a new one: after a
// machine was switched.
func (l *Shared[T]) Forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.flights, key)
}

// Close ends all polls and waits for them.
func (l *Shared[T]) Close() {
	l.mu.Lock()
	l.cancel()
	l.mu.Unlock()
	l.wg.Wait()
}
