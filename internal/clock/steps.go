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
	seen   step          // by the last Look, which the next one has to confirm; zero: none
	steps  []step
}

type step struct {
	noticed time.Time
	by      time.Duration
}

// Look compares the clocks. now must have a monotonic reading; without one nothing is noticed.
// Look notices a step when it sees it twice in a row: a program that is descheduled between its
// two clocks reads a step that never was.
func (s *Steps) Look(now time.Time) {
	if s.first.IsZero() {
		s.first = now
		return
	}
	offset := now.Round(0).Sub(s.first.Round(0)) - now.Sub(s.first)
	by := offset - s.offset
	before := s.seen
	s.seen = step{}
	switch {
	case by.Abs() < leastStep:
		return
	case before.noticed.IsZero() || (by-before.by).Abs() >= leastStep:
		s.seen = step{now, by}
		return
	}
	s.offset = offset
	if len(s.steps) == mostSteps {
		s.steps = s.steps[1:]
	}
	s.steps = append(s.steps, step{before.noticed, by})
}

// End looks twice, so that a step just before the end is confirmed or dropped.
func (s *Steps) End(now func() time.Time) {
	s.Look(now())
	s.Look(now())
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
