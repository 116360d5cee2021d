package plan

import (
	"cmp"
	"time"

	"go.yaml.in/yaml/v3"

	"lightsout/power"
)

// Off switches machines off. The step ends when every machine is off, or fails
// when Within has passed, in which the time for the operator's answers does not count.
type Off struct {
	Nodes  []string
	How    power.Action  // ActionShutdown or ActionOff
	Within time.Duration // 0: the drivers' own deadline
}

func decodeOff(k kind, n *yaml.Node) (Action, error) {
	nodes, g, err := k.decodeNodes(n, "an off step")
	if err != nil {
		return nil, err
	}
	off := &Off{Nodes: nodes, How: power.ActionShutdown}
	return off, cmp.Or(field(g, "how", &off.How, decodeHow), field(g, "within", &off.Within, decodeTime))
}

func decodeHow(n *yaml.Node, _ string) (power.Action, error) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Value == "shutdown":
		return power.ActionShutdown, nil
	case n.Kind == yaml.ScalarNode && n.Value == "plug":
		return power.ActionOff, nil
	}
	return "", errorAt(n.Line, "how must be shutdown (asks the guest) or plug (cuts the power), %s", isNot(n))
}

// Kind is "off".
func (o *Off) Kind() string { return "off" }

// Subjects names the nodes.
func (o *Off) Subjects() ([]string, string) { return o.Nodes, "" }

func (o *Off) verb() string {
	if o.How == power.ActionOff {
		return "pull the plug of "
	}
	return "shut down "
}

func (o *Off) title() string { return o.verb() + some(o.Nodes) }

// Text names the nodes to switch off, and how.
func (o *Off) Text() string { return o.verb() + list(o.Nodes) + inTime(o.Within) }

func (o *Off) value() any {
	if o.How == power.ActionOff {
		return flow("nodes", o.Nodes, "how", "plug")
	}
	return o.Nodes
}

func (o *Off) check(c *checker, s *Step) {
	for _, n := range o.Nodes {
		if line, ok := c.off[n]; ok {
			c.wrong(s.Line, "%s is off already since the step on line %d", n, line)
		}
		if line, ok := c.on[n]; ok {
			// Each phase of a node is observed once in a session.
			c.wrong(s.Line, "%s has been off and on again by line %d: a trial is about one outage of a node, so make the next one a trial of its own", n, line)
		}
		c.off[n] = s.Line
		delete(c.on, n)
	}
}

// Begin switches the machines off.
func (o *Off) Begin(r Runner, _ string) Poll { return r.Switch(o.How, o.Nodes, o.Within) }
