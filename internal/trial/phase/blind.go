package phase

import (
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/clock"
)

// Blind is a span without an answer from the API server; To is zero while it lasts.
type Blind struct {
	From, To time.Time
	Why      string
	// StoodStill: lightsout itself did not run, so it sent no requests either.
	StoodStill bool
	// Stalled: the connection went on afterwards, so the control plane lost nothing.
	Stalled bool
}

// Covers reports whether the span lasted at that time.
func (b Blind) Covers(at time.Time) bool {
	return !at.Before(b.From) && (b.To.IsZero() || at.Before(b.To))
}

// HidAfter reports whether the span hid something from lightsout after that time, or ended
// so shortly before it that lightsout may see only now what it hid.
func (b Blind) HidAfter(at time.Time) bool {
	return !b.Stalled && (b.To.IsZero() || b.To.Add(afterwards).After(at))
}

// Reason describes in a clause why lightsout saw nothing.
func (b Blind) Reason() string {
	switch {
	case b.StoodStill || b.Stalled:
		return b.Why
	case b.Why != "":
		return "the API server did not answer (" + b.Why + ")"
	}
	return "the API server did not answer"
}

// blindness keeps the blind spans.
type blindness struct {
	spans []Blind
	awake time.Time // when lightsout ran last
}

// stillness is the longest pause in which lightsout counts as running. Its session checks
// the time once a second.
const stillness = 5 * time.Second

// run records that lightsout runs now.
func (b *blindness) run(now time.Time) {
	if span, ok := Pause(b.awake, now); ok {
		b.add(span)
	}
	b.awake = now
}

// Pause is the span in which lightsout stood still, if it ran at awake and next at now; false
// if that is not long enough, or if awake is zero.
func Pause(awake, now time.Time) (Blind, bool) {
	if awake.IsZero() || clock.Age(now, awake) <= stillness {
		return Blind{}, false
	}
	return Blind{From: awake, To: now, Why: "lightsout itself stood still", StoodStill: true}, true
}

// add adds a span that has ended; an open span stays the last.
func (b *blindness) add(span Blind) {
	at := len(b.spans)
	if b.open() != nil {
		at--
	}
	b.spans = slices.Insert(b.spans, at, span)
}

// open is the present span; nil if there is none.
func (b *blindness) open() *Blind {
	if n := len(b.spans); n > 0 && b.spans[n-1].To.IsZero() {
		return &b.spans[n-1]
	}
	return nil
}

// afterwards is how long after a blind span an observation may concern an event within
// the span.
const afterwards = 5 * time.Second

func (b *blindness) observe(l cluster.Link, now time.Time) {
	open := b.open()
	switch {
	case l.State == cluster.LinkDisconnected && open == nil:
		from := l.LastContact
		if from.IsZero() {
			from = now
		}
		b.spans = append(b.spans, Blind{From: from, Why: l.Err})
	case l.State == cluster.LinkLive && open != nil:
		open.To = now
	}
}

// hid reports whether something that was seen at seen, and happened at source
// if that is known, was hidden by a blind span, and how long that was.
func (b *blindness) hid(seen, source time.Time) (time.Duration, bool) {
	within := func(from, to time.Time) bool {
		if source.IsZero() {
			return !seen.Before(from) && !seen.After(to.Add(afterwards))
		}
		return source.After(from.Add(-time.Second)) && source.Before(to)
	}
	if open := b.open(); open != nil && within(open.From, seen) {
		return seen.Sub(open.From), true
	}
	for _, s := range b.spans {
		if !s.To.IsZero() && !seen.Before(s.From) && within(s.From, s.To) {
			return s.To.Sub(s.From), true
		}
	}
	return 0, false
}

// last gives the end of the last span that ended after t.
func (b *blindness) last(t time.Time) (time.Time, bool) {
	for _, s := range slices.Backward(b.spans) {
		if !s.To.IsZero() && !s.StoodStill && !s.Stalled { // else the control plane went on meanwhile
			return s.To, s.To.After(t)
		}
	}
	return time.Time{}, false
}
