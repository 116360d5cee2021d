package record

import (
	"slices"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// Undetected are the spans in which a machine was off and the control plane had not yet marked its
// node NotReady, in order. The last one may have no end.
type Undetected []undetected

type undetected struct{ from, to time.Time }

// Undetected finds those spans by s.Outages: from each power-off request until the detection of
// its node, or until the next request if there was none.
func (s *Summary) Undetected() (spans Undetected) {
	outages := s.Outages
	if len(outages) == 0 {
		outages = loadgen.PowerOffs{{Off: s.Zero}}
	}
	early := !slices.ContainsFunc(outages, func(o loadgen.PowerOff) bool { return !o.Detected.IsZero() })
	for i, o := range outages {
		next := time.Time{}
		if i+1 < len(outages) {
			next = outages[i+1].Off
		}
		x := undetected{from: o.Off, to: o.Detected}
		if early {
			x.to = s.lastDetection(o.Off, next)
		}
		if x.to.IsZero() {
			x.to = next
		}
		spans = append(spans, x)
	}
	return spans
}

// lastDetection is the last detection from one power-off request until the next one, by s.Phases:
// records of early versions have no detections in s.Outages.
func (s *Summary) lastDetection(from, next time.Time) (last time.Time) {
	for _, p := range s.Phases {
		if p.Name != view.PhaseDetected || p.Observed == nil {
			continue
		}
		at := s.Zero.Add(time.Duration(*p.Observed * float64(time.Second)))
		if !at.Before(from) && (next.IsZero() || at.Before(next)) && at.After(last) {
			last = at
		}
	}
	return last
}

// Over reports whether a request that was sent at this moment counts as sent after the detection:
// after the first span, and in none, each of which is longer by margin at both ends.
func (u Undetected) Over(at time.Time, margin time.Duration) bool {
	return len(u) > 0 && at.After(u[0].from) && !slices.ContainsFunc(u, func(x undetected) bool {
		return !at.Before(x.from.Add(-margin)) && (x.to.IsZero() || !at.After(x.to.Add(margin)))
	})
}
