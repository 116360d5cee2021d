package plan

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
)

// Bounds on words in a plan, in characters.
const (
	maxAbout    = 1000
	maxStepName = 160
)

// planName is what is safe as the name of a folder everywhere.
var planName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

func decodePlan(root *yaml.Node) (*Plan, error) {
	if root.Kind != yaml.MappingNode {
		return nil, errorAt(root.Line, "a plan begins with fields like name: and steps:, not with %s", is(root))
	}
	g, err := fields(root, "a plan", "name", "about", "deployment", "steps", "expect")
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	f, ok := g["name"]
	if !ok {
		return nil, errorAt(root.Line, `the plan has no name: begin it with one like "name: two-of-four"`)
	}
	if p.Name, err = readText(f.Value, "name", 253); err != nil {
		return nil, err
	}
	if !planName.MatchString(p.Name) {
		return nil, errorAt(f.Value.Line, "%s can't be a plan's name, which is one word of at most 63 letters, digits, dots, dashes and underscores", quote(p.Name))
	}
	if f, ok := g["about"]; ok {
		folded := *f.Value // may be written on several lines
		folded.Value = strings.Join(strings.Fields(folded.Value), " ")
		if p.About, err = readText(&folded, "about", maxAbout); err != nil {
			return nil, err
		}
	}
	if f, ok := g["deployment"]; ok {
		if p.Deployment, err = decodeDeployment(f.Value); err != nil {
			return nil, err
		}
		p.deploymentLine = f.Value.Line
	}
	f, ok = g["steps"]
	if !ok {
		return nil, errorAt(root.Line, `the plan has no steps: add them under "steps:"`)
	}
	p.stepsLine = f.Key.Line
	if p.Steps, err = decodeList(f, "step", MaxSteps, "- off: [kube-node3]", decodeStep); err != nil {
		return nil, err
	}
	if len(p.Steps) == 0 {
		return nil, errorAt(f.Value.Line, "the plan has no steps: the list is empty")
	}
	if f, ok := g["expect"]; ok {
		p.Expect, err = decodeList(f, "expectation", MaxExpect, "- detected: predicted", decodeExpectation)
	}
	return p, err
}

// decodeList reads a list of at most so many items; like is one as it is written.
func decodeList[T any](f yamlfile.Field, item string, most int, like string, decode func(*yaml.Node) (T, error)) ([]T, error) {
	if f.Value.Kind != yaml.SequenceNode {
		return nil, errorAt(f.Value.Line, `%s must be a list like "%s", %s`, f.Key.Value, like, isNot(f.Value))
	}
	var out []T
	for i, n := range f.Value.Content {
		if i == most {
			return nil, errorAt(n.Line, "this is %s %d, and a plan has at most %d", item, i+1, most)
		}
		one, err := decode(n)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}
