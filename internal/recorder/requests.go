package recorder

import (
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
}

// mutesOfRequests are the mutes of requests that have ended. Those covered begin no alert; any make it last.
func (r *Recorder) mutesOfRequests() mutes {
	if r.alerts.began(requestsFail) {
		return nil
	}
	return r.mutesNow(r.opt.Now())
}

// note takes the end of a request. It reports whether it is the first good answer.
func (p *requests) note(q *loadgen.Record, m mutes) (first bool) {
	if p.every == 0 {
		return false
	}
	if first = q.Class == loadgen.ClassOK && p.first.IsZero(); first {
		p.first = q.CountedAt()
	}
	if q.Class == loadgen.ClassOK || m.over(key{kind: requestsFail}, q.CountedAt(), q.End) == pending {
		p.series.Note(q, q.CountedAt())
	}
	return first
}
