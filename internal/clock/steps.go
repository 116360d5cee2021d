package clock

import "time"

// leastStep is the least step that Steps notices. A time has both clocks, read one after the other.
const leastStep = 10 * time.Millisecond

// mostSteps bounds how many steps Steps keeps.
const mostSteps = 1000

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
	by := offset - s.offset
	if by.Abs() < leastStep {
		return
	}
	s.offset = offset
	if len(s.steps) == mostSteps {
		s.steps = s.steps[1:]
	}
	s.steps = append(s.steps, step{now, by})
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
