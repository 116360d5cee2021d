package plan

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
)

// decodeExpectation reads one; with a fault it has no measure.
func decodeExpectation(n *yaml.Node) (Expectation, error) {
	e := Expectation{Line: n.Line}
	if n.Kind != yaml.MappingNode {
		return Expectation{}, yamlfile.ErrorAt(n.Line, `an expectation is written like "- detected: predicted", and this is %s`, yamlfile.Is(n))
	}
	words := slices.Sorted(maps.Keys(measures))
	word, g, err := openOne(n, "an expectation", "measure", words, expectFields, []string{"min", "max"})
	e.Measure = word
	if word != "" {
		err = errors.Join(cmp.Or(err, e.decodeOf(g)), e.decodeBounds(g[word].Value))
	}
	if err != nil {
		return Expectation{}, err
	}
	return e, nil
}

// expectFields are the fields of an expectation beside its measure.
var expectFields = []string{"step", "node", "deployment"}

// decodeOf reads the object of the measure: a load step, a node, a deployment.
func (e *Expectation) decodeOf(g yamlfile.Group) error {
	of := measures[e.Measure].of
	for _, name := range expectFields {
		f, given := g[name]
		switch {
		case given && of == "":
			return yamlfile.ErrorAt(f.Key.Line, "%s is about the whole trial: leave %s out", e.Measure, name)
		case given && name != of:
			return yamlfile.ErrorAt(f.Key.Line, "%s is about a %s, not about a %s", e.Measure, of, name)
		case name == of && name == "step" && !given:
			return yamlfile.ErrorAt(e.Line, "%s is about one load: add step: with the name of the load step", e.Measure)
		}
	}
	step := func(n *yaml.Node, name string) (string, error) { return yamlfile.Text(n, name, maxStepName) }
	return cmp.Or(field(g, "step", &e.Step, step), field(g, "node", &e.Subject, decodeName), field(g, "deployment", &e.Subject, decodeDeployment))
}

// decodeBounds reads 16, predicted, true, or {min: 4, max: 6}.
func (e *Expectation) decodeBounds(n *yaml.Node) error {
	if e.Measure == balanced {
		yes, err := yamlfile.Bool(n, e.Measure)
		if err == nil && !yes {
			err = yamlfile.ErrorAt(n.Line, "%s can only be expected to be true", e.Measure)
		}
		e.Min, e.Max = new(1.), new(1.)
		return err
	}
	m := measures[e.Measure]
	wanted, like := "a whole number or bounds like {min: 4, max: 6}", "{max: 4}"
	if m.phase != "" {
		wanted, like = "bounds like {min: 30s, max: 90s}", "{max: 90s}"
	}
	if m.foretold {
		wanted = "predicted or " + wanted
	}
	switch {
	case n.Value == "predicted" && !m.foretold:
		return yamlfile.ErrorAt(n.Line, "%s has no forecast: give it bounds like %s", e.Measure, like)
	case n.Value == "predicted":
		e.Predicted = true
		return nil
	case n.Kind == yaml.ScalarNode && m.phase == "":
		v, err := e.bound(n, wanted)
		e.Min, e.Max = v, v
		return err
	case n.Kind != yaml.MappingNode:
		return yamlfile.Unwanted(n, e.Measure, wanted)
	}
	return e.decodeMinMax(n)
}

// decodeMinMax reads {min: 4, max: 6}.
func (e *Expectation) decodeMinMax(n *yaml.Node) error {
	g, err := yamlfile.Fields(n, "bounds", "min", "max")
	if len(g) == 0 && err == nil {
		return yamlfile.ErrorAt(n.Line, "these bounds are empty: give min, max or both")
	}
	what := "a whole number"
	if e.Phase() != "" {
		what = "a time written like 90s or 30m"
	}
	bound := func(n *yaml.Node, _ string) (*float64, error) { return e.bound(n, what) }
	err = errors.Join(err, field(g, "min", &e.Min, bound), field(g, "max", &e.Max, bound))
	if err == nil && e.Min != nil && e.Max != nil && *e.Min > *e.Max {
		err = yamlfile.ErrorAt(n.Line, "min is more than max here, so %s can never be met", e.Measure)
	}
	return err
}

// bound reads a count, or a time into seconds.
func (e *Expectation) bound(n *yaml.Node, wanted string) (*float64, error) {
	if e.Phase() != "" {
		d, err := yamlfile.Duration(n, e.Measure, true)
		v := d.Seconds()
		return &v, err
	}
	if !yamlfile.IsNumber(n) {
		return nil, yamlfile.Unwanted(n, e.Measure, wanted)
	}
	v, err := yamlfile.Number(n, e.Measure)
	switch {
	case err != nil:
		return nil, err
	case v != math.Trunc(v):
		return nil, yamlfile.ErrorAt(n.Line, "%s is a count, so it can't be %s", e.Measure, n.Value)
	}
	return &v, nil
}
