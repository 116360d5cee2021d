package session

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/internal/view"
	"lightsout/power"
)

// A machine whose power-on failed is not on its way back, also while the request waits for others.
func TestAMachineThatFailedToPowerOnIsNotAwaited(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := &returns{loop: &loop{now: func() time.Time { return now }}}
	r.poweredOn([]string{"n1", "n2"})
	for _, n := range []string{"n1", "n2"} {
		r.sent(n, now)
	}
	now = now.Add(6 * time.Second)
	r.failed("n2")
	if next := strings.Join(r.next(), ""); next != "n1 Ready again (powered on 6s ago)" {
		t.Errorf("%q", next)
	}
	r.sent("n2", now) // once more
	if next := strings.Join(r.next(), ""); !strings.Contains(next, "n2") {
		t.Errorf("%q", next)
	}
}

// A machine that somebody else switches off after its power-on is not on its way back. Before
// the power-on has ended, a machine that is off is still to come.
func TestAMachineThatIsOffAgainIsNotAwaited(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := &returns{loop: &loop{now: func() time.Time { return now }}}
	for _, m := range []struct {
		stage   power.Stage
		reading power.Reading
		awaited bool
	}{
		{power.StageAccepted, power.Reading{State: power.Off, Proof: power.Proven, RequestedAt: now.Add(time.Second)}, true},
		{power.StageDone, power.Reading{State: power.Off, Proof: power.Proven, RequestedAt: now.Add(-time.Second)}, true},
		{power.StageDone, power.Reading{State: power.Off, Proof: power.Presumed, RequestedAt: now.Add(time.Second)}, true},
		{power.StageDone, power.Reading{State: power.On, Proof: power.Proven, RequestedAt: now.Add(time.Second)}, true},
		{power.StageDone, power.Reading{State: power.Off, Proof: power.Proven, RequestedAt: now.Add(time.Second)}, false},
	} {
		r.poweredOn([]string{"n1"})
		r.sent("n1", now)
		r.offAgain(map[string]view.MachineView{"n1": {Busy: power.ActionOn, Stage: m.stage, Reading: m.reading}})
		if awaited := len(r.next()) > 0; awaited != m.awaited {
			t.Errorf("%s, %+v: awaited is %t", m.stage, m.reading, awaited)
		}
	}
}

// The screen forecasts the return of each machine by its own request: not by that of a machine
// that failed, nor of one that was powered on earlier.
func TestEachReturnCountsFromItsOwnRequest(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := &returns{loop: &loop{now: func() time.Time { return now }}}
	want := func(lines ...string) {
		t.Helper()
		if next := r.next(); !slices.Equal(next, lines) {
			t.Errorf("%q", next)
		}
	}
	r.poweredOn([]string{"n1", "n2", "n3"})
	r.sent("n1", now)
	now = now.Add(4 * time.Minute)
	r.failed("n1")
	r.sent("n3", now)
	now = now.Add(2 * time.Second)
	r.sent("n2", now)
	now = now.Add(4 * time.Second)
	r.sent("n2", now) // the request is repeated
	want("n2 and n3 Ready again (powered on 6s ago)")
	now = now.Add(3 * time.Hour)
	r.poweredOn([]string{"n2", "n4"})
	r.sent("n4", now)
	now = now.Add(time.Second)
	want("n2 and n3 Ready again (powered on 3h00m ago)", "n4 Ready again (powered on 1s ago)")
	r.sent("n2", now) // once more, by the second request
	now = now.Add(5 * time.Second)
	want("n3 Ready again (powered on 3h00m ago)", "n2 and n4 Ready again (powered on 6s ago)")
}

// The time until the deployment has all its pods counts from the first request that returned
// a machine.
func TestTheCapacityCountsFromTheFirstMachineThatReturned(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := &returns{loop: &loop{now: func() time.Time { return now }}}
	r.poweredOn([]string{"n1", "n2", "n3"})
	r.sent("n1", now)
	r.failed("n1")
	now = now.Add(time.Minute)
	first := now
	r.sent("n2", now)
	now = now.Add(time.Minute)
	r.sent("n3", now)
	r.returned("n3")
	r.returned("n2")
	r.forget([]string{"n1"})
	if !r.since.Equal(first) {
		t.Errorf("since %s", r.since)
	}
}
