package power

import (
	"cmp"
	"fmt"
	"regexp"
	"time"
)

// Limits tighten the guards. The zero value leaves them as they are, and no
// value but ControlPlane makes them weaker.
type Limits struct {
	// ViewAge is how old the view of the cluster may be when something is
	// switched off; more than stateLimit, or zero, means stateLimit.
	ViewAge time.Duration `json:"view_age"`
	// KeepReady is how many Ready workers that take pods must be left; less
	// than 1 means 1.
	KeepReady int `json:"keep_ready"`
	// Protect names nodes that are never switched off.
	Protect []string `json:"protect"`
	// NoOverride refuses what otherwise needs a typed confirmation.
	NoOverride bool `json:"no_override"`
	// ControlPlane states where the control plane runs. It does not tighten a guard:
	// lightsout cannot see this fact, and checks it against the nodes that it sees.
	ControlPlane ControlPlane `json:"control_plane"`
}

// ControlPlane is where a cluster's control plane runs.
type ControlPlane string

// Where the control plane may run. The zero value is ControlPlaneNodes.
const (
	// ControlPlaneNodes: on nodes of the cluster, which are refused.
	ControlPlaneNodes ControlPlane = "nodes"
	// ControlPlaneElsewhere: not on any node, as in a managed cluster.
	ControlPlaneElsewhere ControlPlane = "elsewhere"
)

// nodeName matches names of nodes (RFC 1123 subdomains), in either case.
var nodeName = regexp.MustCompile(`^[0-9A-Za-z]([-.0-9A-Za-z]*[0-9A-Za-z])?$`)

// Check refuses limits that would weaken a guard. The error names the field as the
// configuration does.
func (l Limits) Check() error {
	switch {
	case l.ViewAge < 0 || l.ViewAge > stateLimit:
		return fmt.Errorf("guards.view_age is %s: it can be made shorter than %s, not longer", l.ViewAge, stateLimit)
	case l.KeepReady < 0:
		return fmt.Errorf("guards.keep_ready is %d: at least 1 Ready worker is kept", l.KeepReady)
	}
	for _, name := range l.Protect {
		if !nodeName.MatchString(name) {
			return fmt.Errorf("guards.protect has %q, which is not a name of a node: write each name in full, without blanks and patterns", name)
		}
	}
	switch l.ControlPlane {
	case "", ControlPlaneNodes, ControlPlaneElsewhere:
		return nil
	}
	return fmt.Errorf("guards.control_plane is %q: it must be %s (the control plane runs on nodes of the cluster) or %s (it runs on none)",
		Clean(string(l.ControlPlane)), ControlPlaneNodes, ControlPlaneElsewhere)
}

func (l Limits) viewAge() time.Duration {
	return min(cmp.Or(max(l.ViewAge, 0), stateLimit), stateLimit)
}

func (l Limits) keepReady() int { return max(l.KeepReady, 1) }
