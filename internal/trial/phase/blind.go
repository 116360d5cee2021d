package phase

import (
	"slices"
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

// HidAfter reports whether the span hid something from lightsout after that time, or ended
// so shortly before it that lightsout may see only now what it hid.
func (b Blind) HidAfter(at time.Time) bool { return b.To.IsZero() || b.To.Add(afterwards).After(at) }

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
	// stillness is the longest pause in which lightsout counts as running: a Tracker observes
	// the cluster once a second.
	stillness = 5 * time.Second
	// delivery is the longest time that a change may take to reach lightsout while the watches
	// work, by what Snapshot.Complete tells.
	delivery = 4 * time.Second
	// afterwards is how long after a blind span an observation may concern an event of that time.
	afterwards = 5 * time.Second
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

// add adds a span that has ended; an open span stays the last.
func (v *sight) add(span Blind) {
	at := len(v.spans)
	if v.open() != nil {
		at--
	}
	v.spans = slices.Insert(v.spans, at, span)
}

// stoodStill adds a Pause that ended before the first look, or with it.
func (v *sight) stoodStill(pause Blind) {
	v.add(pause)
	if !v.looked.After(pause.To.Add(delivery)) {
		v.known, v.woke = pause.From, pause.To
	}
}

// open is the present span; nil if there is none.
func (v *sight) open() *Blind {
	if n := len(v.spans); n > 0 && v.spans[n-1].To.IsZero() {
		return &v.spans[n-1]
	}
	return nil
}

// look begins a look at a snapshot.
func (v *sight) look(now time.Time) {
	if span, ok := Pause(v.looked, now); ok {
		v.add(span)
		v.woke = now
	}
	v.looked = now
}

// know ends a look: what only the next one shows happened after the time up to which this one is
// complete.
func (v *sight) know(s *cluster.Snapshot, now time.Time) {
	complete := s.Complete()
	if !complete.IsZero() && !complete.Before(v.woke) {
		v.known = now.Add(-now.Sub(complete)) // with the wall clock of now
	}
}

// follow begins and ends spans.
func (v *sight) follow(s *cluster.Snapshot, now time.Time) {
	since := v.known
	if since.Before(v.woke) {
		since = v.woke
	}
	lost := s.Link.State == cluster.LinkDisconnected
	switch open, blind := v.open(), lost || !since.IsZero() && clock.Age(now, since) > delivery; {
	case blind && open == nil:
		if since.IsZero() {
			since = now
		}
		v.spans = append(v.spans, Blind{From: since, Why: s.Link.Err})
	case !blind && open != nil:
		open.To = now
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
