package plan

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
)

// Marshal writes the plan as a file. Parse makes the same plan of it again,
// but for lines and Text, when Check has nothing against the plan and its name
// is one word. A name too long for a file is left out.
func (p *Plan) Marshal() []byte {
	var steps, expect []*yaml.Node
	for _, s := range p.Steps {
		step := group(s.Action.Kind(), s.Action.value())
		if s.Name != s.defaultName() && utf8.RuneCountInString(s.Name) <= maxStepName {
			put(step, "name", s.Name)
		}
		steps = append(steps, step)
	}
	for _, e := range p.Expect {
		subject := "node"
		if measures[e.Measure].ofDeployment {
			subject = "deployment"
		}
		expect = append(expect, group(e.Measure, e.value(), "step", e.Step, subject, e.Subject))
	}
	// What is only texts, numbers and lists can always be written.
	text, _ := yamlfile.Write(group("name", p.Name, "about", p.About, "deployment", p.Deployment,
		"steps", &yaml.Node{Kind: yaml.SequenceNode, Content: steps}, "expect", &yaml.Node{Kind: yaml.SequenceNode, Content: expect}))
	return []byte(text)
}

// group is a group of fields: names and values by turns.
func group(fields ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for f := range slices.Chunk(fields, 2) {
		put(n, f[0].(string), f[1])
	}
	return n
}

// put adds a field to a group, unless it is empty.
func put(to *yaml.Node, name string, value any) {
	n, ok := value.(*yaml.Node)
	switch {
	case ok && n.Kind == yaml.SequenceNode && len(n.Content) == 0, reflect.ValueOf(value).IsZero():
		return
	case !ok:
		n = yamlfile.Encode(value)
		n.Style |= yaml.FlowStyle // lists stand in [ ]
	}
	yamlfile.Put(to, name, n)
}

// flow is a group of fields in { }.
func flow(fields ...any) *yaml.Node {
	n := group(fields...)
	n.Style = yaml.FlowStyle
	return n
}

// aboutNodes is the value of a step about nodes, which may have other fields.
func aboutNodes(nodes []string, fields ...any) any {
	if len(group(fields...).Content) == 0 {
		return nodes
	}
	return flow(append([]any{"nodes", nodes}, fields...)...)
}

// within formats a time; empty for the default.
func within(d, unless time.Duration) string {
	if d <= 0 || d == unless {
		return ""
	}
	return short(d)
}

// number is one as it is written.
func number(v float64) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatFloat(v, 'f', -1, 64)}
}

func inTime(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return ", within " + short(d)
}

var zeros = strings.NewReplacer("h0m0s", "h", "m0s", "m")

// short is d without zero minutes and seconds: 30m, not 30m0s.
func short(d time.Duration) string { return zeros.Replace(d.String()) }
