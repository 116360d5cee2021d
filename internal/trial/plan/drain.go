package plan

import "time"

// DrainWithin is how long a drain may take when the plan does not say.
const DrainWithin = 10 * time.Minute

// Drain cordons nodes and evicts their pods, which respects disruption budgets. The
// step ends when the pods are gone, or fails after Within; the error then names the
// disruption budget that holds them.
type Drain struct {
	Nodes  []string
	Within time.Duration
}

// Kind is "drain".
func (d *Drain) Kind() string { return "drain" }

// Subjects names the nodes.
func (d *Drain) Subjects() ([]string, string) { return d.Nodes, "" }

func (d *Drain) title() string { return "drain " + some(d.Nodes) }

// Text names the nodes to drain.
func (d *Drain) Text() string { return "drain " + list(d.Nodes) + inTime(d.Within) }

func (d *Drain) value() any { return d.Nodes }

func (d *Drain) check(c *checker, s *Step) {
	for _, n := range d.Nodes {
		if line, ok := c.off[n]; ok {
			c.wrong(s.Line, "%s is off since the step on line %d, so its pods can't end: drain it before", n, line)
		}
	}
}

// Begin drains the nodes.
func (d *Drain) Begin(r Runner, _ string) Poll { return r.Drain(d.Nodes, d.Within) }
