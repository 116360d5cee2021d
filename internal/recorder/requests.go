package recorder

import (
	"slices"
	"time"

	"lightsout/loadgen"
)

// requests follows the requests of the recorder as they end.
type requests struct {
	// every is the interval between two of them; 0: there are none, and failures are no sign.
	every time.Duration
	// first is when the first that was ok was sent, good the end of the newest one.
	first, good time.Time
	failed      []loadgen.Record // the newest
}

const (
	// failedLeast requests must fail within failedWithin, or within failedIntervals between two
	// requests if that is longer.
	failedWithin    = 10 * time.Second
	failedIntervals = 3
	failedLeast     = 2
)

// note takes the end of a request. It reports whether it is the first good answer.
func (p *requests) note(q *loadgen.Record) (first bool) {
	switch {
	case p.every == 0:
	case q.Class.Failed():
		p.failed = append(p.failed, *q)
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

// fail reports whether requests fail that no mute covers while they were in flight, and since when:
// the last good answer, or when the first of them began to wait in vain if that is earlier. A
// request that hangs fails long after the service stopped to answer.
func (p *requests) fail(m mutes, now time.Time) (since time.Time, failing bool) {
	within := max(failedWithin, failedIntervals*p.every)
	p.failed = slices.DeleteFunc(p.failed, func(q loadgen.Record) bool { return now.Sub(q.End) > within })
	n := 0
	since = p.good
	for i := range p.failed {
		q := &p.failed[i]
		if m.cover(key{kind: requestsFail}, q.CountedAt(), q.End) {
			continue
		}
		n++
		if at := waitedSince(q); since.IsZero() || at.Before(since) {
			since = at
		}
	}
	return since, n >= failedLeast
}

// waitedSince is since when a failed request waited in vain: since it was sent, or got its last
// byte, if a time limit ended it, else from its end.
func waitedSince(q *loadgen.Record) time.Time {
	switch {
	case !q.Class.TimeLimit() && q.Class != loadgen.ClassConnectTimeout:
		return q.End
	case q.LastByte.After(q.CountedAt()):
		return q.LastByte
	}
	return q.CountedAt()
}
