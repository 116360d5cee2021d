package loadgen

import (
	"maps"
	"slices"
	"time"
)

// Second is one second of wall-clock time. A request counts in the second in
// which it was sent; while it has not been sent yet, and if it never is, in the
// one in which it was due (Record.CountedAt). So the past may change while
// Unresolved is more than 0, and a request that waits for its connection moves.
type Second struct {
	// At is the second's start.
	At time.Time `json:"at,omitzero"`
	// Sent, OK, Failed, Cancelled and Unresolved count the requests of it.
	Sent       int           `json:"sent,omitzero"`
	OK         int           `json:"ok,omitzero"`
	Cancelled  int           `json:"cancelled,omitzero"`
	Unresolved int           `json:"unresolved,omitzero"`
	Failed     map[Class]int `json:"failed,omitzero"`
	// Later are those of Failed that failed in a later second; Earlier are the requests
	// that failed in this second and were sent in an earlier one.
	Later   map[Class]int `json:"failed_later,omitzero"`
	Earlier map[Class]int `json:"sent_earlier,omitzero"`
	// Served, Queued, Stalled, OnDead and Unknown are one reading of the gauge in it (see
	// Sample), Capacity and Target the last ones. Sampled is false when it was not read.
	Served   int  `json:"served,omitzero"`
	Queued   int  `json:"queued,omitzero"`
	Stalled  int  `json:"stalled,omitzero"`
	OnDead   int  `json:"on_dead,omitzero"`
	Unknown  int  `json:"unknown,omitzero"`
	Capacity int  `json:"capacity,omitzero"`
	Target   int  `json:"target,omitzero"`
	Sampled  bool `json:"sampled,omitzero"`
	// Latency is of the requests of it that are ok, from when they were due.
	Latency Quantiles `json:"latency,omitzero"`
}

// FailedSum is the number of failed requests of all classes.
func (s Second) FailedSum() int { return sumOf(s.Failed) }

// FailedIn are the requests that failed in the second, whenever they were sent.
func (s Second) FailedIn() map[Class]int {
	if len(s.Later)+len(s.Earlier) == 0 {
		return s.Failed
	}
	in := maps.Clone(s.Failed)
	for c, n := range s.Earlier {
		addTo(&in, c, n)
	}
	for c, n := range s.Later {
		addTo(&in, c, -n)
	}
	maps.DeleteFunc(in, func(_ Class, n int) bool { return n <= 0 })
	return in
}

// Waited is the number of requests of the second that it ended without: those that
// failed later, and those that have not ended.
func (s Second) Waited() int { return s.Unresolved + sumOf(s.Later) }

// Counts are the requests of the second for a summary.
func (s Second) Counts() Counts {
	return Counts{
		Scheduled: s.Sent, OK: s.OK, Failed: s.FailedSum(), FailedByClass: s.Failed,
		Cancelled: s.Cancelled, InFlight: s.Unresolved,
	}
}

// Count adds a request that has ended with class c, in the second last; it was not
// unsent.
func (s *Second) Count(c Class, last *Second) {
	s.Sent++
	s.end(c, last)
}

func (s *Second) end(c Class, last *Second) {
	if c.Failed() && s != last {
		addTo(&s.Later, c, 1)
		addTo(&last.Earlier, c, 1)
	}
	switch {
	case c == ClassOK:
		s.OK++
	case c.Failed():
		addTo(&s.Failed, c, 1)
	default:
		s.Cancelled++
	}
}

// Sample takes a reading of the gauge. Of several readings in a second the one with the
// most requests in flight counts, and of those the newest with the fewest served. The
// capacity is always the last.
func (s *Second) Sample(g Gauge) {
	x := *s
	x.Served, x.Queued, x.Stalled, x.OnDead, x.Unknown = g.Served, g.Queued, g.Stalled, g.OnDead, g.Unknown
	if more := x.InFlight() - s.InFlight(); !s.Sampled || more > 0 || more == 0 && x.Served <= s.Served {
		*s = x
	}
	s.Capacity, s.Target, s.Sampled = g.Capacity, g.Target, true
}

// InFlight is the number of requests in the gauge's reading.
func (s *Second) InFlight() int {
	return max(s.Served, 0) + max(s.Queued, 0) + max(s.Stalled, 0) + max(s.OnDead, 0) + max(s.Unknown, 0)
}

// Gauge returns the reading of the gauge that counts for the second.
func (s Second) Gauge() Gauge {
	return Gauge{Served: s.Served, Queued: s.Queued, Stalled: s.Stalled, OnDead: s.OnDead, Unknown: s.Unknown, Capacity: s.Capacity, Target: s.Target}
}

// Add adds the requests of another second.
func (s *Second) Add(o Second) {
	s.Sent += o.Sent
	s.OK += o.OK
	s.Cancelled += o.Cancelled
	s.Unresolved += o.Unresolved
	sum := func(to *map[Class]int, from map[Class]int) {
		for c, n := range from {
			if n > 0 {
				addTo(to, c, n)
			}
		}
	}
	sum(&s.Failed, o.Failed)
	sum(&s.Later, o.Later)
	sum(&s.Earlier, o.Earlier)
}

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
