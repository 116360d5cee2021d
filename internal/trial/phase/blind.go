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

// Delivered is when changes of a span that has ended may arrive last.
func (b Blind) Delivered() time.Time {
	if b.Stalled {
		return b.To.Add(catchUp)
	}
	return b.To.Add(afterwards)
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

const (
	// afterwards is how long after a lost link an observation may concern an event of that
	// time: the watches connect again and list what they follow.
	afterwards = 5 * time.Second
	// catchUp is the same after a stall: the connection goes on, and delivers at once.
	catchUp = time.Second
)

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

// hiding is what a blind span did to the observation of an event.
type hiding int

const (
	unhidden hiding = iota
	dated           // the event's own time lies in the span
	undated         // it may have happened at any time in the span
)

// hid finds the blind span that hid an event which was seen at seen; one that dates it counts
// first. happened is the event's own time by lightsout's clock; zero if that is unknown. An
// open span of the result ends at seen.
func (b *blindness) hid(seen, happened time.Time) (found Blind, how hiding) {
	for _, span := range b.spans {
		if span.To.IsZero() {
			span.To = seen
		}
		switch span.hid(seen, happened) {
		case dated:
			return span, dated
		case undated:
			found, how = span, undated
		}
	}
	return found, how
}

// hid is blindness.hid for one span that has ended. A source has whole seconds, so its time is
// up to a second early.
func (b Blind) hid(seen, happened time.Time) hiding {
	arrived := !seen.Before(b.From) && !seen.After(b.Delivered())
	switch {
	case seen.Before(b.From), b.Stalled && !arrived:
		return unhidden
	case happened.After(b.From.Add(-time.Second)) && happened.Before(b.To) && !happened.After(seen):
		return dated
	case !arrived:
		return unhidden
	case !happened.Before(b.To) && !happened.After(seen.Add(time.Second)):
		return unhidden // it happened after the span, and was seen at once
	}
	return undated // also if its source's clock is wrong
}

// beginning is since when lightsout may not have seen something that the span hid: spans
// that overlap it, or end so shortly before it that it hid what they had hidden, count too.
func (b *blindness) beginning(span Blind) time.Time {
	from := span.From
	for _, s := range slices.Backward(b.spans) {
		if s.From.Before(from) && !s.To.IsZero() && !s.Delivered().Before(from) {
			from = s.From
		}
	}
	return from
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
