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
	// first is when the first that was ok was sent.
	first time.Time
	// series has those that no mute covered while they were in flight.
	series loadgen.Series
	// muted are the newest failures that a mute covered, one after another: when the first and the last began.
	muted struct{ first, last time.Time }
}

// mutesOfRequests are the mutes of requests that have ended. Those covered begin no alert; any make it last.
func (r *Recorder) mutesOfRequests() mutes {
	if r.alerts.began(requestsFail) {
		return nil
	}
	return r.mutesNow(r.opt.Now())
}

// began is when the failures began of which one at that time is part, if a mute covered those before.
func (p *requests) began(at time.Time) time.Time {
	if at.After(p.muted.first) && at.Before(p.muted.last.Add(loadgen.FailingWithin(p.every))) {
		return p.muted.first
	}
	return at
}

// note takes the end of a request.
func (p *requests) note(q *loadgen.Record, m mutes) {
	if p.every == 0 {
		return
	}
	if q.Class == loadgen.ClassOK && p.first.IsZero() {
		p.first = q.CountedAt()
	}
	at := q.CountedAt()
	began := p.began(at)
	if q.Class == loadgen.ClassOK || m.over(key{kind: requestsFail}, began, at, q.End) == pending {
		p.series.Note(q, at)
		return
	}
	p.muted.first, p.muted.last = began, slices.MaxFunc([]time.Time{p.muted.last, at}, time.Time.Compare)
}
