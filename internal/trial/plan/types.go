package plan

import (
	"time"

	"lightsout/loadgen"
	"lightsout/power"
)

// Plan is a trial as it is wanted. It is immutable once parsed.
type Plan struct {
	// Name is one word for files and titles; About one or two sentences.
	Name, About string
	// Deployment, namespace/name, is what the trial is about; empty: the one
	// that the load of the configuration goes to.
	Deployment string
	Steps      []Step
	Expect     []Expectation
	// Text is the file as it was read.
	Text []byte

	// Lines for errors; 0 in a plan that was not read from a file.
	deploymentLine, stepsLine int
}

// Step is one step. Exactly one of the pointers below Name is set.
type Step struct {
	// Line is where it begins in the file, from 1; 0 for one made by keyboard.
	Line int
	// Name is unique in the plan; a step that is not named has one made from
	// what it does ("burst of 16", "shut down kube-node3", "wait: detected").
	Name string

	Load *Load
	Off  *Switch
	On   *Switch
	// Cordon lets no more pods be put on nodes. Uncordon undoes that, and a
	// Drain's, for what was cordoned by the trial; without such a step it is
	// undone when the node has returned, and at the end of the session.
	Cordon   *Cordon
	Drain    *Drain
	Uncordon *Cordon
	Wait     *Wait
	Rollout  *Rollout
	Pause    *Pause
	// StopLoad ends the load step of that name, or all loads when it is "all":
	// no more requests are started; the step ends when none is in flight.
	StopLoad *StopLoad
}

// Load starts requests. A load that ends by itself (a burst, or one with
// Requests or For) is waited for unless Background is set; one that does not
// must be in the background and lasts until a stop step or the trial's end.
type Load struct {
	Spec       loadgen.Spec
	Background bool
	// Timeout bounds a whole request of this load; 0: the configuration's.
	Timeout time.Duration
}

// Switch switches machines. How is ActionShutdown or ActionOff for an off step,
// ActionOn for an on step. The step ends when every machine's state is as
// wanted, or fails when Within has passed.
type Switch struct {
	Nodes  []string
	How    power.Action
	Within time.Duration // 0: the drivers' own deadline
}

// Cordon names the nodes of a cordon or an uncordon step.
type Cordon struct{ Nodes []string }

// DrainWithin is how long a drain may take when the plan does not say.
const DrainWithin = 10 * time.Minute

// Drain cordons nodes and evicts their pods, which respects disruption budgets.
// The step ends when the pods are gone, or fails when Within has passed; it
// then says which budget held them.
type Drain struct {
	Nodes  []string
	Within time.Duration
}

// Wait waits for something to be observed.
type Wait struct {
	// For is one of WaitFor.
	For string
	// Nodes bounds it to these nodes; empty: all nodes that the trial has
	// switched off so far.
	Nodes []string
	// Deployment, for deployments; empty: the plan's.
	Deployment string
	// Within is how long to wait, from the start of the step; when it passes
	// the step has failed and so has the trial, which goes on with powering on.
	Within time.Duration

	// switched are the nodes that an empty Nodes stands for; Check finds them.
	switched []string
}

// What can be waited for. Each is the phase of the same name in package record.
const (
	WaitDetected     = "detected"      // every node is not Ready
	WaitEndpointsOut = "endpoints out" // no endpoint on the nodes is ready
	WaitEvicted      = "evicted"       // every pod on the nodes that can be is being deleted
	WaitReplaced     = "replaced"      // as many pods are available again, without the nodes
	WaitReady        = "ready"         // every node is Ready again
	WaitRestored     = "restored"      // every node Ready and the deployment has all that it should have
)

// WaitFor lists what can be waited for.
var WaitFor = []string{WaitDetected, WaitEndpointsOut, WaitEvicted, WaitReplaced, WaitReady, WaitRestored}

// Rollout restarts a deployment's rollout and waits until it is complete.
type Rollout struct {
	// Deployment, namespace/name; empty: the plan's.
	Deployment string
	Within     time.Duration // 0: ten minutes
}

// Pause does nothing for a while.
type Pause struct{ For time.Duration }

// StopLoad ends a load step.
type StopLoad struct{ Step string }

// Expectation is one thing that must be seen, with bounds.
type Expectation struct {
	Line int
	// Measure is one of Measures.
	Measure string
	// Step names the load step, for measures of a load.
	Step string
	// Subject is the node or deployment, for measures of a phase; empty: all.
	Subject string
	// Min and Max bound a number or, in seconds, a time; nil: no such bound.
	Min, Max *float64
	// Predicted: the phase must lie inside its predicted interval.
	Predicted bool
}

// MeasureKind says what a measure is of.
type MeasureKind int

// Kinds of measures.
const (
	OfLoad   MeasureKind = iota // a count of one load step; needs Step
	OfPhase                     // seconds from zero until a phase was observed
	OfLedger                    // 1 when every request of the trial is accounted for, else 0
	OfTrial                     // a number of the whole trial
)

// Measures are what can be expected, and what they are of.
var Measures = map[string]MeasureKind{
	"sent": OfLoad, "ok": OfLoad, "failed": OfLoad, "peak_served": OfLoad, "peak_queued": OfLoad,
	"failed_after_detection": OfLoad,
	// error_window is seconds from the first to the last failed request's sending.
	"error_window": OfLoad,

	"off": OfPhase, "detected": OfPhase, "endpoints_out": OfPhase, "tainted": OfPhase, "evicted": OfPhase,
	"replaced": OfPhase, "booted": OfPhase, "ready": OfPhase, "restored": OfPhase,

	"balanced": OfLedger,

	// lowest_available is the least number of available pods of the deployment.
	"lowest_available": OfTrial,
	// skew is the largest minus the smallest number of the deployment's pods on
	// a Ready, schedulable worker at the end.
	"skew": OfTrial,
	// skew_before_rollout is the same when the first rollout step began.
	"skew_before_rollout": OfTrial,
}
