package plan

import (
	"fmt"
	"maps"
	"slices"

	"lightsout/internal/config/yamlfile"
	"lightsout/internal/text"
)

// check finds faults that the grammar permits: steps that cannot be carried out, and
// expectations that can never be met. Each is an *yamlfile.Error. It names unnamed steps, and
// omits faults that may follow from an unreadable step.
func (p *Plan) check() []error {
	c := &checker{p: p, off: map[string]int{}, on: map[string]int{}, loads: map[string]*loadState{}}
	c.nameSteps()
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Action.Kind == "" {
			c.unread = append(c.unread, s.word)
			continue
		}
		before := c.faults
		c.step(s)
		if !c.known(s.Action.Kind.kind().after...) {
			c.faults = before
		}
	}
	p.left = c.off
	if c.known(Off) && len(c.off)+len(c.on) == 0 {
		c.wrong(p.stepsLine, `no step switches anything off, so no outage could be observed: add one under steps:, like "- off: [kube-node3]"`)
		c.unread = append(c.unread, Off) // what else follows from that is no fault of its own
	}
	for _, e := range p.Expect {
		c.add(c.expectation(e))
	}
	return c.faults
}

// Warnings lists properties that a plan seldom has on purpose.
func (p *Plan) Warnings() []string {
	out := text.Each(slices.Sorted(maps.Keys(p.left)), func(n string) string {
		return fmt.Sprintf("line %d: no step powers %s on again: lightsout does so after the trial, and observes no return", p.left[n], n)
	})
	if len(p.Expect) == 0 {
		out = append(out, "it has no expectations: the verdict will only show whether the outage and the return were observed")
	}
	return out
}

// nameSteps refuses names that are given twice and names the steps without.
func (c *checker) nameSteps() {
	p := c.p
	taken := map[string]int{}
	for _, s := range p.Steps {
		if s.Name == "" {
			continue
		}
		if first, ok := taken[s.Name]; ok {
			c.wrong(s.Line, "there are two steps named %s; the first is on line %d", yamlfile.Quote(s.Name), first)
		}
		taken[s.Name] = s.Line
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Name != "" || s.Action.Kind == "" {
			continue
		}
		s.Name = Unique(s.defaultName(), func(name string) bool { _, ok := taken[name]; return ok })
		taken[s.Name] = s.Line
	}
}

// Unique gives a name that is not taken yet: this one, or with a number behind it.
func Unique(name string, taken func(string) bool) string {
	unique := name
	for n := 2; taken(unique); n++ {
		unique = fmt.Sprintf("%s (%d)", name, n)
	}
	return unique
}

// checker goes through the steps as the runner will.
type checker struct {
	p *Plan
	// off holds the line of the step that switched a node off, for nodes that
	// are off; on the line that switched it on again. A node is in one of them.
	off, on map[string]int
	// cordoned are the nodes of the cordons and drains so far.
	cordoned []string
	loads    map[string]*loadState
	// unread are the kinds of the steps so far that can't be read; empty: nobody knows of which kind one is.
	unread []Kind
	// steady is the hold or rate that was begun last in the background.
	steady string
	faults []error
}

// add keeps a fault; err may be nil.
func (c *checker) add(err error) {
	if err != nil {
		c.faults = append(c.faults, err)
	}
}

// known reports whether all steps of these kinds so far could be read.
func (c *checker) known(kinds ...Kind) bool {
	return !slices.ContainsFunc(c.unread, func(k Kind) bool { return k == "" || slices.Contains(kinds, k) })
}

// wrong adds a fault with its line.
func (c *checker) wrong(line int, format string, args ...any) {
	c.add(yamlfile.ErrorAt(line, format, args...))
}

// loadState is a load step that has begun; stopped: a step has stopped it.
type loadState struct {
	line                int
	background, stopped bool
}

// switched are the nodes that have been switched off so far, in order of name.
func (c *checker) switched() []string {
	all := maps.Clone(c.off)
	maps.Copy(all, c.on)
	return slices.Sorted(maps.Keys(all))
}

// expectation finds one that can never be met.
func (c *checker) expectation(e Expectation) error {
	switch m := measures[e.Measure]; {
	case m.of == "step" && c.loads[e.Step] == nil && c.known(Load):
		return c.noLoad(e.Line, e.Step)
	case m.of == "deployment":
		return c.p.ofThis(e.Line, e.Subject)
	case m.of == "node" && c.known(Off) && e.Subject != "" && !slices.Contains(c.switched(), e.Subject):
		return yamlfile.ErrorAt(e.Line, "%s is not switched off by any step, so %s can never be seen", e.Subject, e.Measure)
	}
	return nil
}

// ofThis refuses any deployment but the plan's: no other is observed.
func (p *Plan) ofThis(line int, deployment string) error {
	switch deployment {
	case "", p.Deployment:
		return nil
	}
	if p.Deployment == "" {
		return yamlfile.ErrorAt(line, "a trial has one deployment: add deployment: %s at the top of the plan", deployment)
	}
	return yamlfile.ErrorAt(line, "the plan's deployment is %s; lightsout does not observe %s", p.Deployment, deployment)
}
