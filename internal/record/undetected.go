package record

import (
	"slices"
	"time"
)

// Undetected are the spans in which a machine was off and the control plane had not yet marked its
// node NotReady, in order. The last one may have no end.
type Undetected []undetected

type undetected struct{ from, to time.Time }

// Undetected finds those spans by s.Outages: from each power-off request until the detection of
// its node, or until the next request if there was none.
func (s *Summary) Undetected() (spans Undetected) {
	for i, o := range s.Outages {
		x := undetected{from: o.Off, to: o.Detected}
		if x.to.IsZero() && i+1 < len(s.Outages) {
			x.to = s.Outages[i+1].Off
		}
		spans = append(spans, x)
	}
	return spans
}

// Over reports whether a request that was sent at this moment counts as sent after the detection:
// after the first span, and in none, each of which is longer by margin at both ends.
func (u Undetected) Over(at time.Time, margin time.Duration) bool {
	return len(u) > 0 && at.After(u[0].from) && !slices.ContainsFunc(u, func(x undetected) bool {
		return !at.Before(x.from.Add(-margin)) && (x.to.IsZero() || !at.After(x.to.Add(margin)))
	})
}
