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
	// Measure is one of measures.
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

// measure is one thing that can be expected.
type measure struct {
	// of is the field of an expectation that names what it is about: a step that is a load, a node or a
	// deployment. It is empty for the whole trial.
	of string
	// phase is the one whose time it is, in seconds from zero; empty: it is a count.
	phase string
	// foretold: it has a forecast. When a machine is off and has booted, only the machine decides.
	foretold bool
}

// balanced is 1 when every request of the trial is accounted for, else 0.
const balanced = "balanced"

var measures = map[string]measure{
	"sent":                   {of: "step"},
	"ok":                     {of: "step"},
	"failed":                 {of: "step"},
	"failed_after_detection": {of: "step"},
	"peak_served":            {of: "step"},
	"peak_queued":            {of: "step"},
	"peak_streaming":         {of: "step"},
	// As loadgen.Window finds them; "predicted" refers to the end of the error window.
	"error_window":   {of: "step", phase: view.PhaseErrors, foretold: true},
	"later_failures": {of: "step"},
	"hung":           {of: "step"},

	"off":           {of: "node", phase: view.PhaseOff},
	"detected":      {of: "node", phase: view.PhaseDetected, foretold: true},
	"endpoints_out": {of: "node", phase: view.PhaseEndpointsOut, foretold: true},
	"tainted":       {of: "node", phase: view.PhaseTainted, foretold: true},
	"evicted":       {of: "node", phase: view.PhaseEvicted, foretold: true},
	"replaced":      {of: "deployment", phase: view.PhaseReplaced, foretold: true},
	"booted":        {of: "node", phase: view.PhaseBooted},
	"ready":         {of: "node", phase: view.PhaseReady, foretold: true},
	"restored":      {of: "deployment", phase: view.PhaseRestored, foretold: true},

	balanced: {},
	// The least number of available pods of the deployment.
	"lowest_available": {},
	// The pods without a node at the first power-on request, or at the end.
	"pending": {foretold: true},
	// The largest minus the smallest number of the deployment's pods on a Ready,
	// schedulable worker: at the end, and when the first rollout step began.
	"skew":                {},
	"skew_before_rollout": {},
}

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
	case e.Measure == balanced:
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
	switch {
	case e.Measure == balanced && v == 0:
		return "not balanced"
	case e.Measure == balanced:
		return "balanced"
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) + e.unit()
}

func (e Expectation) unit() string {
	if e.Phase() != "" {
		return " s"
	}
	return ""
}
