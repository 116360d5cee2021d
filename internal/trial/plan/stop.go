package plan

import (
	"cmp"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
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
		for _, l := range c.loads {
			l.stopped = true
		}
		return
	}
	l, ok := c.loads[st.Step]
	switch {
	case !ok:
		c.add(c.noLoad(s.Line, st.Step))
	case !l.load.Background:
		c.wrong(s.Line, "%s has ended before this step: only a load with background: true can be stopped", quote(st.Step))
	default:
		l.stopped = true
	}
}

// noLoad is the error that no load step of that name has begun.
func (c *checker) noLoad(line int, name string) error {
	begun := slices.Sorted(maps.Keys(c.loads))
	return errorAt(line, "no load step %s has begun here, but %s", quote(name), cmp.Or(shorten(and(quoteAll(begun)), 300), "none"))
}

// Begin stops the load.
func (st *Stop) Begin(r Runner, _ string) Poll { return r.Stop(st.Step) }
