package plan

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"lightsout/power"
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
	f, ok := g.at["name"]
	if !ok {
		return nil, errorAt(root.Line, `the plan has no name: begin it with one like "name: two-of-four"`)
	}
	if p.Name, err = text(f.value, "name", 253); err != nil {
		return nil, err
	}
	if !planName.MatchString(p.Name) {
		return nil, errorAt(f.value.Line, "%s can't be a plan's name, which is one word of at most 63 letters, digits, dots, dashes and underscores", quote(p.Name))
	}
	if f, ok := g.at["about"]; ok {
		folded := *f.value // may be written on several lines
		folded.Value = strings.Join(strings.Fields(folded.Value), " ")
		if p.About, err = text(&folded, "about", maxAbout); err != nil {
			return nil, err
		}
	}
	if f, ok := g.at["deployment"]; ok {
		if p.Deployment, err = deployment(f.value); err != nil {
			return nil, err
		}
		p.deploymentLine = f.value.Line
	}
	f, ok = g.at["steps"]
	if !ok {
		return nil, errorAt(root.Line, `the plan has no steps: add them under "steps:"`)
	}
	if f.value.Kind != yaml.SequenceNode {
		return nil, errorAt(f.value.Line, `steps must be a list like "- off: [kube-node3]", %s`, isNot(f.value))
	}
	for i, n := range f.value.Content {
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
		return nil, errorAt(f.value.Line, "the plan has no steps: the list is empty")
	}
	p.stepsLine = f.key.Line
	f, ok = g.at["expect"]
	if !ok {
		return p, nil
	}
	if f.value.Kind != yaml.SequenceNode {
		return nil, errorAt(f.value.Line, `expect must be a list like "- detected: predicted", %s`, isNot(f.value))
	}
	for i, n := range f.value.Content {
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

// stepKinds are the steps there are, in the order in which they are told.
var stepKinds = []string{"load", "off", "on", "wait", "cordon", "drain", "uncordon", "rollout", "pause", "stop"}

// meant are words that people use for a step's kind.
var meant = map[string]string{
	"shutdown": "off", "shut_down": "off", "power_off": "off", "poweroff": "off", "halt": "off", "plug": "off", "kill": "off",
	"power_on": "on", "poweron": "on", "start": "on", "boot": "on", "up": "on",
	"sleep": "pause", "delay": "pause", "restart": "rollout", "wait_for": "wait", "until": "wait",
	"evict": "drain", "unschedulable": "cordon", "schedulable": "uncordon",
	"burst": "load", "hold": "load", "rate": "load", "requests": "load", "cancel": "stop", "end": "stop",
}

// noStep is the error that there is no such step.
func noStep(line int, word string) error {
	guess := suggest(word, stepKinds)
	if guess == "" {
		var words []string
		for w := range meant {
			words = append(words, w)
		}
		// A tie between two words may not change the sentence from run to run.
		for _, w := range sorted(words) {
			if suggest(word, []string{w}) != "" {
				guess = meant[w]
				break
			}
		}
	}
	if guess != "" {
		return errorAt(line, "there is no step %s; did you mean %q?", quote(word), guess)
	}
	return errorAt(line, "there is no step %s; there are %s", quote(word), and(stepKinds))
}

func decodeStep(n *yaml.Node) (Step, error) {
	s := Step{Line: n.Line}
	if n.Kind != yaml.MappingNode {
		return s, errorAt(n.Line, `a step is written like "- off: [kube-node3]", and this is %s`, is(n))
	}
	known := append([]string{"name"}, stepKinds...)
	kind := ""
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			return s, errorAt(k.Line, "the name of a field in a step can't be %s", is(k))
		case k.Value == "name" || k.Value == kind:
		case contains(stepKinds, k.Value):
			if kind != "" {
				return s, errorAt(k.Line, `a step does one thing, and this one has both %s and %s: begin the second with a "- " of its own`, kind, k.Value)
			}
			kind = k.Value
		case kind == "":
			return s, noStep(k.Line, k.Value)
		case contains([]string{"nodes", "how", "within", "for", "background", "timeout", "requests", "deployment"}, k.Value):
			return s, errorAt(k.Line, "%s must stand in { } behind %s:, or be indented below it", k.Value, kind)
		}
	}
	g, err := fields(n, "a step", known...)
	if err != nil {
		return s, err
	}
	if f, ok := g.at["name"]; ok {
		if s.Name, err = text(f.value, "the name of a step", maxStepName); err != nil {
			return s, err
		}
		if s.Name == allLoads {
			return s, errorAt(f.value.Line, `a step can't be named "all": that is what "stop: all" stands for`)
		}
	}
	if kind == "" {
		return s, errorAt(n.Line, "this step does nothing: give it one of %s", and(stepKinds))
	}
	v := g.at[kind].value
	switch kind {
	case "load":
		s.Load, err = decodeLoad(v)
	case "off":
		s.Off, err = decodeSwitch(v, "off", power.ActionShutdown)
	case "on":
		s.On, err = decodeSwitch(v, "on", power.ActionOn)
	case "wait":
		s.Wait, err = decodeWait(v)
	case "cordon":
		s.Cordon, err = decodeCordon(v, "cordon")
	case "drain":
		s.Drain, err = decodeDrain(v)
	case "uncordon":
		s.Uncordon, err = decodeCordon(v, "uncordon")
	case "rollout":
		s.Rollout, err = decodeRollout(v)
	case "pause":
		s.Pause = &Pause{}
		s.Pause.For, err = duration(v, "pause", false)
	case "stop":
		s.StopLoad = &StopLoad{}
		s.StopLoad.Step, err = text(v, "stop", maxStepName)
	}
	return s, err
}
