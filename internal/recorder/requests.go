package recorder

import (
	"slices"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// requests follows the requests of the recorder as they end.
type requests struct {
	// every is the interval between two of them; 0: there are none, and failures are no sign.
	every time.Duration
	// first is when the first that was ok was sent.
	first time.Time
	// good is the end of the newest good answer.
	good   time.Time
	failed []failure // the newest
}

// failure is a request that failed.
type failure struct {
	sent, ended time.Time
	// waited is since when it waited in vain: since it was sent, or got its last byte, if a time
	// limit ended it, else from its end.
	waited time.Time
}

const (
	// failedLeast requests must fail within failedWithin, or within failedIntervals between two
	// requests if that is longer.
	failedWithin    = 10 * time.Second
	failedIntervals = 3
	failedLeast     = 2
)

// note takes the end of a request. It reports whether it is the first good answer.
func (p *requests) note(q *loadgen.Record, now time.Time) (first bool) {
	switch {
	case p.every == 0:
	case q.Class.Failed():
		f := failure{sent: q.CountedAt(), ended: now, waited: now}
		if q.Class.TimeLimit() || q.Class == loadgen.ClassConnectTimeout {
			f.waited = f.sent
			if q.LastByte.After(f.sent) {
				f.waited = q.LastByte
			}
		}
		p.failed = append(p.lately(now), f)
	case q.Class == loadgen.ClassOK:
		if first = p.first.IsZero(); first {
			p.first = q.CountedAt()
		}
		if q.End.After(p.good) {
			p.good = q.End
		}
	}
	return first
}

// lately forgets the failures that are too old for a sign, and returns the others.
func (p *requests) lately(now time.Time) []failure {
	within := max(failedWithin, failedIntervals*p.every)
	p.failed = slices.DeleteFunc(p.failed, func(f failure) bool { return now.Sub(f.ended) > within })
	return p.failed
}

// fail reports whether requests fail that no mute covers while they were in flight, and since when:
// the last good answer, or when the first of them began to wait in vain if that is earlier, or the
// end of the last mute before. A request that hangs fails long after the service stopped to answer.
func (p *requests) fail(m mutes, now time.Time) (since time.Time, failing bool) {
	id := key{sign: view.SignRequests}
	counted := slices.DeleteFunc(slices.Clone(p.lately(now)), func(f failure) bool { return m.cover(id, f.sent, f.ended) })
	if len(counted) < failedLeast {
		return since, false
	}
	waited := slices.MinFunc(counted, func(a, b failure) int { return a.waited.Compare(b.waited) }).waited
	since = p.good
	if since.IsZero() || since.After(waited) {
		since = waited
	}
	if end := m.endBefore(id, waited); end.After(since) {
		since = end
	}
	return since, true
}
