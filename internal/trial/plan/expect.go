package plan

import (
	"math"
	"strconv"
	"strings"
)

// Name says what is measured: "peak served, all nodes on", "detected,
// kube-node3". Two expectations have the same name only when they bound the
// same thing.
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

// Want says what is wanted: "16", "at least 4", "at most 60 s", "from 30 s to
// 90 s", "inside the forecast", "true".
func (e Expectation) Want() string {
	unit := ""
	if isTime(e.Measure) {
		unit = " s"
	}
	show := func(v *float64) string { return strconv.FormatFloat(*v, 'f', -1, 64) + unit }
	switch {
	case e.Predicted:
		return "inside the forecast"
	case Measures[e.Measure] == OfLedger:
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

// Holds reports whether v, a count or seconds, lies within the bounds, which
// belong to them. What was not observed (NaN) never holds. An expectation that
// is Predicted has no bounds of its own: whoever knows the forecast judges it.
func (e Expectation) Holds(v float64) bool {
	return !math.IsNaN(v) && (e.Min == nil || v >= *e.Min) && (e.Max == nil || v <= *e.Max)
}

// Phase is the phase that the expectation is about as package record names it,
// or "" when it is not about one.
func (e Expectation) Phase() string {
	switch {
	case Measures[e.Measure] != OfPhase:
		return ""
	case e.Measure == "restored":
		return "capacity restored"
	}
	return strings.ReplaceAll(e.Measure, "_", " ")
}
