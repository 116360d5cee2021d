package plan

import (
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// measureWords are the measures in the order in which they are told.
var measureWords = []string{
	"sent", "ok", "failed", "failed_after_detection", "error_window", "peak_served", "peak_queued",
	"off", "detected", "endpoints_out", "tainted", "evicted", "replaced", "booted", "ready", "restored",
	"lowest_available", "skew", "skew_before_rollout", "balanced",
}

// meantMeasure are words that people use for a measure.
var meantMeasure = map[string]string{
	"served": "peak_served", "queued": "peak_queued", "capacity_restored": "restored", "not_ready": "detected",
	"notready": "detected", "errors": "failed", "failures": "failed",
}

// afterOn are the phases that only a node that is switched on again reaches.
var afterOn = []string{"booted", "ready", "restored"}

// unforeseen are the phases that nothing but the machine decides on.
var unforeseen = []string{"off", "booted"}

// ofDeployment are the phases of a deployment; all others are of nodes.
var ofDeployment = []string{"replaced", "restored"}

// isTime reports that a measure is in seconds and not a count.
func isTime(measure string) bool {
	return Measures[measure] == OfPhase || measure == "error_window"
}

func decodeExpectation(n *yaml.Node) (Expectation, error) {
	e := Expectation{Line: n.Line}
	if n.Kind != yaml.MappingNode {
		return e, errorAt(n.Line, `an expectation is written like "- detected: predicted", and this is %s`, is(n))
	}
	var value *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		_, known := Measures[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode:
			return e, errorAt(k.Line, "the name of a field in an expectation can't be %s", is(k))
		case known && value != nil && e.Measure != k.Value:
			return e, errorAt(k.Line, `an expectation has one measure, and this one has both %s and %s: begin the second with a "- " of its own`, e.Measure, k.Value)
		case known:
			e.Measure, value = k.Value, n.Content[i+1]
		case contains([]string{"min", "max"}, k.Value):
			return e, errorAt(k.Line, "%s must stand in { } behind the measure, like {%s: 4}", k.Value, k.Value)
		case !contains([]string{"step", "node", "deployment"}, k.Value):
			return e, noMeasure(k.Line, k.Value)
		}
	}
	if value == nil {
		return e, errorAt(n.Line, "this expectation has no measure: give it one of %s", and(measureWords))
	}
	g, err := fields(n, "an expectation", e.Measure, "step", "node", "deployment")
	if err != nil {
		return e, err
	}
	if err := e.decodeBounds(value); err != nil {
		return e, err
	}
	return e, e.decodeOf(g)
}

func noMeasure(line int, word string) error {
	known := append([]string{"step", "node", "deployment"}, measureWords...)
	near := meantMeasure[strings.ToLower(word)]
	if near == "" {
		near = suggest(word, known)
	}
	if near != "" {
		return errorAt(line, "there is no measure %s; did you mean %q?", quote(word), near)
	}
	return errorAt(line, "there is no measure %s; there are %s", quote(word), and(measureWords))
}

// decodeOf reads what the measure is of: a load step, a node, a deployment.
func (e *Expectation) decodeOf(g group) error {
	kind := Measures[e.Measure]
	if f, ok := g.at["step"]; ok {
		if kind != OfLoad {
			return errorAt(f.key.Line, "%s is not about one load: leave step out", e.Measure)
		}
		var err error
		if e.Step, err = text(f.value, "step", maxStepName); err != nil {
			return err
		}
	} else if kind == OfLoad {
		return errorAt(e.Line, "%s is about one load: add step: with the name of the load step", e.Measure)
	}
	for _, subject := range []string{"node", "deployment"} {
		f, ok := g.at[subject]
		if !ok {
			continue
		}
		wanted := "node"
		if contains(ofDeployment, e.Measure) {
			wanted = "deployment"
		}
		if kind != OfPhase {
			return errorAt(f.key.Line, "%s is not told for one %s: leave %s out", e.Measure, subject, subject)
		}
		if subject != wanted {
			return errorAt(f.key.Line, "%s is about a %s, not about a %s", e.Measure, wanted, subject)
		}
		var err error
		if subject == "node" {
			e.Subject, err = node(f.value, "node")
		} else {
			e.Subject, err = deployment(f.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// decodeBounds reads 16, predicted, true, or {min: 4, max: 6}.
func (e *Expectation) decodeBounds(n *yaml.Node) error {
	if Measures[e.Measure] == OfLedger {
		yes, err := truth(n, e.Measure)
		if err == nil && !yes {
			err = errorAt(n.Line, "%s can only be expected to be true", e.Measure)
		}
		one := 1.0
		e.Min, e.Max = &one, &one
		return err
	}
	wanted, like := "a whole number or bounds like {min: 4, max: 6}", "{max: 4}"
	if isTime(e.Measure) {
		like = "{max: 90s}"
	}
	if n.Kind == yaml.ScalarNode && n.Value == "predicted" {
		if Measures[e.Measure] != OfPhase || contains(unforeseen, e.Measure) {
			return errorAt(n.Line, "%s has no forecast: give it bounds like %s", e.Measure, like)
		}
		e.Predicted = true
		return nil
	}
	if isTime(e.Measure) {
		wanted = "bounds like {min: 30s, max: 90s}"
		if Measures[e.Measure] == OfPhase && !contains(unforeseen, e.Measure) {
			wanted = "predicted or " + wanted
		}
	}
	if n.Kind == yaml.ScalarNode && !isTime(e.Measure) {
		v, err := e.bound(n, wanted)
		e.Min, e.Max = v, v
		return err
	}
	if n.Kind != yaml.MappingNode {
		return unwanted(n, e.Measure, wanted)
	}
	g, err := fields(n, "bounds", "min", "max")
	if err != nil {
		return err
	}
	if len(g.at) == 0 {
		return errorAt(n.Line, "these bounds are empty: give min, max or both")
	}
	what := "a whole number"
	if isTime(e.Measure) {
		what = "a time written like 90s or 30m"
	}
	if f, ok := g.at["min"]; ok {
		if e.Min, err = e.bound(f.value, what); err != nil {
			return err
		}
	}
	if f, ok := g.at["max"]; ok {
		if e.Max, err = e.bound(f.value, what); err != nil {
			return err
		}
	}
	if e.Min != nil && e.Max != nil && *e.Min > *e.Max {
		return errorAt(n.Line, "min is more than max here, so %s can never be met", e.Measure)
	}
	return nil
}

// bound reads a count, or a time in seconds with or without its unit.
func (e *Expectation) bound(n *yaml.Node, wanted string) (*float64, error) {
	if isTime(e.Measure) && n.ShortTag() == "!!str" {
		d, err := duration(n, e.Measure, true)
		v := d.Seconds()
		return &v, err
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!str" || !decimal.MatchString(n.Value) {
		return nil, unwanted(n, e.Measure, wanted)
	}
	v, err := number(n, e.Measure)
	switch {
	case err != nil:
		return nil, err
	case !isTime(e.Measure) && v != math.Trunc(v):
		return nil, errorAt(n.Line, "%s is a count, so it can't be %s", e.Measure, n.Value)
	case isTime(e.Measure) && v > maxTime.Seconds():
		return nil, errorAt(n.Line, "%s can be at most 24h, not %s s", e.Measure, shorten(n.Value, 40))
	}
	return &v, nil
}

func contains(words []string, word string) bool { return slices.Contains(words, word) }

func sorted(words []string) []string {
	slices.Sort(words)
	return words
}
