package view

import (
	"fmt"
	"testing"
	"time"

	"lightsout/cluster"
)

// Times of Kubernetes have whole seconds: an effect never stands before its cause because of that.
func TestEventsOfOneSecondAreInTheOrderInWhichTheyWereSeen(t *testing.T) {
	second := time.Date(2026, 11, 28, 1, 42, 53, 0, time.UTC)
	at := func(ms int) time.Time { return second.Add(time.Duration(ms) * time.Millisecond) }
	pod := func(to string, source, seen time.Time) Event {
		e := Event{Change: cluster.ChangeStatus, To: to, At: source, Seen: seen}
		if source.IsZero() {
			e.At = seen
		}
		return e
	}
	for what, c := range map[string]struct {
		seen []Event
		want string
	}{
		"a pod is placed before it is ready": {[]Event{
			pod("placed", time.Time{}, at(300)), pod("starts", time.Time{}, at(500)), pod("ready", second, at(700)),
		}, "[placed starts ready]"},
		"delivered a second late, it is of its own second": {[]Event{
			pod("of the next second", time.Time{}, at(1200)), pod("late", second, at(3000)), pod("newest", time.Time{}, at(3100)),
		}, "[late of the next second newest]"},
		"its own time counts where it is exact": {[]Event{
			pod("seen first", time.Time{}, at(800)), {To: "load ended", At: at(200), Seen: at(900)},
		}, "[load ended seen first]"},
		"a clock that is ahead cannot move it": {[]Event{
			pod("ahead", at(5000), at(100)), pod("next", time.Time{}, at(200)),
		}, "[ahead next]"},
	} {
		var got []string
		for _, e := range InOrder(c.seen) {
			got = append(got, e.To)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, wanted %s", what, got, c.want)
		}
	}
}
