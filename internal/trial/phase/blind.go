package phase

import (
	"time"

	"lightsout/cluster"
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

const (
	// stillness is the longest pause in which lightsout counts as running: a Tracker observes
	// the cluster once a second.
	stillness = 5 * time.Second
	// delivery is the longest time that a change may take to reach lightsout while the watches
	// work, by what Snapshot.Complete tells.
	delivery = 4 * time.Second
)

// Pause is the span in which lightsout stood still, if it ran at awake and next at now; false
// if that is not long enough, or if awake is zero.
func Pause(awake, now time.Time) (Blind, bool) {
	if awake.IsZero() || clock.Age(now, awake) <= stillness {
		return Blind{}, false
	}
	return Blind{From: awake, To: now, Why: "lightsout itself stood still", StoodStill: true}, true
}

// sight is until when lightsout has seen every change, and the spans in which it did not.
type sight struct {
	spans []Blind
	// looked is when a Tracker looked last; it knew then everything up to known.
	looked, known time.Time
	// woke is when lightsout last went on after it stood still.
	woke time.Time
}

// stoodStill adds a Pause.
func (v *sight) stoodStill(pause Blind) {
	v.end(pause.From)
	v.spans = append(v.spans, pause)
	if !v.known.IsZero() {
		v.woke = pause.To
	}
}

// end ends the present span, if there is one.
func (v *sight) end(at time.Time) {
	switch n := len(v.spans); {
	case n == 0 || !v.spans[n-1].To.IsZero():
	case at.After(v.spans[n-1].From):
		v.spans[n-1].To = at
	default: // it hid nothing
		v.spans = v.spans[:n-1]
	}
}

// look begins a look at a snapshot.
func (v *sight) look(now time.Time) {
	if span, ok := Pause(v.looked, now); ok {
		v.stoodStill(span)
	}
	v.looked = now
}

// know ends a look: what only the next one shows happened after the time up to which this one is
// complete. It begins and ends spans.
func (v *sight) know(s *cluster.Snapshot, now time.Time) {
	complete := s.Complete()
	if !complete.IsZero() && !complete.Before(v.woke) {
		v.known = now.Add(-now.Sub(complete)) // with the wall clock of now
	}
	since := v.known
	if since.Before(v.woke) {
		since = v.woke
	}
	switch n := len(v.spans); {
	case s.Link.State != cluster.LinkDisconnected && (since.IsZero() || clock.Age(now, since) <= delivery):
		v.end(now)
	case n == 0 || !v.spans[n-1].To.IsZero():
		if since.IsZero() {
			since = now
		}
		v.spans = append(v.spans, Blind{From: since, Why: s.Link.Err})
	}
}

// when is when something became so that the watches delivered at by; source is its own time by
// lightsout's clock, zero if that is unknown.
func (v *sight) when(by, source time.Time) cluster.When {
	since := v.known
	for _, s := range v.spans { // it may have come long ago
		if !s.From.After(by) && !s.To.Before(by) {
			since = s.From
			break
		}
	}
	if since.IsZero() || clock.Age(by, since) <= delivery {
		return cluster.At(by)
	}
	return cluster.When{After: since, By: by}.Dated(source)
}
