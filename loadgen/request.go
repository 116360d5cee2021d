package loadgen

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// phase is what bounds a request's next wait.
type phase uint8

const (
	phaseDial    phase = iota // Connect
	phaseWrite                // Total only
	phaseWait                 // FirstByte
	phaseRead                 // Idle, and the stall limit
	phaseOutcome              // graceTime: the outcome is known
)

// graceTime bounds the reading of what can't change the outcome any more: an
// error's text, or what follows the end mark of a stream.
const graceTime = 2 * time.Second

// request is one entry of the ledger, and the trace of the request it stands
// for.
type request struct {
	client *client
	id     string
	total  time.Duration // bounds the whole request; 0: no bound
	of     *oneRun

	// Guarded by the ledger's lock. scheduled is set once.
	scheduled time.Time
	second    *slot
	state     state
	index     int // in the ledger's live; -1: ended
	stalls    []Stall

	// stalled changes under the ledger's lock; last is the time of the last
	// byte, as nanoseconds after scheduled.
	stalled atomic.Bool
	last    atomic.Int64

	// The trace, owned by the request's goroutine.
	dial, connected, written, first, firstToken time.Time

	message   int // which of the target's messages is sent
	redirects int
	entry     string
	remote    string
	reused    bool
	status    int
	bytes     int64
	tokens    int
	unframed  bool
	maxGap    time.Duration // the longest time between two tokens
	lastToken time.Time
	ended     time.Time // set by finish

	mu     sync.Mutex
	phase  phase
	since  time.Time // of the phase
	timer  *time.Timer
	armed  time.Time // when the timer fires; zero: it is not set
	cancel context.CancelFunc
	conn   net.Conn
	cause  *cause
	over   bool
}

// cause is why we have ended a request ourselves.
type cause struct {
	class Class
	err   error
}

// lastByte is when the last byte came; scheduled before that.
func (r *request) lastByte() time.Time { return r.scheduled.Add(time.Duration(r.last.Load())) }

// begin starts the clocks of a request.
func (r *request) begin() {
	r.dial = r.client.now()
	r.enter(phaseDial, r.dial)
}

// again goes back to dialing, to follow a redirect. What the trace tells of
// the connection is of the last one.
func (r *request) again() {
	now := r.client.now()
	r.connected, r.written, r.first = time.Time{}, time.Time{}, time.Time{}
	r.redirects++
	r.client.ledger.restart(r)
	r.enter(phaseDial, now)
}

// dialContext returns a context that ends when the request is aborted or over.
func (r *request) dialContext(parent context.Context) context.Context {
	ctx, cancel := context.WithCancel(parent)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel != nil {
		r.cancel() // of an earlier place of a redirect
	}
	r.cancel = cancel
	if r.cause != nil {
		cancel()
	}
	return ctx
}

// enter begins a phase.
func (r *request) enter(p phase, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enterLocked(p, now)
}

func (r *request) enterLocked(p phase, now time.Time) {
	r.phase, r.since = p, now
	r.watch(now)
}

// attach begins the writing to a connection; an abort closes it, if it is not
// nil. It reports false when the request has been aborted already.
func (r *request) attach(c net.Conn, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conn = c
	r.enterLocked(phaseWrite, now)
	return r.cause == nil
}

// detach takes the connection back; it reports false when an abort has closed
// it or will.
func (r *request) detach() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conn = nil
	return r.cause == nil
}

// wrote begins the wait for an answer, if none has begun yet: it may be called
// by the connection's own goroutine at any time.
func (r *request) wrote(now time.Time) {
	r.mu.Lock()
	if r.over || r.phase != phaseWrite {
		r.mu.Unlock()
		return
	}
	r.written = now
	r.enterLocked(phaseWait, now)
	r.mu.Unlock()
	r.client.ledger.wrote(r, r.onClock(now))
}

// expired is the timer's function.
func (r *request) expired() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.armed = time.Time{}
	r.watch(r.client.now())
}

// watch aborts the request if a bound has passed, and else sets the timer for
// the next one; mu is held. A timer that fires too early only comes here again.
func (r *request) watch(now time.Time) {
	if r.over || r.cause != nil {
		return
	}
	t := &r.client.opts.Timeouts
	var next time.Time
	passed := func(from time.Time, bound time.Duration) bool {
		if bound <= 0 {
			return false
		}
		at := from.Add(bound)
		if !now.Before(at) {
			return true
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
		return false
	}
	last := r.lastByte()
	switch {
	case r.phase == phaseDial && passed(r.since, t.Connect):
		r.abortLocked(ClassConnectTimeout, fmt.Errorf("no connection to %s within %v", r.client.route.wire.addr, t.Connect))
	case r.phase == phaseWait && passed(r.since, t.FirstByte):
		r.abortLocked(ClassFirstByte, fmt.Errorf("no byte of an answer within %v", t.FirstByte))
	case r.phase == phaseRead && passed(last, t.Idle):
		r.abortLocked(ClassIdle, fmt.Errorf("the answer stopped for %v", t.Idle))
	case r.phase == phaseOutcome && passed(r.since, graceTime):
		r.abortLocked("", errGrace)
	case passed(r.dial, r.total):
		r.abortLocked(ClassTotal, fmt.Errorf("not complete within %v", r.total))
	}
	if r.cause != nil {
		return
	}
	if r.phase == phaseRead && !r.stalled.Load() && passed(last, t.Stall) {
		r.client.ledger.stall(r, true, now)
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

// answered takes the headers of an HTTP/2 answer into the trace. They may be
// there before the connection's goroutine has said that the request is written:
// then it counts as written since it was handed over.
func (r *request) answered() {
	r.mu.Lock()
	early := r.written.IsZero()
	if early {
		r.written = r.connected
	}
	r.mu.Unlock()
	if early {
		r.client.ledger.wrote(r, r.onClock(r.connected))
	}
	r.progress(0)
}

// abort ends the request from outside: what it waits for returns at once.
func (r *request) abort(c Class, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abortLocked(c, err)
}

func (r *request) abortLocked(c Class, err error) {
	if r.over || r.cause != nil {
		return
	}
	r.cause = &cause{c, err}
	if r.cancel != nil {
		r.cancel()
	}
	if conn := r.conn; conn != nil {
		// Closing may block on a connection that is tunnelled.
		r.client.wg.Go(func() { conn.Close() })
	}
}

// aborted returns why we have ended the request; nil if we have not.
func (r *request) aborted() *cause {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cause
}

// finish stops the clocks. After it nothing changes the trace.
func (r *request) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.ended = r.client.now()
	if r.phase == phaseOutcome {
		r.ended = r.since // what was read after it does not count
	}
	r.conn = nil
	if r.timer != nil {
		r.timer.Stop()
	}
	if r.cancel != nil {
		r.cancel()
	}
}

// progress takes n more bytes of the answer into the trace.
func (r *request) progress(n int) {
	now := r.client.now()
	r.bytes += int64(n)
	r.last.Store(int64(now.Sub(r.scheduled)))
	if r.first.IsZero() {
		r.first = now
		r.client.ledger.move(r, streaming)
		r.enter(phaseRead, now)
	}
	if r.stalled.Load() {
		r.client.ledger.stall(r, false, now)
		r.mu.Lock()
		r.watch(now)
		r.mu.Unlock()
	}
}

// onClock gives a moment on the request's one clock: the wall time at which it
// was due plus monotonic time.
func (r *request) onClock(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return r.scheduled.Add(t.Sub(r.scheduled))
}

// record makes the evidence; the request is finished.
func (r *request) record(c Class, err error) Record {
	end, at := r.ended, r.onClock
	rec := Record{
		ID: r.id, Run: r.of.Number, Shape: r.of.Spec.Shape, Class: c,
		Scheduled: r.scheduled, Dial: at(r.dial), Connected: at(r.connected), Sent: at(r.written),
		FirstByte: at(r.first), FirstToken: at(r.firstToken), End: at(end),
		Remote: r.remote, Reused: r.reused, Status: r.status,
		Bytes: r.bytes, Tokens: r.tokens, Unframed: r.unframed,
		Entry: r.entry, Redirects: r.redirects,
		LastToken: at(r.lastToken), MaxGap: float64(r.maxGap.Microseconds()) / 1000,
	}
	if !r.first.IsZero() {
		rec.LastByte = r.lastByte()
	}
	for _, s := range r.stalls {
		if s.To.IsZero() {
			s.To = end
		}
		rec.Stalls = append(rec.Stalls, Stall{From: at(s.From), To: at(s.To)})
	}
	if err != nil {
		rec.Errno = errnoName(err)
		rec.Error = clean(err.Error(), maxErrorText)
	}
	return rec
}
