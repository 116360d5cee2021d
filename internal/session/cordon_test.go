package session

import (
	"testing"
	"time"

	"lightsout/internal/outage"
	"lightsout/power"
)

// A machine may never carry a shutdown out. The journal settles it later; the node then has the boot of
// before, and lightsout uncordons it.
func TestANodeThatStayedOnIsUncordoned(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	for name, c := range map[string]struct {
		o      ourCordon
		boot   string
		ready  time.Time
		after  time.Duration
		silent bool
		want   bool
	}{
		"its machine is listed as off":  {ourCordon{}, "b1", time.Time{}, time.Hour, false, false},
		"settled a moment ago":          {ourCordon{settledAt: at}, "b1", time.Time{}, stayedOnFor, false, false},
		"settled":                       {ourCordon{settledAt: at}, "b1", time.Time{}, stayedOnFor + time.Second, false, true},
		"settled, and silent":           {ourCordon{settledAt: at}, "b1", time.Time{}, time.Hour, true, false},
		"powered on, and not yet again": {ourCordon{settledAt: at, onAt: at}, "b1", time.Time{}, power.CarriedOutWithin, false, false},
		"powered on long ago":           {ourCordon{settledAt: at, onAt: at}, "b1", time.Time{}, power.CarriedOutWithin + time.Second, false, true},
		"Ready since the power-on":      {ourCordon{settledAt: at, onAt: at}, "b1", at.Add(time.Minute), 61 * time.Second, false, true},
		"another boot":                  {ourCordon{}, "b2", time.Time{}, 0, false, true},
	} {
		c.o.boot, c.o.wasOff = "b1", true
		if got := c.o.returned(outage.Now{ID: c.boot, Ready: c.ready}, at.Add(c.after), c.silent); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
