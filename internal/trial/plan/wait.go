package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lightsout/internal/text"
	"lightsout/internal/view"
)

// WaitRestored waits for two phases: every node Ready, and the deployment whole.
const WaitRestored = "restored"

// waiting is one thing that can be waited for.
type waiting struct {
	name   string        // the phase's, but for WaitRestored
	within time.Duration // how long, when the plan does not say
	// on: only a node that is switched on again comes to it.
	on, ofDeployment bool
	// text describes the condition for nodes and for the deployment.
	text string
}

// waits are the conditions for which a step can wait, in the order in which they come.
var waits = []waiting{
	{name: view.PhaseDetected, within: 5 * time.Minute, text: "{who} {are} detected as not Ready"},
	{name: view.PhaseEndpointsOut, within: 5 * time.Minute, text: "{who} {have} no ready endpoint"},
	{name: view.PhaseEvicted, within: 15 * time.Minute, text: "the pods on {who} are evicted"}, // every pod that can be
	{name: view.PhaseReplaced, within: 20 * time.Minute, text: "{deployment} has as many pods again without {who}", ofDeployment: true},
	{name: view.PhaseReady, within: 15 * time.Minute, text: "{who} {are} Ready again", on: true},
	{name: WaitRestored, within: 20 * time.Minute, text: "{who} {are} Ready and {deployment} has all its pods", on: true, ofDeployment: true},
}

// WaitFor lists the conditions for which a step can wait.
func WaitFor() []string { return text.Each(waits, func(w waiting) string { return w.name }) }

// waiting is what a Wait waits for.
func (a *Action) waiting() waiting {
	i := slices.IndexFunc(waits, func(w waiting) bool { return w.name == a.For })
	if i < 0 {
		return waiting{}
	}
	return waits[i]
}

// condition describes what a Wait waits for.
func (a *Action) condition() string {
	nodes := a.Nodes
	if len(nodes) == 0 {
		nodes = a.switched
	}
	who, are, have := cmp.Or(some(nodes), "the nodes"), "is", "has"
	if len(nodes) != 1 {
		are, have = "are", "have"
	}
	return strings.NewReplacer("{who}", who, "{are}", are, "{have}", have, "{deployment}", theDeployment(a.Deployment)).Replace(a.waiting().text)
}
