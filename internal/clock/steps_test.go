package clock

import (
	"testing"
	"time"
)

func TestStepsAreNoticedInBothDirections(t *testing.T) {
	var s Steps
	then := time.Now()
	for i, ahead := range []time.Duration{0, 0, 0, -30 * time.Second, -30 * time.Second, time.Second} {
		s.Look(at(then, time.Duration(i)*time.Second, ahead))
	}
	if got := s.Since(then); got.Round(time.Second) != 61*time.Second {
		t.Errorf("%s in all, wanted 30 s back and 31 s forward", got)
	}
	if got := s.Since(at(then, 4*time.Second, 0)); got.Round(time.Second) != 31*time.Second {
		t.Errorf("%s after the first step", got)
	}
}
