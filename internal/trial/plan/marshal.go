package plan

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
)

// Marshal writes a plan made by keyboard as a file, of which Parse makes the same plan again: it has
// no expectations, and no step that waits.
func (p *Plan) Marshal() []byte {
	var steps []*yaml.Node
	for _, s := range p.Steps {
		step := group(string(s.Action.Kind), s.Action.node())
		if s.Name != s.defaultName() {
			put(step, "name", s.Name)
		}
		steps = append(steps, step)
	}
	// What is only texts, numbers and lists can always be written.
	text, _ := yamlfile.Write(group("name", p.Name, "deployment", p.Deployment, "steps", &yaml.Node{Kind: yaml.SequenceNode, Content: steps}))
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

func inTime(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return ", within " + short(d)
}

var zeros = strings.NewReplacer("h0m0s", "h", "m0s", "m")

// short is d without zero minutes and seconds: 30m, not 30m0s; empty for none.
func short(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return zeros.Replace(d.String())
}
