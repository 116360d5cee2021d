package session

import (
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
