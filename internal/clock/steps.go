package clock

import "time"

// leastStep is the least step that Steps notices: a program may be descheduled between the readings
// of its two clocks.
const leastStep = time.Second

// Steps notices when the wall clock is set while the monotonic clock goes on: by somebody, by a
// time service, or because the machine was suspended. Its zero value is ready. It is not safe for
// concurrent use.
type Steps struct {
	first  time.Time
	offset time.Duration // of the wall clock, against first
	steps  []step
}

type step struct {
	noticed time.Time
	by      time.Duration
}

// Look compares the clocks. now must have a monotonic reading; without one nothing is noticed.
func (s *Steps) Look(now time.Time) {
	if s.first.IsZero() {
		s.first = now
		return
	}
	offset := now.Round(0).Sub(s.first.Round(0)) - now.Sub(s.first)
	if by := offset - s.offset; by.Abs() >= leastStep {
		s.offset, s.steps = offset, append(s.steps, step{now, by})
	}
}

// Since returns how far the wall clock was set, in either direction, in the steps that were noticed
// after a time.
func (s *Steps) Since(t time.Time) (sum time.Duration) {
	for _, x := range s.steps {
		if x.noticed.After(t) {
			sum += x.by.Abs()
		}
	}
	return sum
}
