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
	// first is when the first request with a good answer was sent, newest the end of the newest
	// good answer, and inRow the good answers in a row.
	first  time.Time
	newest time.Time
	inRow  int
	// goods are the ends of good answers, the newest of each second, for goodsKept.
	goods []time.Time
	// failed are the newest failures. A record or a plan explains those before explained.
	failed    []failedProbe
	explained time.Time
}

// failedProbe is a request that failed, and when. It was waiting in vain from that moment on: from
// when it was sent, or had got its last byte, if a time limit ended it, else from its end.
type failedProbe struct {
	waiting, ended time.Time
	// before: requests had succeeded again before the failures that followed.
	before bool
}

// failedAt is the failedProbe of a request that failed now.
func failedAt(q *loadgen.Record, now time.Time) failedProbe {
	f := failedProbe{waiting: now, ended: now}
	if q.Class.TimeLimit() || q.Class == loadgen.ClassConnectTimeout {
		f.waiting = q.CountedAt()
		if q.LastByte.After(f.waiting) {
			f.waiting = q.LastByte
		}
	}
	return f
}

// goodsKept is the longest time that a request may have been in flight when it fails, so that the
// recorder knows the last good answer before it was sent.
const goodsKept = time.Hour

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
			for i := range p.failed {
				p.failed[i].before = true
			}
		}
		p.failed, p.inRow = append(p.failedLately(now), failedAt(&q, now)), 0
	case q.Class == loadgen.ClassOK:
		p.inRow++
		if p.first.IsZero() {
			p.first = q.CountedAt()
		}
		if q.End.After(p.newest) {
			p.newest = q.End
			p.keep(q.End)
		}
		if len(p.counted(now)) == 0 {
			p.good = p.newest
		}
	}
	return before.IsZero() && !p.good.IsZero()
}

// recovered reports whether requests have succeeded again since the newest failure.
func (p *probes) recovered(now time.Time) bool {
	failed := p.failedLately(now)
	return len(failed) > 0 && p.inRow >= recoveredLeast && now.Sub(failed[len(failed)-1].ended) >= recoveredWithin
}

// failedLately forgets the failures that are too old for a sign, and returns the others.
func (p *probes) failedLately(now time.Time) []failedProbe {
	within := max(failedWithin, failedIntervals*p.every)
	p.failed = slices.DeleteFunc(p.failed, func(f failedProbe) bool { return now.Sub(f.ended) > within })
	return p.failed
}

// keep adds the end of a good answer to goods.
func (p *probes) keep(end time.Time) {
	if n := len(p.goods); n > 0 && p.goods[n-1].Unix() == end.Unix() {
		p.goods[n-1] = end
		return
	}
	old := 0
	for old < len(p.goods) && end.Sub(p.goods[old]) > goodsKept {
		old++
	}
	p.goods = append(slices.Delete(p.goods, 0, old), end)
}

// goodBefore is the end of the last good answer up to that moment; the moment itself if none is known.
func (p *probes) goodBefore(at time.Time) time.Time {
	i, found := slices.BinarySearchFunc(p.goods, at, time.Time.Compare)
	if found || i == 0 {
		return at
	}
	return p.goods[i-1]
}

// goodFrom is the end of the first good answer from that moment on; the moment itself if there was none.
func (p *probes) goodFrom(at time.Time) time.Time {
	if i, _ := slices.BinarySearchFunc(p.goods, at, time.Time.Compare); i < len(p.goods) {
		return p.goods[i]
	}
	return at
}

// counted returns the failures that may be a sign: not those of requests that waited before the
// first request that was ok, nor before explained if the service has answered since.
func (p *probes) counted(now time.Time) (out []failedProbe) {
	for _, f := range p.failedLately(now) {
		over := f.waiting.Before(p.explained) && p.newest.After(f.waiting)
		if !over && !f.waiting.Before(p.first) {
			out = append(out, f)
		}
	}
	return out
}

// unexplained reports whether some of those failures are none that a record or a plan explains: one
// request waited only after that, or several failed after it. The service may have returned, and no
// request shown it yet.
func (p *probes) unexplained(failed []failedProbe) bool {
	later := 0
	for _, f := range failed {
		if !f.waiting.Before(p.explained) {
			return true
		}
		if !f.ended.Before(p.explained) {
			later++
		}
	}
	return later >= failedLeast
}

// failing reports whether requests fail, and when the last one succeeded before the first of them
// waited in vain: a request that hangs fails long after the service stopped to answer. Failures
// of a target that has never answered do not count.
func (p *probes) failing(now time.Time) (since time.Time, failing bool) {
	failed := p.counted(now)
	if p.good.IsZero() || len(failed) < failedLeast || !p.unexplained(failed) {
		return p.good, false
	}
	since = p.good
	for _, f := range failed {
		if !f.before && f.waiting.Before(since) {
			since = p.goodBefore(f.waiting)
		}
	}
	return since, true
}
