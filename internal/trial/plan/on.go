package plan

import (
	"time"

	"lightsout/power"
)

// On powers machines on. The step ends when every machine is on, or fails when
// Within has passed.
type On struct {
	Nodes  []string
	Within time.Duration // 0: the drivers' own deadline
}

// Kind is "on".
func (o *On) Kind() string { return "on" }

// Subjects names the nodes.
func (o *On) Subjects() ([]string, string) { return o.Nodes, "" }

func (o *On) title() string { return "power on " + some(o.Nodes) }

// Text names the nodes to power on.
func (o *On) Text() string { return "power on " + list(o.Nodes) + inTime(o.Within) }

func (o *On) value() any { return o.Nodes }

func (o *On) check(c *checker, s *Step) {
	for _, n := range o.Nodes {
		if _, isOff := c.off[n]; !isOff {
			c.wrong(s.Line, "%s is not off here: no step before this one switches it off, or one has switched it on again", n)
			continue
		}
		delete(c.off, n)
		c.on[n] = s.Line
	}
}

// Begin powers the machines on.
func (o *On) Begin(r Runner, _ string) Poll { return r.Switch(power.ActionOn, o.Nodes, o.Within) }
