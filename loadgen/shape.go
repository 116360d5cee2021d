package loadgen

import (
	"fmt"
	"time"
)

const (
	// maxRate is the largest rate, in requests a second.
	maxRate = 100_000
	// lateBound is how late a request of a rate may be sent. Later ones are
	// skipped and counted as unsent: after a pause of the process nothing is
	// made up for in a burst.
	lateBound = 100 * time.Millisecond
	// failPause is the least time between two starts on one place of a hold
	// when the first failed: a service that refuses connections is not
	// hammered as fast as it can refuse.
	failPause = 100 * time.Millisecond
)

func shedText(bound int) string {
	return fmt.Sprintf("shed: %d requests were in flight, which is the bound", bound)
}

// hold keeps one place of a hold filled, beginning with r.
func (g *Generator) hold(r *flight) {
	for r != nil {
		g.do(r)
		if r.Class.Failed() {
			g.waitUntil(r.Scheduled.Add(failPause), g.ctx.Done())
		}
		now := g.now()
		g.ledger.mu.Lock()
		g.working--
		r = g.nextOfHold(now)
		g.ledger.mu.Unlock()
	}
}

// nextOfHold schedules a request of the running hold; nil if all its workers are busy,
// or if there is no hold. The caller holds the ledger's lock, and has checked that
// there is room.
func (g *Generator) nextOfHold(now time.Time) *flight {
	c := g.ledger.current
	if c == nil || c.Spec.Shape != Hold || g.working >= c.Spec.N {
		return nil
	}
	g.working++
	r := g.register(c, now)
	if c.Spec.Requests > 0 && c.Totals.Scheduled >= c.Spec.Requests {
		g.endRun()
	}
	return r
}

// waitUntil waits for a moment, and reports false when something ends before.
func (g *Generator) waitUntil(at time.Time, ends <-chan struct{}) bool {
	wait := at.Sub(g.now())
	if wait <= 0 {
		return true
	}
	select {
	case <-time.After(wait):
		return true
	case <-ends:
		return false
	}
}

// dueAfter is when request i of a rate is due after its begin.
func (s Spec) dueAfter(i int) time.Duration {
	return time.Duration(float64(i) / s.PerSecond * float64(time.Second))
}

// has reports whether a rate has a request i, from 0.
func (s Spec) has(i int) bool {
	return (s.Requests == 0 || i < s.Requests) && (s.For == 0 || s.dueAfter(i) < s.For)
}

// rate sends on an absolute schedule, which is kept however long sending took, and whatever
// becomes of the wall clock: begin counts on the monotonic clock only.
func (g *Generator) rate(c *oneRun, begin time.Time) {
	for i := 0; ; {
		due := c.Spec.dueAfter(i)
		if c.Spec.For > 0 {
			due = min(due, c.Spec.For)
		}
		if !g.waitUntil(begin.Add(due), c.stop) {
			return
		}
		n, more := g.tick(c, i, begin)
		if !more {
			return
		}
		i += n
	}
}

// tick sends request i of a rate, or skips it if it is too late, or if too many are in flight. It
// returns how many requests it has dealt with, and whether there are more.
func (g *Generator) tick(c *oneRun, i int, begin time.Time) (n int, more bool) {
	now := g.now()
	late := now.Sub(begin.Add(c.Spec.dueAfter(i)))
	due := now.Add(-late) // the wall clock may have been set since begin
	l := g.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != c {
		return 0, false
	}
	if c.Spec.For > 0 && c.Spec.dueAfter(i) >= c.Spec.For {
		g.endRun()
		return 0, false
	}
	n = 1
	switch {
	case late > lateBound:
		for c.Spec.has(i+n) && c.Spec.dueAfter(i+n) < now.Add(-lateBound).Sub(begin) {
			n++
		}
		g.skip(c, due, n, fmt.Sprintf("late: it was due %v ago", late.Round(time.Millisecond)))
	case len(l.live) >= g.opts.MaxInFlight:
		g.skip(c, due, n, shedText(g.opts.MaxInFlight))
	default:
		g.send(c, due)
	}
	more = c.Spec.Requests == 0 || i+n < c.Spec.Requests
	if !more {
		g.endRun()
	}
	return n, more
}
