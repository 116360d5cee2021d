package plan

import (
	"cmp"
	"maps"
	"slices"

	"lightsout/internal/config/yamlfile"
	"lightsout/internal/text"
	"lightsout/loadgen"
)

// step finds an action that is impossible at this place, and keeps the state for the next
// steps.
func (c *checker) step(s *Step) {
	switch s.Action.Kind {
	case Load:
		c.load(s)
	case Stop:
		c.stop(s)
	case Wait:
		c.wait(s)
	case Off:
		c.switchOff(s)
	case On:
		c.switchOn(s)
	case Cordon, Drain:
		for _, n := range s.Action.Nodes {
			if line, ok := c.off[n]; ok && s.Action.Kind == Drain {
				c.wrong(s.Line, "%s is off since the step on line %d, so its pods can't end: drain it before", n, line)
			}
		}
		c.cordoned = append(c.cordoned, s.Action.Nodes...)
	case Uncordon:
		if i := slices.IndexFunc(s.Action.Nodes, func(n string) bool { return !slices.Contains(c.cordoned, n) }); i >= 0 {
			c.wrong(s.Line, "no step before this one cordons or drains %s, and lightsout undoes only its own cordons", s.Action.Nodes[i])
		}
	}
}

func (c *checker) switchOff(s *Step) {
	for _, n := range s.Action.Nodes {
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

func (c *checker) switchOn(s *Step) {
	for _, n := range s.Action.Nodes {
		if _, isOff := c.off[n]; !isOff {
			c.wrong(s.Line, "%s is not off here: no step before this one switches it off, or one has switched it on again", n)
			continue
		}
		delete(c.off, n)
		c.on[n] = s.Line
	}
}

func (c *checker) load(s *Step) {
	a := &s.Action
	if a.endless() && !a.Background {
		c.wrong(s.Line, "this load goes on until it is stopped, so no later step would begin: add background: true, requests: or for:")
	}
	if a.Spec.Shape != loadgen.Burst {
		// The generator runs one hold or rate at a time.
		if c.steady != "" && !c.loads[c.steady].stopped {
			c.wrong(s.Line, "%s of line %d may still be sending here, and only one hold or rate can at a time: stop it before", yamlfile.Quote(c.steady), c.loads[c.steady].line)
		}
		c.steady = ""
		if a.Background {
			c.steady = s.Name
		}
	}
	c.loads[s.Name] = &loadState{background: a.Background, line: s.Line}
}

func (c *checker) stop(s *Step) {
	name := s.Action.Step
	if name == AllLoads {
		for _, l := range c.loads {
			l.stopped = true
		}
		return
	}
	l, ok := c.loads[name]
	switch {
	case !ok:
		c.add(c.noLoad(s.Line, name))
	case !l.background:
		c.wrong(s.Line, "%s has ended before this step: only a load with background: true can be stopped", yamlfile.Quote(name))
	default:
		l.stopped = true
	}
}

// noLoad is the error that no load step of that name begins before this line.
func (c *checker) noLoad(line int, name string) error {
	begun := slices.Sorted(maps.Keys(c.loads))
	return yamlfile.ErrorAt(line, "no load named %s begins before this line; loads that do: %s", yamlfile.Quote(name), cmp.Or(yamlfile.Shorten(text.List(text.Each(begun, yamlfile.Quote)), 300), "none"))
}

func (c *checker) wait(s *Step) {
	a := &s.Action
	if len(c.off)+len(c.on) == 0 {
		c.wrong(s.Line, "no step before this one switches anything off, so there is nothing to wait for")
		return
	}
	c.add(c.p.ofThis(s.Line, a.Deployment))
	nodes := a.Nodes
	if len(nodes) == 0 {
		a.switched = c.switched()
		nodes = a.switched
	}
	for _, n := range nodes {
		_, isOff := c.off[n]
		_, isOn := c.on[n]
		switch on := a.waiting().on; {
		case !isOff && !isOn:
			c.wrong(s.Line, "%s is not switched off by any step before this one", n)
			return
		case on && isOff:
			c.wrong(s.Line, "%s is still off here, so waiting for %q would never end: switch it on before, or name the nodes to wait for", n, a.For)
			return
		case !on && isOn:
			c.wrong(s.Line, "%s is on again here, so waiting for %q may never end: wait before it is switched on, or name the nodes to wait for", n, a.For)
			return
		}
	}
}
