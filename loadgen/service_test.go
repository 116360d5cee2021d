package loadgen

import (
	"cmp"
	"testing"
	"time"
)

// Two failed requests show that the service fails, at any interval between them.
func TestFailedRequestsAreASignAtAnyInterval(t *testing.T) {
	t.Parallel()
	for _, every := range []time.Duration{100 * time.Millisecond, time.Second, 30 * time.Second, 10 * time.Minute} {
		var s Series
		now := at(0)
		fails := func(c Class) bool {
			now = now.Add(every + 3*time.Millisecond)
			s.Note(&Record{Class: c, Sent: now, Scheduled: now, End: now}, now)
			_, failing := s.Failing(now.Add(-FailingWithin(every)))
			return failing
		}
		fails(ClassOK)
		if fails(ClassRefused) || !fails(ClassRefused) {
			t.Errorf("every %s: two failures are a sign, and one is not", every)
		}
		failing := true
		for range FailingWithin(every)/every + 3 {
			failing = fails(ClassOK)
		}
		if failing {
			t.Errorf("every %s: requests succeed, and the sign still shows", every)
		}
	}
}

// A service is down if three or more requests failed while none succeeded for three seconds, at any rate, by their ends:
// one that hangs (H, for 5 s) fails among later ones that are ok. F is a second in which five fail.
func TestTheStateOfAServiceFollowsFromItsSeconds(t *testing.T) {
	t.Parallel()
	for classes, want := range map[string]Service{
		"":              ServiceUnasked,
		"ccc":           ServiceUnasked,
		"ooo":           ServiceUp,
		"oofo":          ServiceDegraded,
		"offoffo":       ServiceDegraded,
		"ofcf fo":       ServiceDown,
		"fofofofo":      ServiceDegraded,
		"ooFoo":         ServiceDegraded,
		"ooFFoo":        ServiceDegraded,
		"ooFFFoo":       ServiceDown,
		"ooF":           ServiceDown,
		"ooHHHoooooooo": ServiceDegraded,
		"ooHHHHHHHHHoo": ServiceDown,
		"ooLLLL":        ServiceUp,
		"LLLL":          ServiceUnasked,
	} {
		var s Series
		for second, c := range classes {
			class, known := map[rune]Class{'o': ClassOK, 'f': ClassRefused, 'H': ClassConnectTimeout, 'F': ClassRefused, 'c': ClassCancelled, 'L': ClassLocal}[c]
			for n := map[rune]int{'F': 4}[c]; known && n >= 0; n-- {
				s.Note(ended(float64(second), class, cmp.Or(map[rune]float64{'H': 5}[c], 0.1)), at(float64(second)))
			}
		}
		if got := s.Service(); got != want {
			t.Errorf("%q: %d, want %d", classes, got, want)
		}
	}
}
