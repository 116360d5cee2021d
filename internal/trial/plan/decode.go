package plan

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
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
	if f.Value.Kind != yaml.SequenceNode {
		return nil, errorAt(f.Value.Line, `steps must be a list like "- off: [kube-node3]", %s`, isNot(f.Value))
	}
	for i, n := range f.Value.Content {
		if i == MaxSteps {
			return nil, errorAt(n.Line, "this is step %d, and a plan has at most %d", i+1, MaxSteps)
		}
		s, err := decodeStep(n)
		if err != nil {
			return nil, err
		}
		p.Steps = append(p.Steps, s)
	}
	if len(p.Steps) == 0 {
		return nil, errorAt(f.Value.Line, "the plan has no steps: the list is empty")
	}
	p.stepsLine = f.Key.Line
	f, ok = g["expect"]
	if !ok {
		return p, nil
	}
	if f.Value.Kind != yaml.SequenceNode {
		return nil, errorAt(f.Value.Line, `expect must be a list like "- detected: predicted", %s`, isNot(f.Value))
	}
	for i, n := range f.Value.Content {
		if i == MaxExpect {
			return nil, errorAt(n.Line, "this is expectation %d, and a plan has at most %d", i+1, MaxExpect)
		}
		e, err := decodeExpectation(n)
		if err != nil {
			return nil, err
		}
		p.Expect = append(p.Expect, e)
	}
	return p, nil
}
