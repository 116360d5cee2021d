package loadgen

import (
	"fmt"
	"math"
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
func (g *Generator) hold(r *request) {
	for r != nil {
		class, _ := g.do(r)
		if class != ClassOK && class != ClassCancelled {
			if wait := failPause - g.now().Sub(r.scheduled); wait > 0 {
				g.pause(wait)
			}
		}
		now := g.now()
		g.ledger.mu.Lock()
		r = g.nextHeld(now)
		if r == nil {
			g.holdWorkers--
		}
		g.ledger.mu.Unlock()
	}
	g.settle()
}

// nextHeld schedules the next request of the hold that is running; nil: the
// place is not needed any more. The ledger's lock is held. When called for a
// place that exists already, that place is part of holdWorkers.
func (g *Generator) nextHeld(now time.Time) *request {
	c := g.current
	if c == nil || c.spec.Shape != Hold || g.holdWorkers > c.spec.N {
		return nil
	}
	r := g.register(c.number, Hold, now)
	c.started++
	if c.spec.Requests > 0 && c.started >= c.spec.Requests {
		g.endRun()
	}
	return r
}

// pause waits, or returns early when the generator is closed.
func (g *Generator) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-g.ctx.Done():
	}
}

// rate sends on an absolute schedule: request i is due at begin + i/rate,
// however long sending took.
func (g *Generator) rate(c *run, begin time.Time) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	due := func(i int) time.Time {
		return begin.Add(time.Duration(float64(i) / c.spec.PerSecond * float64(time.Second)))
	}
	for i := 0; ; {
		if wait := due(i).Sub(g.now()); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-c.stop:
				return
			}
		}
		n, more := g.tick(c, i, due(i))
		if !more {
			g.settle()
			return
		}
		i += n
	}
}

// tick sends request i of a rate, or skips what is too late or too much. It
// returns how many requests it has dealt with, and whether there are more.
func (g *Generator) tick(c *run, i int, due time.Time) (n int, more bool) {
	now := g.now()
	l := g.ledger
	l.mu.Lock()
	if g.current != c {
		l.mu.Unlock()
		return 0, false
	}
	n = 1
	text := ""
	if late := now.Sub(due); late > lateBound {
		n += int(math.Floor((late - lateBound).Seconds() * c.spec.PerSecond))
		if c.spec.Requests > 0 {
			n = min(n, c.spec.Requests-i)
		}
		text = fmt.Sprintf("late: it was due %v ago", late.Round(time.Millisecond))
	} else if len(l.live) >= g.opts.MaxInFlight {
		text = shedText(g.opts.MaxInFlight)
	}
	if text == "" {
		r := g.register(c.number, Rate, due)
		g.wg.Go(func() { g.do(r); g.settle() })
	} else {
		l.skip(n)
	}
	c.started += n
	more = c.spec.Requests == 0 || c.started < c.spec.Requests
	if !more {
		g.endRun()
		l.notify()
	}
	l.mu.Unlock()
	if text != "" {
		g.unsent(c.number, Rate, due, n, text)
	}
	return n, more
}
