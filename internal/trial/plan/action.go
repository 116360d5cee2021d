package plan

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"lightsout/loadgen"
	"lightsout/power"
)

// Kind is a kind of step: its word in a file.
type Kind string

// The kinds of steps.
const (
	// Load starts requests. A load that ends by itself (a burst, or one with requests or for)
	// is waited for unless Background is set; one that does not must be in the background
	// and lasts until a stop step or the trial's end.
	Load Kind = "load"
	// Off switches machines off. The step ends when every machine is off, or fails when
	// Within has passed, in which the time for the operator's answers does not count.
	Off Kind = "off"
	// On powers machines on, as Off switches them off.
	On Kind = "on"
	// Wait waits for something to be observed. After Within the step and the trial have
	// failed, and the trial continues with powering on.
	Wait Kind = "wait"
	// Cordon lets no more pods be put on nodes. It is undone by an Uncordon, or
	// without one when the node has returned and at the end of the session.
	Cordon Kind = "cordon"
	// Drain cordons nodes and evicts their pods, which respects disruption budgets. The step
	// ends when the pods are gone, or fails after Within; the error then names the
	// disruption budget that holds them.
	Drain Kind = "drain"
	// Uncordon undoes a Cordon, or the cordon of a Drain, on nodes that the trial has
	// cordoned.
	Uncordon Kind = "uncordon"
	// Rollout restarts a deployment's rollout and waits until it is complete.
	Rollout Kind = "rollout"
	// Pause does nothing for a while.
	Pause Kind = "pause"
	// Stop ends a load step, or all of them: no more requests are started; the step ends
	// when none is in flight.
	Stop Kind = "stop"
)

// Action is what a step does. Only the fields of its kind are set.
type Action struct {
	Kind Kind
	// Nodes are those to switch, cordon or drain. They bound a Wait; it is for all nodes
	// that the trial has switched off so far if there are none.
	Nodes []string
	// How switches off: power.ActionShutdown or power.ActionOff.
	How power.Action
	// Within is how long the step may take; 0: the default of what carries it out.
	Within time.Duration
	// For is what is waited for, one of WaitFor.
	For string
	// Deployment, namespace/name, for a Rollout or a Wait; empty: the plan's.
	Deployment string
	// Step is the load step to stop, or AllLoads.
	Step string
	// Pause is the length of a Pause.
	Pause time.Duration
	// Spec and Background are of a Load.
	Spec       loadgen.Spec
	Background bool

	// switched are the nodes of a Wait that names none; check finds them.
	switched []string
}

// AllLoads means every load in a stop step.
const AllLoads = "all"

// DrainWithin is how long a drain may take when the plan does not say.
const DrainWithin = 10 * time.Minute

// Waits reports an action that only waits: it needs no word of the operator.
func (a *Action) Waits() bool { return a.Kind == Wait || a.Kind == Pause }

// endless reports whether a load continues until a step stops it.
func (a *Action) endless() bool {
	return a.Spec.Shape != loadgen.Burst && a.Spec.Requests == 0 && a.Spec.For == 0
}

// verb is what is done to the nodes.
func (a *Action) verb() string {
	switch {
	case a.Kind == Off && a.How == power.ActionOff:
		return "pull the plug of "
	case a.Kind == Off:
		return "shut down "
	case a.Kind == On:
		return "power on "
	}
	return string(a.Kind) + " "
}

// title is the name of a step that has none.
func (a *Action) title() string {
	switch a.Kind {
	case Load:
		return a.Spec.Text()
	case Wait:
		return "wait: " + a.For
	case Rollout:
		return strings.TrimSuffix("rollout of "+a.Deployment, " of ")
	case Pause:
		return a.Text()
	case Stop:
		return "stop " + a.stopped()
	}
	return a.verb() + some(a.Nodes)
}

// Text describes the action in one line: "shut down kube-node3, kube-node4", "wait until
// kube-node3 is detected as not Ready".
func (a *Action) Text() string {
	switch a.Kind {
	case Load:
		return a.loadText()
	case Wait:
		return "wait until " + a.condition() + inTime(a.Within)
	case Rollout:
		return "restart the rollout of " + theDeployment(a.Deployment) + inTime(a.Within)
	case Pause:
		return "pause for " + short(a.Pause)
	case Stop:
		return "stop " + a.stopped() + " and wait for the last requests"
	}
	return a.verb() + strings.Join(a.Nodes, ", ") + inTime(a.Within)
}

func (a *Action) stopped() string {
	if a.Step == AllLoads {
		return "all loads"
	}
	return a.Step
}

// theDeployment names a deployment; empty is the plan's.
func theDeployment(name string) string { return cmp.Or(name, "the deployment") }

// loadText describes the number of requests and the end of a load.
func (a *Action) loadText() string {
	s := a.Spec.Text()
	if a.Spec.Requests > 0 {
		s += fmt.Sprintf(", %d requests in all", a.Spec.Requests)
	}
	if a.Spec.For > 0 {
		s += " for " + short(a.Spec.For)
	}
	if a.Background {
		s += ", in the background"
	}
	if a.Spec.Timeout > 0 {
		s += ", each with a timeout of " + short(a.Spec.Timeout)
	}
	return s
}

// node is the value behind the word of a step made by keyboard, which does not wait.
func (a *Action) node() any {
	switch {
	case a.Kind == Load:
		var shape any = a.Spec.N
		if a.Spec.Shape == loadgen.Rate {
			shape = strconv.FormatFloat(a.Spec.PerSecond, 'f', -1, 64) + "/s"
		}
		return flow(string(a.Spec.Shape), shape, "requests", a.Spec.Requests, "for", short(a.Spec.For), "background", a.Background)
	case a.Kind == Off && a.How == power.ActionOff:
		return flow("nodes", a.Nodes, "how", "plug")
	case a.Kind == Rollout:
		return a.Deployment
	case a.Kind == Stop:
		return a.Step
	}
	return a.Nodes
}

// flow is a group of fields in { }.
func flow(fields ...any) *yaml.Node {
	n := group(fields...)
	n.Style = yaml.FlowStyle
	return n
}
