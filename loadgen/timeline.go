package loadgen

import (
	"maps"
	"slices"
	"time"

	"lightsout/internal/clock"
)

// timeline is the Series of the last seconds in which the generator sent requests or looked at the
// gauge. A request keeps a pointer to its row, so that its end changes that row however late it
// comes. Its owner's lock guards it.
type timeline struct {
	Series
	limit int // how many seconds it keeps
}

// at returns the row that t lies in. One that is no longer kept is only the caller's.
func (l *timeline) at(t time.Time) *Row {
	x := l.row(t)
	if len(l.rows) > l.limit {
		l.rows = slices.Delete(l.rows, 0, 1)
	}
	return x
}

// seconds returns the last seconds up to now, oldest first and without gaps.
func (l *timeline) seconds(now time.Time) (out []Second) {
	if len(l.rows) == 0 {
		return nil
	}
	last := now.Truncate(time.Second)
	at := clock.Latest(last.Add(-time.Duration(l.limit-1)*time.Second), l.rows[0].At)
	for rows := l.rows[l.from(at):]; !at.After(last); at = at.Add(time.Second) {
		x := Second{At: at}
		if len(rows) > 0 && rows[0].At.Equal(at) {
			x = rows[0].Second
			x.Failed, x.Later, x.Earlier = maps.Clone(x.Failed), maps.Clone(x.Later), maps.Clone(x.Earlier)
			rows = rows[1:]
		}
		out = append(out, x)
	}
	return out
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
