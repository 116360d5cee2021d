package plan

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
)

// AllLoads means every load in a stop step.
const AllLoads = "all"

// Stop ends the load step of that name, or all loads when it is "all": no more
// requests are started; the step ends when none is in flight.
type Stop struct{ Step string }

func decodeStop(_ kind, n *yaml.Node) (Action, error) {
	step, err := readText(n, "stop", maxStepName)
	return &Stop{Step: step}, err
}

// Kind is "stop".
func (st *Stop) Kind() string { return "stop" }

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
		c.add(c.noLoad(s.Line, st.Step))
	}
}

// noLoad is the error that no load step of that name has begun.
func (c *checker) noLoad(line int, name string) error {
	begun := slices.Sorted(maps.Keys(c.loads))
	if near := yamlfile.Suggest(name, begun); near != "" {
		return errorAt(line, "no load step %s has begun here; did you mean %q?", quote(name), near)
	}
	if len(begun) == 0 {
		return errorAt(line, "no load step %s has begun here, and no other", quote(name))
	}
	return errorAt(line, "no load step %s has begun here; there are %s", quote(name), shorten(and(quoteAll(begun)), 300))
}

// Begin stops the load.
func (st *Stop) Begin(r Runner, _ string) Poll { return r.Stop(st.Step) }
