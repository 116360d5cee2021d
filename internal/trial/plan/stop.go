package plan

import (
	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
)

// AllLoads means every load in a stop step.
const AllLoads = "all"

// Stop ends the load step of that name, or all loads when it is "all": no more
// requests are started; the step ends when none is in flight.
type Stop struct{ Step string }

var stopKind = kind{
	name: "stop", meant: "cancel end",
	help: `  stop     the name of a load in the background, or all; waits for the requests in flight
`,
	decode: func(_ kind, n *yaml.Node) (Action, error) {
		step, err := readText(n, "stop", maxStepName)
		return &Stop{Step: step}, err
	},
}

// Kind is "stop".
func (st *Stop) Kind() string { return stopKind.name }

// Subjects names nothing.
func (st *Stop) Subjects() ([]string, string) { return nil, "" }

func (st *Stop) title() string {
	if st.Step == AllLoads {
		return "stop all loads"
	}
	return "stop " + st.Step
}

// Text says which load is stopped.
func (st *Stop) Text() string {
	if st.Step == AllLoads {
		return "stop all loads and wait for their last requests"
	}
	return "stop " + st.Step + " and wait for its last requests"
}

func (st *Stop) value() any { return st.Step }

func (st *Stop) check(c *checker, s *Step) {
	if st.Step == AllLoads {
		some := false
		for _, l := range c.loads {
			if l.load.Background && l.stopped == 0 {
				l.stopped, some = max(s.Line, 1), true
			}
		}
		if !some {
			c.wrong(s.Line, "there is no load in the background here to stop")
		}
		return
	}
	l, ok := c.loads[st.Step]
	switch {
	case ok && !l.load.Background:
		c.wrong(s.Line, "%s has ended before this step: only a load with background: true can be stopped", quote(st.Step))
	case ok && l.stopped > 0:
		c.wrong(s.Line, "%s is stopped already on line %d", quote(st.Step), l.stopped)
	case ok:
		l.stopped = max(s.Line, 1)
	default:
		c.add(c.p.noLoad(s.Line, st.Step, "stop"))
	}
}

// noLoad is the error that no load step has that name, or not yet.
func (p *Plan) noLoad(line int, name, use string) error {
	var loads []string
	for _, s := range p.Steps {
		_, isLoad := s.Action.(*Load)
		switch {
		case s.Name == name && !isLoad:
			return errorAt(line, "the step %s is not a load, so it can't be used for %s", quote(name), use)
		case s.Name == name:
			return errorAt(line, "the load %s begins only on line %d, so it can't be stopped here", quote(name), s.Line)
		case isLoad:
			loads = append(loads, s.Name)
		}
	}
	if near := yamlfile.Suggest(name, loads); near != "" {
		return errorAt(line, "there is no load step %s; did you mean %q?", quote(name), near)
	}
	if len(loads) == 0 {
		return errorAt(line, "there is no load step %s: the plan has no load at all", quote(name))
	}
	loads = quoteAll(loads)
	const most = 8
	if len(loads) > most {
		loads = append(loads[:most], "others")
	}
	return errorAt(line, "there is no load step %s; there are %s", quote(name), and(loads))
}

// Begin stops the load.
func (st *Stop) Begin(r Runner, _ string) Poll { return r.Stop(st.Step) }
