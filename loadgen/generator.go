package loadgen

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"
)

// ErrClosed is returned by Begin after Close.
var ErrClosed = errors.New("load: the generator is closed")

// Generator sends requests to one target and accounts for them. All methods
// are safe for concurrent use.
type Generator struct {
	*common
	cancel  context.CancelFunc
	client  *client
	sampler *sampler
	closing sync.Once

	// Guarded by the ledger's lock.
	closed  bool
	lastID  uint64
	spec    Spec
	working int // workers of holds that have a request in flight
}

// common holds the data that the parts of a generator share.
type common struct {
	opts   Options
	now    func() time.Time
	ctx    context.Context // ends with Close
	wg     sync.WaitGroup  // every goroutine that works for the generator
	ledger *ledger
}

// New makes a generator; it sends nothing before Begin. It returns an error
// when the target or a bound makes no sense. Close must be called in the end.
func New(o Options) (*Generator, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &common{opts: o, now: o.Now, ledger: newLedger(o.WindowLimit)}
	g := &Generator{common: c}
	g.client, err = newClient(c)
	if err != nil {
		return nil, err
	}
	g.sampler = newSampler(c)
	c.ctx, g.cancel = context.WithCancel(context.Background())
	g.wg.Go(g.sampler.loop)
	return g, nil
}

// Begin begins to send, and returns the number of the run, which its records carry
// (Record.Run). A burst is added to the running load, and its requests are in flight
// when Begin returns. A hold or rate replaces the running hold or rate; requests of the
// old one continue to their end, and a new hold counts those of the old hold as its
// own. The error describes the fault in the Spec; it is ErrClosed after Close.
func (g *Generator) Begin(s Spec) (number int, err error) {
	if err := s.validate(g.opts.MaxInFlight); err != nil {
		return 0, err
	}
	now := g.now()
	l := g.ledger
	l.mu.Lock()
	if g.closed {
		l.mu.Unlock()
		return 0, ErrClosed
	}
	l.started = now
	number = len(l.runs) + 1
	run := &oneRun{RunSum: RunSum{Result: Result{Number: number, Spec: s, Started: now}}, open: s.Shape != Burst}
	l.runs = append(l.runs, run)
	switch s.Shape {
	case Burst:
		if l.current == nil {
			g.spec = s
		}
		free := max(g.opts.MaxInFlight-len(l.live), 0)
		for range min(s.N, free) {
			g.send(run, now)
		}
		if s.N > free {
			g.skip(run, now, s.N-free, shedText(g.opts.MaxInFlight))
		}
		l.settleRun(run, now) // when all were shed
	case Hold, Rate:
		g.beginSteady(run, now)
	}
	l.notify()
	l.mu.Unlock()
	g.sampler.wake()
	return number, nil
}

// beginSteady begins a hold or rate; the ledger's lock is held.
func (g *Generator) beginSteady(c *oneRun, now time.Time) {
	g.endRun()
	s := c.Spec
	c.stop = make(chan struct{})
	g.spec, g.ledger.current = s, c
	if s.Shape == Rate {
		g.wg.Go(func() { g.rate(c, now) })
		return
	}
	// A rate ends by its schedule, so that it sends neither more nor less.
	if s.For > 0 {
		c.timer = time.AfterFunc(s.For, func() { g.StopRun(c.Number) })
	}
	for r := g.nextOfHold(now); r != nil; r = g.nextOfHold(now) {
		g.wg.Go(func() { g.hold(r) })
	}
}

// StopRun starts no more requests of a run that Begin has returned. Other runs,
// and the requests that are in flight, go on. It does nothing when that run has
// ended or has been replaced.
func (g *Generator) StopRun(run int) {
	g.ledger.mu.Lock()
	defer g.ledger.mu.Unlock()
	if c := g.ledger.current; c != nil && c.Number == run {
		g.endRun()
	}
}

// Result is the result so far of a run that Begin has returned; its totals are balanced at any moment.
// It is zero for a run that there is not. Its cost follows the requests in flight.
func (g *Generator) Result(run int) Result {
	l := g.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if run < 1 || run > len(l.runs) {
		return Result{}
	}
	return l.result(l.runs[run-1])
}

// Ended returns the results of all runs that have ended, in the order in which they ended,
// without the first ones of them: readers pass how many they have seen. The results are
// immutable, and the call costs next to nothing.
func (g *Generator) Ended(seen int) []*Result {
	g.ledger.mu.Lock()
	defer g.ledger.mu.Unlock()
	return slices.Clone(g.ledger.ended[min(seen, len(g.ledger.ended)):])
}

// Stop starts no more requests. Those in flight go on to their end, or are
// ended as cancelled; Stop does not wait for that (see Wait).
func (g *Generator) Stop(cancel bool) { g.stop(cancel, ClassCancelled, "cancelled") }

func (g *Generator) stop(abort bool, c Class, why string) {
	l := g.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	g.endRun()
	if abort {
		for _, r := range l.live {
			r.abort(c, why)
		}
	}
}

// Close ends everything: requests in flight end as censored, since nobody will
// know how they would have ended. It returns when every goroutine of the
// generator has ended and every record has been handed out.
func (g *Generator) Close() {
	g.ledger.mu.Lock()
	g.closed = true
	g.ledger.mu.Unlock()
	g.stop(true, ClassCensored, "still in flight at the end")
	g.cancel()
	g.wg.Wait()
	g.closing.Do(g.client.close)
}

// Run returns the state of the load. It is immutable and never nil. Its cost follows
// the requests in flight: it is meant for readers at 10 Hz or less.
func (g *Generator) Run() *Run {
	now := g.now()
	capacity, target, limited := g.opts.Capacity()
	l := g.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	out := &Run{
		Spec:      g.spec,
		Active:    l.current != nil,
		Totals:    l.totals(nil),
		Latency:   l.single.latency(),
		Gauge:     g.sampler.gauge(now, capacity, target, limited),
		Seconds:   l.time.seconds(now),
		LastError: l.single.lastError(),
		URL:       g.client.shown,
	}
	for _, r := range l.runs {
		out.Tokens += r.Tokens
		out.Redirects += r.Redirects
	}
	return out
}

// Changed returns a channel that is closed at the next change. It may change
// thousands of times a second: readers should call Run at most 10 times.
func (g *Generator) Changed() <-chan struct{} {
	g.ledger.mu.Lock()
	defer g.ledger.mu.Unlock()
	g.ledger.watched = true
	return g.ledger.changed
}

// Wait returns when no more requests will be started and none is in flight, or
// with the context's error. All records of ended requests have been handed out
// then.
func (g *Generator) Wait(ctx context.Context) error {
	l := g.ledger
	l.mu.Lock()
	if l.settled == nil {
		l.settled = make(chan struct{})
	}
	settled := l.settled
	l.notify()
	l.mu.Unlock()
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// register schedules a request; the ledger's lock is held, and there is room.
func (g *Generator) register(run *oneRun, now time.Time) *flight {
	id := g.nextID()
	r := &flight{
		client: g.client, of: run, total: g.opts.Timeouts.Total, message: int(g.lastID - 1),
		Record: Record{ID: id, Run: run.Number, Shape: run.Spec.Shape},
	}
	if run.Spec.Timeout > 0 {
		r.total = run.Spec.Timeout
	}
	g.ledger.add(r, now)
	return r
}

// send schedules a request that nothing follows, and sends it; the ledger's lock
// is held, and there is room.
func (g *Generator) send(run *oneRun, due time.Time) {
	r := g.register(run, due)
	g.wg.Go(func() { g.do(r) })
}

// do carries a request through to its end.
func (g *Generator) do(r *flight) {
	r.finish(g.client.exchange(r))
	g.opts.Record(r.Record)
	g.ledger.end(r)
}

// endRun ends the hold or rate that is running; the ledger's lock is held.
func (g *Generator) endRun() {
	if c := g.ledger.current; c != nil {
		if c.timer != nil {
			c.timer.Stop()
		}
		close(c.stop)
		g.ledger.current = nil
		c.open = false
		g.ledger.settleRun(c, g.now())
		g.ledger.notify()
	}
}

// skip counts n requests of a run that are not sent, and has their record handed out; the ledger's
// lock is held.
func (g *Generator) skip(run *oneRun, due time.Time, n int, text string) {
	run.Totals.Scheduled += n
	run.Totals.Unsent += n
	g.ledger.unsentRecords++
	g.ledger.notify()
	r := Record{ID: g.nextID(), Run: run.Number, Shape: run.Spec.Shape, Class: ClassUnsent, Count: n, Scheduled: due, Error: text}
	r.End = due.Add(g.now().Sub(due)) // on the clock of due, as of every request
	g.wg.Go(func() {
		g.opts.Record(r)
		g.ledger.mu.Lock()
		defer g.ledger.mu.Unlock()
		g.ledger.unsentRecords--
		g.ledger.notify()
	})
}

// nextID is the ID of a further record; the ledger's lock is held.
func (g *Generator) nextID() string {
	g.lastID++
	return g.client.idPrefix + "-" + strconv.FormatUint(g.lastID, 10)
}
