package loadgen

import (
	"maps"
	"slices"
	"time"
)

// ledgerSecond is a second in the ledger. A request keeps a pointer to its second, so
// that its end changes that second however late it comes.
type ledgerSecond struct {
	Second
	unix    int64
	most    int        // the largest number of requests in flight at once
	latency *histogram // nil: no request is ok yet; frozen when there are enough newer ones
}

// histogramSeconds is how many seconds keep all their times. Requests of an
// earlier second which end later are counted, but are not in its quantiles.
const histogramSeconds = DefaultWindowLimit

// timeline keeps the last seconds. Its owner's lock guards it.
type timeline struct {
	ring  []*ledgerSecond
	first int64 // the first second ever; 0: none yet
	// growing are the histograms that take more times, oldest first.
	growing []*histogram
}

func newTimeline(limit int) timeline { return timeline{ring: make([]*ledgerSecond, limit)} }

// at returns the second that t lies in. One that is no longer kept is only
// the caller's.
func (l *timeline) at(t time.Time) *ledgerSecond {
	unix := t.Unix()
	if l.first == 0 || unix < l.first {
		l.first = unix
	}
	n := int64(len(l.ring))
	i := ((unix % n) + n) % n
	old := l.ring[i]
	if old != nil && old.unix == unix {
		return old
	}
	s := &ledgerSecond{unix: unix, Second: Second{At: time.Unix(unix, 0)}}
	if old == nil || old.unix < unix {
		l.ring[i] = s
	}
	return s
}

// took takes the time of an ok request into its second.
func (l *timeline) took(s *ledgerSecond, d time.Duration) {
	if s.latency == nil {
		if len(l.growing) == histogramSeconds {
			l.growing[0].freeze()
			l.growing = slices.Delete(l.growing, 0, 1)
		}
		s.latency = newHistogram()
		l.growing = append(l.growing, s.latency)
	}
	s.latency.add(d)
}

// seconds returns the last seconds up to now, oldest first and without gaps.
func (l *timeline) seconds(now time.Time) []Second {
	if l.first == 0 {
		return nil
	}
	last, n := now.Unix(), int64(len(l.ring))
	from := max(l.first, last-n+1)
	if from > last { // the clock was set back
		return nil
	}
	out := make([]Second, 0, last-from+1)
	for unix := from; unix <= last; unix++ {
		x := Second{At: time.Unix(unix, 0)}
		if s := l.ring[((unix%n)+n)%n]; s != nil && s.unix == unix {
			x = s.Second
			x.Failed, x.Later, x.Earlier = maps.Clone(s.Failed), maps.Clone(s.Later), maps.Clone(s.Earlier)
			x.Latency = s.latency.quantiles()
		}
		out = append(out, x)
	}
	return out
}
