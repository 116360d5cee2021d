package loadgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"lightsout/internal/clock"
)

// waiting is what a request waits for: the time limit that runs.
type waiting uint8

const (
	waitDial      waiting = iota // Connect
	waitWrite                    // Total only
	waitFirstByte                // FirstByte
	waitBody                     // Idle, and the stall limit
	waitRest                     // graceTime: the outcome is known
)

// graceTime bounds the reading of data that cannot change the outcome any more (an error's text,
// data after the end mark of a stream), and of data that came while lightsout stood still.
const graceTime = 2 * time.Second

// stoodStill: a time limit that passed this long ago shows that the program or its machine stood
// still. Then the request first reads the bytes that came meanwhile, once each time.
const stoodStill = 500 * time.Millisecond

// flight is one request in flight: an entry of the ledger, and the record of the request so far.
type flight struct {
	client  *client
	of      *oneRun
	total   time.Duration // bounds the whole request; 0: no bound
	message int           // which of the target's messages is sent

	// The ledger's lock guards its Sent and Stalls, and Scheduled is set once; the
	// rest is the request's goroutine's own.
	Record

	// stalled changes under the ledger's lock; last is the time of the last
	// progress, as nanoseconds after Scheduled.
	stalled atomic.Bool
	last    atomic.Int64

	// Guarded by the ledger's lock.
	index  int // in the ledger's live
	second *Row
	wait   waiting
	since  time.Time // of wait
	timer  *time.Timer
	armed  time.Time // when the timer fires; zero: it is not set
	grace  time.Time // the end of the last such reading; zero: it was not needed
	cancel context.CancelFunc
	conn   net.Conn
	cause  *failure // why we have ended it ourselves
}

// now is the present moment on the request's one clock: the wall time at which
// it was due plus monotonic time.
func (r *flight) now() time.Time { return r.Scheduled.Add(r.client.now().Sub(r.Scheduled)) }

// lock locks the ledger, which has all requests.
func (r *flight) lock() (unlock func()) {
	r.client.ledger.mu.Lock()
	return r.client.ledger.mu.Unlock
}

// lastProgress is when the answer last made progress; Scheduled before that.
func (r *flight) lastProgress() time.Time { return r.Scheduled.Add(time.Duration(r.last.Load())) }

// dialContext returns a context that ends when the request is aborted or over.
func (r *flight) dialContext(parent context.Context) context.Context {
	ctx, cancel := context.WithCancel(parent)
	defer r.lock()()
	r.cancel = cancel
	if r.cause != nil {
		cancel()
	}
	return ctx
}

// enter begins a wait.
func (r *flight) enter(w waiting, now time.Time) {
	defer r.lock()()
	r.enterLocked(w, now)
}

func (r *flight) enterLocked(w waiting, now time.Time) {
	r.wait, r.since = w, now
	r.watch(now)
	r.client.ledger.notify()
}

// attach begins the writing to a connection; an abort closes it, if it is not
// nil. It reports false when the request has been aborted already.
func (r *flight) attach(c net.Conn) bool {
	defer r.lock()()
	r.conn = c
	r.enterLocked(waitWrite, r.Connected)
	return r.cause == nil
}

// detach takes the connection back; it reports false when an abort has closed
// it or will.
func (r *flight) detach() bool {
	defer r.lock()()
	r.conn = nil
	return r.cause == nil
}

// wrote begins the wait for an answer, if none has begun yet: it may be called
// by the connection's own goroutine at any time.
func (r *flight) wrote(now time.Time) {
	l := r.client.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if !r.End.IsZero() || r.wait != waitWrite {
		return
	}
	r.Sent = now
	l.place(r, now)
	r.enterLocked(waitFirstByte, now)
}

// expired is the timer's function.
func (r *flight) expired() {
	defer r.lock()()
	r.armed = time.Time{}
	r.watch(r.now())
}

// watch aborts the request if a bound has passed, and else sets the timer for
// the next one; the lock is held. A timer that fires too early only comes here again.
func (r *flight) watch(now time.Time) {
	if !r.End.IsZero() || r.cause != nil {
		return
	}
	t := &r.client.opts.Timeouts
	var next time.Time
	passed := func(from time.Time, bound time.Duration) bool {
		if bound <= 0 {
			return false
		}
		at := from.Add(bound)
		if now.Sub(at) > stoodStill && now.Sub(r.grace) > stoodStill {
			r.grace = now.Add(graceTime)
		}
		at = clock.Latest(at, r.grace)
		if !now.Before(at) {
			return true
		}
		next = clock.Earliest(next, at)
		return false
	}
	last := r.lastProgress()
	switch {
	case r.wait == waitDial && passed(r.since, t.Connect):
		r.abort(ClassConnectTimeout, fmt.Sprintf("no connection to %s within %v", cmp.Or(r.Entry, r.client.entries[0].addr), t.Connect))
	case r.wait == waitFirstByte && passed(r.since, t.FirstByte):
		r.abort(ClassFirstByte, fmt.Sprintf("no byte of an answer within %v", t.FirstByte))
	case r.wait == waitBody && passed(last, t.Idle):
		r.abort(ClassIdle, fmt.Sprintf("the answer stopped for %v", t.Idle))
	case r.wait == waitRest && passed(r.since, graceTime):
		r.abort("", "the outcome was known")
	case passed(r.Dial, r.total):
		r.abort(ClassTotal, fmt.Sprintf("not complete within %v", r.total))
	}
	if r.cause != nil {
		return
	}
	if r.wait == waitBody && !r.stalled.Load() && passed(last, t.Stall) {
		r.stalled.Store(true)
		r.Stalls = append(r.Stalls, Stall{From: now})
		r.client.ledger.notify()
	}
	if next.IsZero() || !r.armed.IsZero() && !next.Before(r.armed) {
		return
	}
	r.armed = next
	if wait := next.Sub(now); r.timer == nil {
		r.timer = time.AfterFunc(wait, r.expired)
	} else {
		r.timer.Reset(wait)
	}
}

// abort ends the request from outside: its waits return at once. The caller holds the
// lock.
func (r *flight) abort(c Class, why string) {
	if !r.End.IsZero() || r.cause != nil {
		return
	}
	r.cause = &failure{class: c, text: why}
	if r.cancel != nil {
		r.cancel()
	}
	if conn := r.conn; conn != nil {
		// Closing may block on a connection that is tunnelled.
		r.client.wg.Go(func() { conn.Close() })
	}
}

// aborted returns why we have ended the request; nil if we have not.
func (r *flight) aborted() *failure {
	defer r.lock()()
	return r.cause
}

// again takes out of the record what a try has put into it that does not count, and begins
// the wait for a connection again.
func (r *flight) again() {
	defer r.lock()()
	if r.cancel != nil {
		r.cancel()
	}
	r.Connected, r.Sent, r.FirstByte = time.Time{}, time.Time{}, time.Time{}
	r.Remote, r.Reused, r.Status, r.Bytes, r.Unframed = "", false, 0, 0, false
	r.last.Store(0)
	r.enterLocked(waitDial, r.now())
}

// received takes n more bytes of the answer into the record. Those of a chat's stream are
// no progress by themselves: a gateway sends comments while the model behind it is dead.
func (r *flight) received(n int) {
	r.Bytes += int64(n)
	if n > 0 && (r.FirstByte.IsZero() || r.client.opts.Target.Profile != Chat) {
		r.progress()
	}
}

// progress notes that the answer goes on, and returns the time.
func (r *flight) progress() time.Time {
	now := r.now()
	r.last.Store(int64(now.Sub(r.Scheduled)))
	first := r.FirstByte.IsZero()
	if !first && !r.stalled.Load() {
		return now
	}
	defer r.lock()()
	if r.stalled.Swap(false) {
		r.Stalls[len(r.Stalls)-1].To = now
	}
	if first {
		r.FirstByte = now
		r.wait, r.since = waitBody, now
	}
	r.watch(now)
	r.client.ledger.notify()
	return now
}

// finish stops the clocks and completes the record: how it ended, and why not
// well. After it nothing changes the record.
func (r *flight) finish(c Class, err error) {
	defer r.lock()()
	r.End = r.now()
	if r.wait == waitRest {
		r.End = r.since // bytes read after it do not count
	}
	r.conn = nil
	if r.timer != nil {
		r.timer.Stop()
	}
	if r.cancel != nil {
		r.cancel()
	}
	r.Class = c
	if !r.FirstByte.IsZero() {
		r.LastByte = clock.Earliest(r.lastProgress(), r.End)
	}
	if n := len(r.Stalls); n > 0 && r.Stalls[n-1].To.IsZero() {
		r.Stalls[n-1].To = r.End
	}
	if err != nil {
		most := maxErrorText
		if errors.As(err, new(*WayError)) {
			most = maxWayText
		}
		r.Errno, r.Error = errnoName(err), clean(r.client.hide(err.Error()), most)
	}
}
