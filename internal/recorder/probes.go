package recorder

import (
	"slices"
	"time"

	"lightsout/loadgen"
)

// probes follows the requests' ends.
type probes struct {
	count bool          // failures are a sign
	every time.Duration // the interval between two requests; 0: unknown
	good  time.Time     // the end of the newest good answer before requests began to fail
	// newest is the end of the newest good answer, and inRow the good answers in a row.
	newest time.Time
	inRow  int
	// failed are the newest failures.
	failed []time.Time
}

// newProbes follows requests at that interval; 0: the recorder sends none, and none are a sign.
func newProbes(every time.Duration) probes { return probes{count: every > 0, every: every} }

const (
	// failedLeast requests must fail to be a sign: within failedWithin, or within
	// failedIntervals between two requests if that is longer.
	failedWithin    = 10 * time.Second
	failedIntervals = 3
	failedLeast     = 2
	// A failure after recoveredLeast good answers in a row, and recoveredWithin after the
	// failure before, is the first of others: requests had succeeded again.
	recoveredLeast  = 8
	recoveredWithin = 5 * time.Second
)

// note takes the end of a request. It reports whether failures are a sign from now on:
// it is the first good answer while none fails.
func (p *probes) note(q loadgen.Record, now time.Time) (first bool) {
	before := p.good
	switch {
	case !p.count:
		return false
	case q.Class.Failed():
		if p.recovered(now) {
			p.good = p.newest
		}
		p.failed, p.inRow = append(p.failedLately(now), now), 0
	case q.Class == loadgen.ClassOK:
		p.inRow++
		if q.End.After(p.newest) {
			p.newest = q.End
		}
		if len(p.failedLately(now)) == 0 {
			p.good = p.newest
		}
	}
	return before.IsZero() && !p.good.IsZero()
}

// recovered reports whether requests have succeeded again since the newest failure.
func (p *probes) recovered(now time.Time) bool {
	failed := p.failedLately(now)
	return len(failed) > 0 && p.inRow >= recoveredLeast && now.Sub(failed[len(failed)-1]) >= recoveredWithin
}

// failedLately forgets the failures that are too old for a sign, and returns the others.
func (p *probes) failedLately(now time.Time) []time.Time {
	within := max(failedWithin, failedIntervals*p.every)
	p.failed = slices.DeleteFunc(p.failed, func(t time.Time) bool { return now.Sub(t) > within })
	return p.failed
}

// failing reports whether requests fail, and when the last one before succeeded. Failures
// of a target that has never answered do not count.
func (p *probes) failing(now time.Time) (since time.Time, failing bool) {
	return p.good, !p.good.IsZero() && len(p.failedLately(now)) >= failedLeast
}
