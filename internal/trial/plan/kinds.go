package plan

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
)

// kind is one sort of step.
type kind struct {
	// name is its word in a file, fields are those that its value may have, separated by spaces.
	name, fields string
	// decode reads the value behind the word.
	decode func(k kind, n *yaml.Node) (Action, error)
}

// kinds are the kinds of steps, in the order of the help.
var kinds = []kind{
	{"load", "for background timeout requests", decodeLoad},
	{"off", "nodes how within", decodeOff},
	{"on", "nodes within", onNodes("an on step", 0, func(nodes []string, within time.Duration) Action { return &On{nodes, within} })},
	{"wait", "for nodes deployment within", decodeWait},
	{"cordon", "nodes", onNodes("this cordon step", 0, func(nodes []string, _ time.Duration) Action { return &Cordon{nodes} })},
	{"drain", "nodes within", onNodes("a drain step", DrainWithin, func(nodes []string, within time.Duration) Action { return &Drain{nodes, within} })},
	{"uncordon", "nodes", onNodes("this uncordon step", 0, func(nodes []string, _ time.Duration) Action { return &Uncordon{nodes} })},
	{"rollout", "deployment within", decodeRollout},
	{"pause", "", decodePause},
	{"stop", "", decodeStop},
}

func kindNames() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

func kindOf(name string) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}

// noWord returns the error that there is no such step or measure. others are words that stand there too.
func noWord(line int, what, word string, names, others []string) error {
	if near := yamlfile.Suggest(word, slices.Concat(others, names)); near != "" {
		return errorAt(line, "there is no %s %s; did you mean %q?", what, quote(word), near)
	}
	return errorAt(line, "there is no %s %s; there are %s", what, quote(word), and(names))
}

// isField reports whether some kind of step has a field of that name.
func isField(name string) bool {
	return slices.ContainsFunc(kinds, func(k kind) bool { return slices.Contains(strings.Fields(k.fields), name) })
}

// decodeStep reads one step.
func decodeStep(n *yaml.Node) (Step, error) {
	s := Step{Line: n.Line}
	if n.Kind != yaml.MappingNode {
		return s, errorAt(n.Line, `a step is written like "- off: [kube-node3]", and this is %s`, is(n))
	}
	var found kind
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		other, known := kindOf(k.Value)
		switch {
		case k.Kind != yaml.ScalarNode:
			return s, errorAt(k.Line, "the name of a field in a step can't be %s", is(k))
		case k.Value == "name" || k.Value == found.name:
		case known && found.name != "":
			return s, errorAt(k.Line, `a step does one thing, and this one has both %s and %s: begin the second with a "- " of its own`, found.name, k.Value)
		case known:
			found = other
		case found.name == "":
			return s, noWord(k.Line, "step", k.Value, kindNames(), nil)
		case isField(k.Value):
			return s, errorAt(k.Line, "%s must be in { } behind %s:, or be indented below it", k.Value, found.name)
		}
	}
	g, err := fields(n, "a step", append([]string{"name"}, kindNames()...)...)
	if err != nil {
		return s, err
	}
	if f, ok := g["name"]; ok {
		s.Name, err = readText(f.Value, "the name of a step", maxStepName)
		if err != nil {
			return s, err
		}
		if s.Name == AllLoads {
			return s, errorAt(f.Value.Line, `a step can't be named "all", because "stop: all" stops every load`)
		}
	}
	if found.name == "" {
		return s, errorAt(n.Line, "this step does nothing: give it one of %s", and(kindNames()))
	}
	action, err := found.decode(found, g[found.name].Value)
	if err == nil {
		s.Action = action
	}
	return s, err
}
