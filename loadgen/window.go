package loadgen

import (
	"maps"
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
}

// timeline keeps the last seconds. Its owner's lock guards it.
type timeline struct {
	ring  []*second
	first int64 // the first second ever; 0: none yet
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
		}
		out = append(out, w)
	}
	return out
}
