package recorder

import (
	"testing"
	"time"

	"lightsout/loadgen"
)

// Two failed requests are a sign at any interval between them, and one is not. They no longer are
// when requests have succeeded for long enough.
func TestFailedRequestsAreASignAtAnyInterval(t *testing.T) {
	for _, every := range []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, 10 * time.Minute} {
		p := newProbes(every)
		now := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
		end := func(c loadgen.Class) bool {
			now = now.Add(every + 3*time.Millisecond)
			p.note(loadgen.Record{Class: c, End: now}, now)
			_, failing := p.failing(now)
			return failing
		}
		end(loadgen.ClassOK)
		good := now
		if end(loadgen.ClassRefused) {
			t.Errorf("every %s: one failure is a sign", every)
		}
		if !end(loadgen.ClassRefused) {
			t.Errorf("every %s: two failures are no sign", every)
		}
		now = now.Add(every * 9 / 10) // the next one is on its way
		if at, failing := p.failing(now); !failing || !at.Equal(good) {
			t.Errorf("every %s: between failures: failing %v since %s, want %s", every, failing, at, good)
		}
		for range int(failedWithin/every) + failedIntervals {
			end(loadgen.ClassOK)
		}
		if _, failing := p.failing(now); failing {
			t.Errorf("every %s: requests succeed, and the sign still shows", every)
		}
	}
}
