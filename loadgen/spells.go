package loadgen

import (
	"slices"
	"sync"
	"time"
)

// SpellKind is the kind of a SpellChange.
type SpellKind string

// Kinds of changes.
const (
	SpellBegins SpellKind = "begins" // requests begin to fail
	SpellPart   SpellKind = "part"   // only a part of them fails
	SpellEnds   SpellKind = "ends"   // they succeed again
)

// SpellChange is what Spells has found out.
type SpellChange struct {
	Kind SpellKind
	// At is when it happened.
	At time.Time
	// Of is the number of requests sent while Failures.N of them failed.
	Failures
	Of int
}

// Spells finds the spells in which some or all requests fail, while they go on, for the timeline: what an outage
// is judged by is the error windows of a Window. Its caller reports
// every request that ends. The zero value is ready. It is safe for concurrent use.
type Spells struct {
	mu sync.Mutex
	// before has those of the last minute before a spell was seen: a failure shows later than it was sent.
	before Series
	// Of the newest spell, which may have ended:
	series  Series
	all     Failures
	longest time.Duration // from the sending of a failed request to its end
	// quiet is how long after its last failure a request must have been sent that ends it, in addition to the
	// time that a failure takes to show: least, or recovered if only a part of the requests failed, or the
	// spell began sooner than that after another.
	quiet time.Duration
	// service is up once the spell has ended, and degraded if requests succeeded within it.
	service Service
}

// Note takes the end of a request. It reports whether that changes anything.
func (s *Spells) Note(r *Record) (SpellChange, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := r.CountedAt()
	switch {
	case r.Class.Failed():
		return s.failed(r, at)
	case r.Class == ClassOK && !s.service.fails():
		s.before.Forget(r.End.Add(-recovered))
		s.before.Note(r, at)
		fallthrough
	case r.Class != ClassOK:
		return SpellChange{}, false
	}
	s.series.Note(r, at)
	if r.End.Before(s.all.Ended) || at.Sub(s.all.Last) < max(least+s.longest, s.quiet) {
		return SpellChange{}, false
	}
	s.service = ServiceUp
	return s.change(SpellEnds, s.series.okSince(s.all.Last.Add(time.Second))), true
}

func (s *Spells) failed(r *Record, at time.Time) (SpellChange, bool) {
	began := !s.service.fails()
	if began {
		s.quiet = least
		if s.all.N > 0 && at.Sub(s.all.Last) < recovered {
			s.quiet = recovered
		}
		s.series, s.all, s.longest, s.service = Series{}, Failures{}, 0, ServiceDown
	}
	s.all.join(failed(r, at))
	s.series.Note(r, at)
	s.longest = max(s.longest, r.End.Sub(at))
	switch {
	case began:
		return s.change(SpellBegins, at), true
	case s.service == ServiceDegraded || !s.series.okBetween(s.all.First, s.all.Last):
		return SpellChange{}, false
	}
	s.service, s.quiet = ServiceDegraded, recovered
	return s.change(SpellPart, at), true
}

func (s *Spells) change(kind SpellKind, at time.Time) SpellChange {
	c := SpellChange{Kind: kind, At: at, Failures: s.all, Of: s.all.N}
	for _, x := range slices.Concat(s.before.rows[s.before.from(s.all.First):], s.series.rows[s.series.from(s.all.First.Truncate(time.Second)):]) {
		if !x.At.After(s.all.Last) {
			c.Of += x.OK
		}
	}
	return c
}
