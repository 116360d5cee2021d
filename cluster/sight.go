package cluster

import (
	"cmp"
	"slices"
	"time"

	"lightsout/internal/clock"
)

// Blind is a span in which lightsout did not see every change of the cluster; To is zero while it
// lasts.
type Blind struct {
	From, To time.Time
	Why      string
	// StoodStill: lightsout itself did not run, so it sent no requests either.
	StoodStill bool
}

// Reason describes in a clause why lightsout saw nothing.
func (b Blind) Reason() string {
	switch {
	case b.StoodStill:
		return b.Why
	case b.Why != "":
		return "the API server did not answer (" + b.Why + ")"
	}
	return "the API server did not answer"
}

const (
	// lookEvery is how often a Sight is to look.
	lookEvery = time.Second
	// delivery is the longest time that a change may take to reach lightsout while the watches work.
	delivery = 4 * time.Second
	// stillness is the longest pause between two looks in which lightsout counts as running.
	stillness = 5 * time.Second
	// mostBlind bounds how many spans a Sight keeps.
	mostBlind = 100
)

// Sight finds the spans in which lightsout does not see every change. A Watcher has one; a world
// without a Watcher has its own. Its zero value is ready. It is not safe for concurrent use.
type Sight struct {
	spans  []Blind // a Snapshot shares them, so a change copies them
	looked time.Time
	// known is up to when everything has been seen; zero if that is unknown.
	known time.Time
	// woke is when lightsout last went on after it stood still.
	woke time.Time
}

// Spans lists the spans, oldest first. The slice is shared.
func (v *Sight) Spans() []Blind { return v.spans }

// Look is to be called about once a second with the newest Snapshot. It reports whether a span began
// or ended.
func (v *Sight) Look(s *Snapshot, now time.Time) (changed bool) {
	if !v.looked.IsZero() && clock.Age(now, v.looked) > stillness {
		v.add(Blind{From: v.looked, To: now, Why: "lightsout itself stood still", StoodStill: true})
		v.woke, changed = now, true
	}
	v.looked = now
	switch until := s.complete(); {
	case until.IsZero():
		v.known = until
	case !until.Before(v.woke):
		v.known = now.Add(-now.Sub(until)) // with the wall clock of now
	}
	since, lost := v.known, s.Link.State == LinkDisconnected
	if since.IsZero() && lost {
		since = s.Link.LastContact
	}
	since = clock.Latest(since, v.woke)
	n := len(v.spans)
	open := n > 0 && v.spans[n-1].To.IsZero()
	switch blind := lost || !since.IsZero() && clock.Age(now, since) > delivery; {
	case blind == open:
		return changed
	case blind:
		v.add(Blind{From: cmp.Or(since, now), Why: s.Link.Err})
	default:
		v.spans = slices.Clone(v.spans)
		v.spans[n-1].To = now
	}
	return true
}

// add adds a span; an open one stays the last.
func (v *Sight) add(b Blind) {
	at := len(v.spans)
	if at > 0 && v.spans[at-1].To.IsZero() {
		at--
	}
	v.spans = slices.Insert(slices.Clone(v.spans), at, b)
	v.spans = v.spans[max(0, len(v.spans)-mostBlind):]
}

// Blind lists the spans in which lightsout did not see every change, oldest first. The slice is
// shared. Whoever calls it each second makes the Watcher ask the API server as often, which finds
// a stalled watch within seconds.
func (s *Snapshot) Blind() []Blind {
	if s.traffic != nil {
		s.traffic.wantWatched()
	}
	return s.contents.Blind
}

// When is when something became so that a watch delivered at by; source is the time that its object
// gives, by this machine's clock, zero if it gives none.
func (s *Snapshot) When(by, source time.Time) When { return within(s.contents.Blind, by, source) }

// within is When by the blind spans. What is delivered shortly after a span may be of that span.
func within(spans []Blind, by, source time.Time) When {
	for _, b := range spans {
		if !b.From.After(by) && (b.To.IsZero() || !b.To.Add(delivery).Before(by)) {
			return When{After: b.From, By: by}.Dated(source)
		}
	}
	return At(by)
}
