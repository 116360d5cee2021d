package loadgen

import "testing"

// Requests that are served at first and queued later in a second count once.
func TestASecondShowsOneReadingOfTheGauge(t *testing.T) {
	t.Parallel()
	var s Second
	for _, g := range []Gauge{
		{Served: 16, Capacity: 16, Target: 16},
		{Served: 8, OnDead: 8, Capacity: 8, Target: 16},
		{Served: 8, Queued: 4, Capacity: 8, Target: 16},
	} {
		s.Sample(g)
	}
	if s.Served != 8 || s.OnDead != 8 || s.Queued != 0 || s.InFlight() != 16 || s.Capacity != 8 {
		t.Errorf("%+v, want the reading with the most requests, and of those the one with the fewest served", s)
	}
}
