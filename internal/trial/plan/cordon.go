package plan

import "go.yaml.in/yaml/v3"

// Cordon lets no more pods be put on nodes. It is undone by an Uncordon, or
// without one when the node has returned and at the end of the session.
type Cordon struct{ Nodes []string }

var cordonKind = kind{
	name: "cordon", meant: "unschedulable", fields: "nodes",
	help: "  cordon   [node, …]: no more pods are put on them\n",
	decode: func(n *yaml.Node) (Action, error) {
		nodes, _, err := decodeNodes(n, "cordon", "this cordon step", "nodes")
		return &Cordon{nodes}, err
	},
}

// Kind is "cordon".
func (co *Cordon) Kind() string { return cordonKind.name }

// Subjects names the nodes.
func (co *Cordon) Subjects() ([]string, string) { return co.Nodes, "" }

func (co *Cordon) title() string { return "cordon " + some(co.Nodes) }

// Text says which nodes are cordoned.
func (co *Cordon) Text() string { return "cordon " + list(co.Nodes) }

func (co *Cordon) value() string { return words(co.Nodes) }

func (co *Cordon) check(c *checker, s *Step) {
	for _, n := range co.Nodes {
		if line, ok := c.cordoned[n]; ok {
			c.wrong(s.Line, "%s is cordoned already by the step on line %d", n, line)
		}
		c.cordoned[n] = s.Line
	}
}

// Begin cordons the nodes.
func (co *Cordon) Begin(r Runner, _ string) Poll { return r.Cordon(co.Nodes) }
