package view

import "slices"

// Verdict is how a trial ended.
type Verdict string

// Verdicts. Every trial that is judged has exactly one.
const (
	// Pass: the outage was observed, the return was proven, and every
	// expectation was met.
	Pass Verdict = "pass"
	// NoExpectations: the outage was observed and the return was proven, but the plan
	// expects nothing of the service.
	NoExpectations Verdict = "no expectations"
	// Fail: an expectation was not met, or a step did not come to its end.
	Fail Verdict = "fail"
	// NotObserved: the outage or the return was not proven, or no expectation was missed for
	// certain, but one was not observed: lightsout gives no verdict on the service.
	NotObserved Verdict = "not observed"
	// Aborted: the operator, or a signal, ended the trial before its end.
	Aborted Verdict = "aborted"
)

// NoVerdict explains the verdict NotObserved by its reasons and the expectations: either only
// expectations lack an observation, or the outage or the return does.
func NoVerdict(why []string, expectations []Expectation) string {
	missed := slices.DeleteFunc(slices.Clone(expectations), func(e Expectation) bool { return e.OK })
	hidden := !slices.ContainsFunc(missed, func(e Expectation) bool { return !e.Unobserved })
	if hidden && len(missed) > 0 && len(missed) == len(why) {
		return "no verdict on the service: lightsout did not observe what an expectation is about"
	}
	return "no verdict on the service: lightsout did not observe the whole outage and return for certain"
}

// Expectation is one expected observation of the plan.
type Expectation struct {
	Name string `json:"name"`
	// Want and Got are for people: "16", "at most 60 s", "not observed".
	Want string `json:"want"`
	Got  string `json:"got"`
	OK   bool   `json:"ok"`
	// Unobserved: it is not OK only because nobody observed what it is about.
	Unobserved bool `json:"unobserved,omitempty"`
}

// Phase is one stage of the outage or the return, forecast and observed.
type Phase struct {
	// Name is one of PhaseNames.
	Name string `json:"name"`
	// Subject is the node, the deployment (namespace/name) or the load that
	// it is about.
	Subject string `json:"subject"`
	// Predicted is the interval of its forecast, by the newest information before it
	// happened; null if there is no forecast.
	Predicted *[2]float64 `json:"predicted"`
	// First is the forecast as it stood at zero; null when there was none.
	First *[2]float64 `json:"first,omitempty"`
	// Observed is when it was seen, or by the API server's clock when it happened, if a blind
	// span hid it; null when it was not.
	Observed *float64 `json:"observed"`
	// Source is the source's own time, where it gives one (coarser: often 1 s).
	Source *float64 `json:"source,omitempty"`
	// From is the beginning, for phases that are spans (the error window).
	From *float64 `json:"from,omitempty"`
	// Inside reports that it happened within Predicted; null unless it was forecast and
	// observed, and if nobody knows because a blind span hid it or an error window has not ended.
	Inside *bool `json:"inside,omitempty"`
	// HiddenFrom is there if a blind span hid the phase: it may have happened at any time from
	// then to Observed.
	HiddenFrom *float64 `json:"hidden_from,omitempty"`
	// Before: it was so before the machine went off, so Kubernetes did nothing then.
	Before bool `json:"before,omitempty"`
	// Note is a one-sentence remark: "assumed timings", "will not fit: 8 Pending",
	// "seen after a blind span".
	Note string `json:"note,omitempty"`
}

// The names of phases, in the order of the report.
const (
	PhaseOff          = "off"               // a node's machine is off
	PhaseDetected     = "detected"          // the node is marked not Ready
	PhaseEndpointsOut = "endpoints out"     // no endpoint on the node is ready
	PhaseErrors       = "error window"      // from the first to the last failed request
	PhaseTainted      = "tainted"           // the NoExecute taint is on the node
	PhaseEvicted      = "evicted"           // the first of the node's pods is being deleted
	PhaseReplaced     = "replaced"          // the deployment has as many available pods again, without the node
	PhaseBooted       = "booted"            // the node reports a new boot id
	PhaseReady        = "ready"             // the node is Ready again
	PhaseRestored     = "capacity restored" // the deployment has all that it should have, and the nodes are Ready
)

// PhaseNames lists the phases in the order of the report.
var PhaseNames = []string{PhaseOff, PhaseDetected, PhaseEndpointsOut, PhaseErrors, PhaseTainted, PhaseEvicted, PhaseReplaced, PhaseBooted, PhaseReady, PhaseRestored}
