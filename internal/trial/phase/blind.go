package phase

import (
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
)

// blindness keeps the spans in which the API server was not heard.
type blindness struct {
	spans []forecast.Interval
	// since is when it was last heard, while it is not; zero otherwise.
	since time.Time
}

// afterwards is for how long after a blind span what is seen may be news of
// what happened in it.
const afterwards = 5 * time.Second

func (b *blindness) look(l cluster.Link, now time.Time) {
	switch {
	case l.State == cluster.LinkLost && b.since.IsZero():
		b.since = l.LastContact
		if b.since.IsZero() {
			b.since = now
		}
	case l.State == cluster.LinkLive && !b.since.IsZero():
		b.spans = append(b.spans, forecast.Interval{From: b.since, To: now})
		b.since = time.Time{}
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
	if !b.since.IsZero() && within(b.since, seen) {
		return seen.Sub(b.since), true
	}
	for _, s := range b.spans {
		if !seen.Before(s.From) && within(s.From, s.To) {
			return s.To.Sub(s.From), true
		}
	}
	return 0, false
}

// last gives the end of the last span that ended after t.
func (b *blindness) last(t time.Time) (time.Time, bool) {
	if n := len(b.spans); n > 0 && b.spans[n-1].To.After(t) {
		return b.spans[n-1].To, true
	}
	return time.Time{}, false
}
