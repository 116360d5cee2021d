package loadgen

import (
	"math"
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

// SpellKind is what a SpellChange says.
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
	// Of is how many requests were sent while Failures.N of them failed: in the
	// last minute for SpellPart, else in the whole spell.
	Failures
	Of int
}

// Bounds of Spells.
const (
	// leastQuiet is the least time between the last failure and the sending of
	// a request that proves the end, beside the time that failures take to show;
	// mostQuiet is proof enough by itself, and failures that come sooner belong
	// to the same spell.
	leastQuiet = 3 * time.Second
	mostQuiet  = time.Minute
	// leastProof is the least number of requests in a row that prove the end
	// where not all failed, fewProof while less than few have failed.
	leastProof, fewProof, few = 10, 30, 5
	// doubt is how likely so many may succeed by chance in a service of which
	// a part still fails.
	doubt = 1e-4
	// spellSeconds is how many seconds are looked back; more than mostQuiet.
	spellSeconds = 64
)

// Spells finds the spells in which requests fail, fed with every request that
// ends. A service of which one endpoint in six is dead fails again and again:
// that is one spell, which ends when more requests have succeeded in a row than
// chance explains. The zero value is ready. Safe for concurrent use.
type Spells struct {
	mu      sync.Mutex
	seconds [spellSeconds]spellSecond
	spell   Failures
	ok      int           // sent since the spell's first second
	back    time.Time     // when the first was sent that succeeded after the last failure
	longest time.Duration // from the sending of a failed request to its end
	open    bool
	part    bool // SpellPart has been said
	again   bool // the spell has been said to be over before
}

type spellSecond struct {
	unix       int64
	ok, failed int
}

// Note takes the end of a request. It reports whether that changes anything.
func (s *Spells) Note(r *Record) (SpellChange, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := r.CountedAt()
	switch {
	case r.Class.Failed():
		return s.failed(r, at)
	case r.Class == ClassOK:
		return s.succeeded(r, at)
	}
	return SpellChange{}, false
}

func (s *Spells) failed(r *Record, at time.Time) (SpellChange, bool) {
	if x := s.second(at); x != nil {
		x.failed += r.Requests()
	}
	again := !s.open && s.spell.N > 0 && at.Sub(s.spell.Last) < mostQuiet
	if !s.open && !again {
		s.spell, s.part, s.again, s.longest = Failures{}, false, false, 0
		s.ok, _ = s.sum(at.Unix(), math.MaxInt64)
	}
	began := !s.open
	s.open = true
	if s.back.Before(at) {
		s.back = time.Time{}
	}
	s.spell.Note(r)
	s.longest = max(s.longest, r.End.Sub(at))
	switch {
	case again:
		s.part, s.again = true, true
		return s.change(SpellPart, at), true
	case began:
		return s.change(SpellBegins, at), true
	}
	return s.partly(r.End)
}

func (s *Spells) succeeded(r *Record, at time.Time) (SpellChange, bool) {
	if x := s.second(at); x != nil {
		x.ok++
	}
	if s.spell.N > 0 && at.Unix() >= s.spell.First.Unix() {
		s.ok++
	}
	if !s.open {
		return SpellChange{}, false
	}
	quiet := at.Sub(s.spell.Last)
	if quiet > 0 && (s.back.IsZero() || at.Before(s.back)) {
		s.back = at
	}
	after, _ := s.sum(s.spell.Last.Unix()+1, math.MaxInt64)
	proven := !s.again && quiet >= leastQuiet+s.longest && r.End.After(s.spell.Ended) && after >= s.proof()
	if proven || quiet >= mostQuiet {
		s.open = false
		return s.change(SpellEnds, s.back), true
	}
	return s.partly(r.End)
}

// partly says once that only a part fails.
func (s *Spells) partly(now time.Time) (SpellChange, bool) {
	ok, failed := s.inside()
	if s.part || s.spell.Last.Sub(s.spell.First) < leastQuiet || ok+failed < 6 || 20*ok < ok+failed {
		return SpellChange{}, false
	}
	s.part = true
	c := s.change(SpellPart, now)
	c.N, c.Of = failed, ok+failed
	return c, true
}

// proof is how many requests must succeed in a row to prove the end.
func (s *Spells) proof() int {
	if ok, failed := s.inside(); ok == 0 && failed >= few && s.spell.Last.Sub(s.spell.First) >= leastQuiet {
		return 1 // all failed
	}
	share := float64(s.spell.N) / float64(s.of())
	least := leastProof
	if s.spell.N < few {
		least = fewProof
	}
	return max(least, int(math.Ceil(math.Log(doubt)/math.Log(1-min(share, 0.99)))))
}

// of is how many requests were sent from the first failure to the last.
func (s *Spells) of() int {
	after, _ := s.sum(s.spell.Last.Unix()+1, math.MaxInt64)
	return s.spell.N + max(s.ok-after, 0)
}

func (s *Spells) change(kind SpellKind, at time.Time) SpellChange {
	return SpellChange{Kind: kind, At: at, Failures: s.spell, Of: s.of()}
}

// inside sums up the whole seconds between the first failure and the last, as
// far as they are looked back at.
func (s *Spells) inside() (ok, failed int) {
	return s.sum(s.spell.First.Unix()+1, s.spell.Last.Unix())
}

// sum sums up the seconds from one up to another, without that.
func (s *Spells) sum(from, to int64) (ok, failed int) {
	for i := range s.seconds {
		if x := &s.seconds[i]; x.unix >= from && x.unix < to {
			ok, failed = ok+x.ok, failed+x.failed
		}
	}
	return ok, failed
}

// second is the place of a second; nil when it is too long ago.
func (s *Spells) second(at time.Time) *spellSecond {
	unix := at.Unix()
	x := &s.seconds[((unix%spellSeconds)+spellSeconds)%spellSeconds]
	switch {
	case x.unix > unix:
		return nil
	case x.unix < unix:
		*x = spellSecond{unix: unix}
	}
	return x
}
