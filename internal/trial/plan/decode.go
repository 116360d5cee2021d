package plan

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
)

// Bounds on words in a plan, in characters.
const (
	maxAbout    = 1000
	maxStepName = 160
)

// planName matches names that are safe as the name of a folder on every system.
var planName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// decode reads the fields, and returns all that is wrong with them.
func (p *Plan) decode(root *yaml.Node) (faults []error) {
	if root.Kind != yaml.MappingNode {
		return []error{yamlfile.ErrorAt(root.Line, "a plan begins with fields like name: and steps:, not with %s", yamlfile.Is(root))}
	}
	note := func(err error) { faults = append(faults, yamlfile.Single(err)...) }
	g, faults := yamlfile.Open(root, "a plan", "name", "about", "deployment", "steps", "expect")
	note(p.decodeName(root, g))
	if f, ok := g["about"]; ok {
		folded := *f.Value // may be written on several lines
		folded.Value = strings.Join(strings.Fields(folded.Value), " ")
		var err error
		p.About, err = yamlfile.Text(&folded, "about", maxAbout)
		note(err)
	}
	if f, ok := g["deployment"]; ok {
		note(field(g, "deployment", &p.Deployment, decodeDeployment))
		p.deploymentLine = f.Value.Line
	}
	p.stepsLine = root.Line
	if f, ok := g["steps"]; ok {
		p.stepsLine = f.Key.Line
		p.Steps = decodeList(f, "step", maxSteps, "- off: [kube-node3]", decodeStep, note)
	}
	if f, ok := g["expect"]; ok {
		p.Expect = decodeList(f, "expectation", maxExpect, "- detected: predicted", decodeExpectation, note)
		p.Expect = slices.DeleteFunc(p.Expect, func(e Expectation) bool { return e.Measure == "" })
	}
	return faults
}

func (p *Plan) decodeName(root *yaml.Node, g yamlfile.Group) (err error) {
	f, ok := g["name"]
	if !ok {
		return yamlfile.ErrorAt(root.Line, `the plan has no name: begin it with one like "name: two-of-four"`)
	}
	p.Name, err = yamlfile.Text(f.Value, "name", 253)
	if err == nil && !planName.MatchString(p.Name) {
		err = yamlfile.ErrorAt(f.Value.Line, "%s can't be a plan's name, which is one word of at most 63 letters, digits, dots, dashes and underscores", yamlfile.Quote(p.Name))
	}
	return err
}

// decodeList reads a list of at most this many items; like is an example of an item. note
// receives their errors; it may be called without one.
func decodeList[T any](f yamlfile.Field, item string, most int, like string, decode func(*yaml.Node) (T, error), note func(error)) (out []T) {
	if f.Value.Kind != yaml.SequenceNode {
		note(yamlfile.ErrorAt(f.Value.Line, `%s must be a list like "%s", %s`, f.Key.Value, like, yamlfile.IsNot(f.Value)))
		return nil
	}
	for i, n := range f.Value.Content {
		if i == most {
			note(yamlfile.ErrorAt(n.Line, "this is %s %d, and a plan has at most %d", item, i+1, most))
			break
		}
		one, err := decode(n)
		note(err)
		out = append(out, one)
	}
	return out
}
