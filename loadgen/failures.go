package loadgen

import (
	"sync"
	"time"
)

// Failures is the span over which requests failed. The zero value has none.
type Failures struct {
	// N is how many failed.
	N int
	// First and Last are when the first and the last of them count
	// (Record.CountedAt).
	First, Last time.Time
	// Seen is when the first one failed, Ended when the last one did.
	Seen, Ended time.Time
}

// Length is the time from when the first failed request counts until the last one
// ended.
func (f Failures) Length() time.Duration { return f.Ended.Sub(f.First) }

// Note takes the end of a request, in any order, and reports whether it failed.
func (f *Failures) Note(r *Record) bool {
	if !r.Class.Failed() {
		return false
	}
	f.N += r.Requests()
	widen(&f.First, &f.Last, r.CountedAt())
	widen(&f.Seen, &f.Ended, r.End)
	return true
}

func widen(from, to *time.Time, at time.Time) {
	if from.IsZero() || at.Before(*from) {
		*from = at
	}
	if at.After(*to) {
		*to = at
	}
}

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

const (
	// leastQuiet ends a spell in which all requests failed: a request sent this long
	// after the last failure succeeds. It is in addition to the time that a failure
	// takes to show.
	leastQuiet = 3 * time.Second
	// partQuiet ends a spell in which a part of the requests failed. Failures that come
	// sooner after a spell belong to it.
	partQuiet = time.Minute
)

// Spells finds the spells in which some or all requests fail. Its caller reports every
// request that ends. The zero value is ready. It is safe for concurrent use.
type Spells struct {
	mu sync.Mutex
	spell
}

// spell is the newest spell, which may have ended.
type spell struct {
	all       Failures
	ok, after int           // successful requests before and after the last failure
	back      time.Time     // when the first successful request after the last failure was sent
	longest   time.Duration // from the sending of a failed request to its end
	open      bool
	part      bool // some requests succeed meanwhile
}

// Note takes the end of a request. It reports whether that changes anything.
func (s *Spells) Note(r *Record) (SpellChange, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := r.CountedAt()
	switch {
	case r.Class.Failed():
		return s.failed(r, at)
	case r.Class == ClassOK && s.open:
		return s.succeeded(r, at)
	}
	return SpellChange{}, false
}

func (s *Spells) failed(r *Record, at time.Time) (SpellChange, bool) {
	began := !s.open && (s.all.N == 0 || at.Sub(s.all.Last) >= partQuiet)
	if began {
		s.spell = spell{}
	}
	mixed := !s.open && !began || !s.back.IsZero() && s.back.Before(at)
	parts := mixed && !s.part
	s.open, s.part = true, s.part || mixed
	if mixed {
		s.ok, s.after, s.back = s.ok+s.after, 0, time.Time{}
	}
	s.all.Note(r)
	s.longest = max(s.longest, r.End.Sub(at))
	kind := SpellPart
	if began {
		kind = SpellBegins
	}
	return s.change(kind, at), began || parts
}

func (s *Spells) succeeded(r *Record, at time.Time) (SpellChange, bool) {
	quiet := at.Sub(s.all.Last)
	if quiet <= 0 {
		s.ok++
		return SpellChange{}, false
	}
	s.after++
	if s.back.IsZero() || at.Before(s.back) {
		s.back = at
	}
	s.open = r.End.Before(s.all.Ended) || s.part && quiet < partQuiet || quiet < leastQuiet+s.longest
	return s.change(SpellEnds, s.back), !s.open
}

func (s *Spells) change(kind SpellKind, at time.Time) SpellChange {
	return SpellChange{Kind: kind, At: at, Failures: s.all, Of: s.all.N + s.ok}
}
