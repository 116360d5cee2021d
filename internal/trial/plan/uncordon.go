package plan

import "go.yaml.in/yaml/v3"

// Uncordon takes back a Cordon, or a Drain's, for what the trial has cordoned.
type Uncordon struct{ Nodes []string }

var uncordonKind = kind{
	name: "uncordon", meant: "schedulable", fields: "nodes",
	help: `  uncordon [node, …] that an earlier step has cordoned or drained; without such a step it is
           done when the node has returned, and at the end of the trial
`,
	decode: func(n *yaml.Node) (Action, error) {
		nodes, _, err := decodeNodes(n, "uncordon", "this uncordon step", "nodes")
		return &Uncordon{nodes}, err
	},
}

// Kind is "uncordon".
func (u *Uncordon) Kind() string { return uncordonKind.name }

// Subjects names the nodes.
func (u *Uncordon) Subjects() ([]string, string) { return u.Nodes, "" }

func (u *Uncordon) title() string { return "uncordon " + some(u.Nodes) }

// Text says which nodes are uncordoned.
func (u *Uncordon) Text() string { return "uncordon " + list(u.Nodes) }

func (u *Uncordon) value() string { return words(u.Nodes) }

func (u *Uncordon) check(c *checker, s *Step) {
	for _, n := range u.Nodes {
		if _, ok := c.cordoned[n]; !ok {
			c.wrong(s.Line, "%s is not cordoned by any step before this one, and what others have cordoned stays so", n)
		}
		delete(c.cordoned, n)
	}
}

// Begin uncordons the nodes.
func (u *Uncordon) Begin(r Runner, _ string) Poll { return r.Uncordon(u.Nodes) }
