package plan

import (
	"math"
	"strconv"
	"strings"

	"lightsout/internal/view"
)

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
	// Predicted: the phase must lie inside its forecast, a window must end there.
	Predicted bool
}

// MeasureKind is the kind of object that a measure belongs to.
type MeasureKind int

// Kinds of measures.
const (
	OfLoad   MeasureKind = iota // a count of one load step; needs Step
	OfPhase                     // seconds from zero until a phase was observed
	OfLedger                    // 1 when every request of the trial is accounted for, else 0
	OfTrial                     // a number of the whole trial
)

// measure is one thing that can be expected.
type measure struct {
	kind MeasureKind
	// phase is the one that it is about, if it is about one.
	phase string
	// seconds: it is a time, not a count.
	seconds bool
	// ofMachine: only the machine decides when, so there is no forecast. ofDeployment: the
	// phase belongs to a deployment, not to a node. foretold: the measure is a count with a
	// forecast.
	ofMachine, ofDeployment, foretold bool
}

// measureWords are the measures in the order of the help.
var measureWords = []string{
	"sent", "ok", "failed", "failed_after_detection", "error_window", "later_failures", "hung", "peak_served", "peak_queued", "peak_streaming",
	"off", "detected", "endpoints_out", "tainted", "evicted", "replaced", "booted", "ready", "restored",
	"lowest_available", "pending", "skew", "skew_before_rollout", "balanced",
}

var measures = map[string]measure{
	"sent":                   {},
	"ok":                     {},
	"failed":                 {},
	"failed_after_detection": {},
	"peak_served":            {},
	"peak_queued":            {},
	"peak_streaming":         {},
	// As loadgen.Window finds them; "predicted" refers to the end of the error window.
	"error_window":   {seconds: true, phase: view.PhaseErrors},
	"later_failures": {},
	"hung":           {},

	"off":           {kind: OfPhase, phase: view.PhaseOff, seconds: true, ofMachine: true},
	"detected":      {kind: OfPhase, phase: view.PhaseDetected, seconds: true},
	"endpoints_out": {kind: OfPhase, phase: view.PhaseEndpointsOut, seconds: true},
	"tainted":       {kind: OfPhase, phase: view.PhaseTainted, seconds: true},
	"evicted":       {kind: OfPhase, phase: view.PhaseEvicted, seconds: true},
	"replaced":      {kind: OfPhase, phase: view.PhaseReplaced, seconds: true, ofDeployment: true},
	"booted":        {kind: OfPhase, phase: view.PhaseBooted, seconds: true, ofMachine: true},
	"ready":         {kind: OfPhase, phase: view.PhaseReady, seconds: true},
	"restored":      {kind: OfPhase, phase: view.PhaseRestored, seconds: true, ofDeployment: true},

	"balanced": {kind: OfLedger},

	// The least number of available pods of the deployment.
	"lowest_available": {kind: OfTrial},
	// The pods without a node at the first power-on request, or at the end.
	"pending": {kind: OfTrial, foretold: true},
	// The largest minus the smallest number of the deployment's pods on a Ready,
	// schedulable worker: at the end, and when the first rollout step began.
	"skew":                {kind: OfTrial},
	"skew_before_rollout": {kind: OfTrial},
}

// object is the field of an expectation that names what the measure is about; empty for the whole trial.
func (m measure) object() string {
	switch {
	case m.ofDeployment:
		return "deployment"
	case m.kind == OfPhase:
		return "node"
	case m.kind == OfLoad:
		return "step"
	}
	return ""
}

// Kind is the kind of object that the measure belongs to.
func (e Expectation) Kind() MeasureKind { return measures[e.Measure].kind }

// Phase is the phase that the expectation is about, or "" when it is not about one.
func (e Expectation) Phase() string { return measures[e.Measure].phase }

// Name describes the measure: "peak served, all nodes on", "detected, kube-node3". Two
// expectations have the same name only if they bound the same measure.
func (e Expectation) Name() string {
	name := strings.ReplaceAll(e.Measure, "_", " ")
	switch {
	case e.Step != "":
		name += ", " + e.Step
	case e.Subject != "":
		name += ", " + e.Subject
	}
	return name
}

// Want describes the expected value: "16", "at least 4", "at most 60 s", "from 30 s to
// 90 s", "inside the forecast", "true".
func (e Expectation) Want() string {
	show := func(v *float64) string { return strconv.FormatFloat(*v, 'f', -1, 64) + e.unit() }
	switch {
	case e.Predicted:
		return "inside the forecast"
	case e.Kind() == OfLedger:
		return "true"
	case e.Min == nil && e.Max == nil:
		return "anything"
	case e.Min == nil:
		return "at most " + show(e.Max)
	case e.Max == nil:
		return "at least " + show(e.Min)
	case *e.Min == *e.Max:
		return show(e.Min)
	}
	return "from " + show(e.Min) + " to " + show(e.Max)
}

// Got formats an observed value like the expected one, to a tenth.
func (e Expectation) Got(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) + e.unit()
}

func (e Expectation) unit() string {
	if measures[e.Measure].seconds {
		return " s"
	}
	return ""
}
