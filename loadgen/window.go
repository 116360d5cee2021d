package loadgen

import (
	"maps"
	"slices"
	"time"
)

// second is one second of wall-clock time in the ledger. Requests keep a
// pointer to the second in which they were started, so that their end changes
// it however late it comes.
type second struct {
	unix                            int64
	sent, ok, cancelled, unresolved int
	failed                          map[Class]int
	gauge                           Gauge // the largest values seen in it
	sampled                         bool
	// times is nil before the first ok request; its spreads are nil, and shown
	// stands for them, when there are enough newer ones.
	times *secondTimes
}

// secondTimes are the times of the ok requests of a second.
type secondTimes struct {
	latency, fromSent           *spread
	shownLatency, shownFromSent Quantiles
}

// spreadSeconds is how many seconds keep a histogram. Requests of an earlier
// second which end later are counted, but are not in its quantiles.
const spreadSeconds = DefaultWindowLimit

// timeline keeps the last seconds. Its owner's lock guards it.
type timeline struct {
	ring  []*second
	first int64 // the first second ever; 0: none yet
	// times are those that keep a histogram, oldest first.
	times []*secondTimes
}

func newTimeline(limit int) timeline { return timeline{ring: make([]*second, limit)} }

// at returns the second that t lies in.
func (l *timeline) at(t time.Time) *second {
	unix := t.Unix()
	if l.first == 0 || unix < l.first {
		l.first = unix
	}
	n := int64(len(l.ring))
	i := ((unix % n) + n) % n
	if s := l.ring[i]; s != nil && s.unix == unix {
		return s
	}
	s := &second{unix: unix}
	l.ring[i] = s
	return s
}

// took takes the times of an ok request into its second.
func (l *timeline) took(s *second, r *request) {
	if s.times == nil {
		s.times = &secondTimes{}
		s.times.latency, s.times.fromSent = l.newSpreads()
		l.times = append(l.times, s.times)
	}
	if s.times.latency == nil {
		return
	}
	s.times.latency.add(r.ended.Sub(r.scheduled))
	if !r.written.IsZero() {
		s.times.fromSent.add(r.ended.Sub(r.written))
	}
}

// newSpreads returns two empty spreads; when there are enough, those of the
// oldest second, so that memory does not grow with time.
func (l *timeline) newSpreads() (a, b *spread) {
	if len(l.times) < spreadSeconds {
		return newSpread(), newSpread()
	}
	old := l.times[0]
	l.times = slices.Delete(l.times, 0, 1)
	a, b = old.latency, old.fromSent
	old.shownLatency, old.shownFromSent = old.quantiles()
	old.latency, old.fromSent = nil, nil
	a.reset()
	b.reset()
	return a, b
}

// quantiles returns what is shown; nil has nothing to show.
func (t *secondTimes) quantiles() (latency, fromSent Quantiles) {
	switch {
	case t == nil:
		return Quantiles{}, Quantiles{}
	case t.latency == nil:
		return t.shownLatency, t.shownFromSent
	}
	return t.latency.quantiles(), t.fromSent.quantiles()
}

// sample takes a gauge reading into its second: the largest values, and the
// last capacity.
func (l *timeline) sample(g Gauge) {
	s := l.at(g.At)
	s.sampled = true
	s.gauge.Served = max(s.gauge.Served, g.Served)
	s.gauge.Queued = max(s.gauge.Queued, g.Queued)
	s.gauge.Stalled = max(s.gauge.Stalled, g.Stalled)
	s.gauge.OnDead = max(s.gauge.OnDead, g.OnDead)
	s.gauge.Capacity, s.gauge.Target = g.Capacity, g.Target
}

// windows returns the last seconds up to now, oldest first and without gaps.
func (l *timeline) windows(now time.Time) []Window {
	if l.first == 0 {
		return nil
	}
	last, n := now.Unix(), int64(len(l.ring))
	from := max(l.first, last-n+1)
	if from > last { // the clock was set back
		return nil
	}
	out := make([]Window, 0, last-from+1)
	for unix := from; unix <= last; unix++ {
		w := Window{Second: time.Unix(unix, 0)}
		if s := l.ring[((unix%n)+n)%n]; s != nil && s.unix == unix {
			w.Sent, w.OK, w.Cancelled, w.Unresolved = s.sent, s.ok, s.cancelled, s.unresolved
			w.Failed = maps.Clone(s.failed)
			w.Served, w.Queued, w.Stalled, w.OnDead = s.gauge.Served, s.gauge.Queued, s.gauge.Stalled, s.gauge.OnDead
			w.Capacity, w.Target, w.Sampled = s.gauge.Capacity, s.gauge.Target, s.sampled
			w.Latency, w.FromSent = s.times.quantiles()
		}
		out = append(out, w)
	}
	return out
}
