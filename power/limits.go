package power

import (
	"fmt"
	"slices"
	"time"
)

// Limits tighten the guards. The zero value leaves them as they are, and no
// value makes them weaker.
type Limits struct {
	// ViewAge is how old the view of the cluster may be when something is
	// switched off; more than ViewLimit, or zero, means ViewLimit.
	ViewAge time.Duration
	// KeepReady is how many Ready workers that take pods must be left; less
	// than 1 means 1.
	KeepReady int
	// Protect names nodes that are never switched off.
	Protect []string
	// NoOverride refuses what otherwise needs a typed confirmation.
	NoOverride bool
}

// Check refuses limits that would make a guard weaker. The error names the
// field as it is written in the configuration.
func (l Limits) Check() error {
	switch {
	case l.ViewAge < 0 || l.ViewAge > ViewLimit:
		return fmt.Errorf("guards.view_age is %s: it can be made shorter than %s, not longer", l.ViewAge, ViewLimit)
	case l.KeepReady < 0:
		return fmt.Errorf("guards.keep_ready is %d: at least 1 Ready worker is kept", l.KeepReady)
	case slices.Contains(l.Protect, ""):
		return fmt.Errorf("guards.protect names a node without a name")
	}
	return nil
}

func (l Limits) viewAge() time.Duration {
	if l.ViewAge <= 0 {
		return ViewLimit
	}
	return min(l.ViewAge, ViewLimit)
}

func (l Limits) keepReady() int { return max(l.KeepReady, 1) }
