package plan

import (
	"fmt"
	"slices"
	"strings"

	"lightsout/loadgen"
)

// Check finds what the grammar allows and what can't be carried out or can
// never be met, and returns the first as an *Error. It gives steps without a
// name theirs. Parse has done it already.
func (p *Plan) Check() error {
	if err := p.nameSteps(); err != nil {
		return err
	}
	c := checker{p: p, off: map[string]int{}, on: map[string]int{}, cordoned: map[string]int{}, loads: map[string]*loadState{}}
	for i := range p.Steps {
		if err := c.step(&p.Steps[i]); err != nil {
			return err
		}
	}
	if len(c.off)+len(c.on) == 0 {
		return errorAt(p.stepsLine, `no step switches anything off, so no outage could be observed: add a step like "- off: [kube-node3]"`)
	}
	for i := range p.Expect {
		if err := c.expectation(i); err != nil {
			return err
		}
	}
	return nil
}

// nameSteps refuses names that are given twice and names the steps without.
func (p *Plan) nameSteps() error {
	taken := map[string]int{}
	for _, s := range p.Steps {
		if s.Name == "" {
			continue
		}
		if first, ok := taken[s.Name]; ok {
			return errorAt(s.Line, "there are two steps named %s; the first is on line %d", quote(s.Name), first)
		}
		taken[s.Name] = s.Line
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Name != "" {
			continue
		}
		base := s.defaultName()
		s.Name = base
		for n := 2; ; n++ {
			if _, ok := taken[s.Name]; !ok {
				break
			}
			s.Name = fmt.Sprintf("%s (%d)", base, n)
		}
		taken[s.Name] = s.Line
	}
	return nil
}

// checker goes through the steps as the runner will.
type checker struct {
	p *Plan
	// off holds the line of the step that switched a node off, for nodes that
	// are off; on the line that switched it on again. A node is in one of them.
	off, on map[string]int
	loads   map[string]*loadState
	// cordoned holds the line of the step that cordoned or drained a node.
	cordoned map[string]int
	// steady is the hold or rate that was begun last in the background.
	steady  string
	rollout bool
}

// loadState is a load step that has begun; stopped is the line of the step
// that stopped it, or 0.
type loadState struct {
	load          *Load
	line, stopped int
}

func (c *checker) step(s *Step) error {
	switch {
	case s.Load != nil:
		if s.Load.endless() && !s.Load.Background {
			return errorAt(s.Line, "this load goes on until it is stopped, so no later step would begin: add background: true, requests: or for:")
		}
		if s.Load.Spec.Shape != loadgen.Burst {
			// The generator goes on with one hold or rate at a time.
			if c.steady != "" && c.loads[c.steady].stopped == 0 {
				return errorAt(s.Line, "%s of line %d may still be sending here, and only one hold or rate can at a time: stop it before", quote(c.steady), c.loads[c.steady].line)
			}
			c.steady = ""
			if s.Load.Background {
				c.steady = s.Name
			}
		}
		c.loads[s.Name] = &loadState{load: s.Load, line: s.Line}
	case s.Off != nil:
		for _, n := range s.Off.Nodes {
			if line, ok := c.off[n]; ok {
				return errorAt(s.Line, "%s is off already since the step on line %d", n, line)
			}
			if line, ok := c.on[n]; ok {
				// Each phase of a node is observed once in a session.
				return errorAt(s.Line, "%s has been off and on again by line %d: a trial is about one outage of a node, so make the next one a trial of its own", n, line)
			}
			c.off[n] = s.Line
		}
	case s.On != nil:
		for _, n := range s.On.Nodes {
			if _, ok := c.off[n]; ok {
				delete(c.off, n)
				c.on[n] = s.Line
				continue
			}
			if line, ok := c.on[n]; ok {
				return errorAt(s.Line, "%s is on again already since the step on line %d", n, line)
			}
			return errorAt(s.Line, "%s is not switched off by any step before this one%s", n, c.didYouMean(n))
		}
	case s.Wait != nil:
		return c.wait(s)
	case s.StopLoad != nil:
		return c.stop(s)
	case s.Cordon != nil, s.Drain != nil, s.Uncordon != nil:
		return c.cordon(s)
	case s.Rollout != nil:
		c.rollout = true
	}
	return nil
}

// cordon checks a cordon, a drain or an uncordon step.
func (c *checker) cordon(s *Step) error {
	switch {
	case s.Uncordon != nil:
		for _, n := range s.Uncordon.Nodes {
			if _, ok := c.cordoned[n]; !ok {
				return errorAt(s.Line, "%s is not cordoned by any step before this one, and what others have cordoned stays so", n)
			}
			delete(c.cordoned, n)
		}
	case s.Cordon != nil:
		for _, n := range s.Cordon.Nodes {
			if line, ok := c.cordoned[n]; ok {
				return errorAt(s.Line, "%s is cordoned already by the step on line %d", n, line)
			}
			c.cordoned[n] = s.Line
		}
	default:
		for _, n := range s.Drain.Nodes {
			if line, ok := c.off[n]; ok {
				return errorAt(s.Line, "%s is off since the step on line %d, so its pods can't end: drain it before", n, line)
			}
			if _, ok := c.cordoned[n]; !ok {
				c.cordoned[n] = s.Line
			}
		}
	}
	return nil
}

// switched are the nodes that have been switched off so far, in order of name.
func (c *checker) switched() []string {
	var out []string
	for n := range c.off {
		out = append(out, n)
	}
	for n := range c.on {
		out = append(out, n)
	}
	return sorted(out)
}

func (c *checker) didYouMean(node string) string {
	if near := suggest(node, c.switched()); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

func (c *checker) wait(s *Step) error {
	w := s.Wait
	if len(c.off)+len(c.on) == 0 {
		return errorAt(s.Line, "no step before this one switches anything off, so there is nothing to wait for")
	}
	if err := c.p.ofThis(s.Line, w.Deployment); err != nil {
		return err
	}
	on, nodes := w.For == WaitReady || w.For == WaitRestored, w.Nodes
	if len(nodes) == 0 {
		w.switched = c.switched()
		nodes = w.switched
	}
	var wanted []string // the nodes for which the wait can come to its end
	for _, n := range c.switched() {
		if _, ok := c.on[n]; ok == on {
			wanted = append(wanted, n)
		}
	}
	for _, n := range nodes {
		_, isOff := c.off[n]
		line, isOn := c.on[n]
		named := ""
		if len(w.Nodes) == 0 && len(wanted) > 0 {
			named = fmt.Sprintf(", or wait for nodes: [%s] only", shorten(strings.Join(wanted, ", "), 100))
		}
		switch {
		case !isOff && !isOn:
			return errorAt(s.Line, "%s is not switched off by any step before this one%s", n, c.didYouMean(n))
		case on && isOff:
			return errorAt(s.Line, "%s is still off here, so waiting for %q would never end: switch it on before%s", n, w.For, named)
		case !on && isOn:
			return errorAt(s.Line, "%s is on again since line %d, so waiting for %q may never end: wait before it is switched on%s", n, line, w.For, named)
		}
	}
	return nil
}

func (c *checker) stop(s *Step) error {
	name := s.StopLoad.Step
	if name == allLoads {
		some := false
		for _, l := range c.loads {
			if l.load.Background && l.stopped == 0 {
				l.stopped, some = max(s.Line, 1), true
			}
		}
		if !some {
			return errorAt(s.Line, "there is no load in the background here to stop")
		}
		return nil
	}
	l, ok := c.loads[name]
	switch {
	case ok && !l.load.Background:
		return errorAt(s.Line, "%s has come to its end before this step: only a load with background: true can be stopped", quote(name))
	case ok && l.stopped > 0:
		return errorAt(s.Line, "%s is stopped already on line %d", quote(name), l.stopped)
	case ok:
		l.stopped = max(s.Line, 1)
		return nil
	}
	return c.p.noLoad(s.Line, name, "stop")
}

// noLoad is the error that no load step has that name, or not yet.
func (p *Plan) noLoad(line int, name, use string) error {
	var loads []string
	for _, s := range p.Steps {
		switch {
		case s.Name == name && s.Load == nil:
			return errorAt(line, "the step %s is no load, so it can't be used for %s", quote(name), use)
		case s.Name == name:
			return errorAt(line, "the load %s begins only on line %d, so it can't be stopped here", quote(name), s.Line)
		case s.Load != nil:
			loads = append(loads, s.Name)
		}
	}
	if near := suggest(name, loads); near != "" {
		return errorAt(line, "there is no load step %s; did you mean %q?", quote(name), near)
	}
	if len(loads) == 0 {
		return errorAt(line, "there is no load step %s: the plan has no load at all", quote(name))
	}
	for i, l := range loads {
		loads[i] = quote(l)
	}
	const most = 8
	if len(loads) > most {
		loads = append(loads[:most], "others")
	}
	return errorAt(line, "there is no load step %s; there are %s", quote(name), and(loads))
}

func (c *checker) expectation(i int) error {
	e := c.p.Expect[i]
	switch Measures[e.Measure] {
	case OfLoad:
		l, ok := c.loads[e.Step]
		if !ok {
			return c.p.noLoad(e.Line, e.Step, e.Measure)
		}
		if total, known := l.load.total(); known && e.Min != nil && *e.Min > float64(total) && isOfTotal(e.Measure) {
			return errorAt(e.Line, "%s sends %d requests in all, so %s can't be %s", quote(e.Step), total, e.Measure, e.Want())
		}
	case OfPhase:
		if slices.Contains(ofDeployment, e.Measure) {
			if err := c.p.ofThis(e.Line, e.Subject); err != nil {
				return err
			}
		}
		on := slices.Contains(afterOn, e.Measure)
		switch {
		case on && len(c.on) == 0:
			return errorAt(e.Line, "no step switches anything on again, so %s can never be seen", e.Measure)
		case e.Subject != "" && !slices.Contains(ofDeployment, e.Measure):
			_, isOff := c.off[e.Subject]
			_, isOn := c.on[e.Subject]
			if !isOff && !isOn {
				return errorAt(e.Line, "%s is not switched off by any step, so %s can never be seen%s", e.Subject, e.Measure, c.didYouMean(e.Subject))
			}
			if on && isOff {
				return errorAt(e.Line, "%s is not switched on again by any step, so %s can never be seen", e.Subject, e.Measure)
			}
		}
	case OfLedger:
		if len(c.loads) == 0 {
			return errorAt(e.Line, "the plan has no load, so there is nothing that could be %s", e.Measure)
		}
	case OfTrial:
		if e.Measure == "skew_before_rollout" && !c.rollout {
			return errorAt(e.Line, `there is no rollout step, so skew_before_rollout can never be seen: use skew, or add a step "- rollout:"`)
		}
	}
	return c.p.contradicts(i)
}

// ofThis refuses any deployment but the plan's: no other is observed.
func (p *Plan) ofThis(line int, deployment string) error {
	switch deployment {
	case "", p.Deployment:
		return nil
	}
	if p.Deployment == "" {
		return errorAt(line, "a trial is about one deployment: say so by deployment: %s at the top of the plan", deployment)
	}
	return errorAt(line, "the plan is about %s, and of %s nothing is observed", p.Deployment, deployment)
}

// isOfTotal reports that a measure can't be more than a load's requests in all.
func isOfTotal(measure string) bool {
	return contains([]string{"sent", "ok", "failed", "failed_after_detection"}, measure)
}

// total is how many requests the load sends at most, if that is known.
func (l *Load) total() (int, bool) {
	if l.Spec.Shape == loadgen.Burst {
		return l.Spec.N, true
	}
	return l.Spec.Requests, l.Spec.Requests > 0
}

// contradicts compares an expectation with those before it that are about the
// same. One without a subject is about all of them.
func (p *Plan) contradicts(i int) error {
	e := p.Expect[i]
	for _, f := range p.Expect[:i] {
		if f.Measure != e.Measure || f.Step != e.Step || f.Subject != e.Subject && f.Subject != "" && e.Subject != "" {
			continue
		}
		below := e.Max != nil && f.Min != nil && *e.Max < *f.Min
		above := e.Min != nil && f.Max != nil && *e.Min > *f.Max
		if below || above {
			return errorAt(e.Line, "%s can't be %s and, as line %d wants, %s", quote(e.Name()), e.Want(), f.Line, f.Want())
		}
		if f.Subject == e.Subject && f.Want() == e.Want() {
			return errorAt(e.Line, "this says the same as line %d: leave one of them out", f.Line)
		}
	}
	return nil
}
