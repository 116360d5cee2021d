package plan

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
	"lightsout/loadgen"
)

// Load starts requests. A load that ends by itself (a burst, or one with
// Requests or For) is waited for unless Background is set; one that does not
// must be in the background and lasts until a stop step or the trial's end.
type Load struct {
	Spec       loadgen.Spec
	Background bool
	// Timeout bounds a whole request of this load; 0: the configuration's.
	Timeout time.Duration
}

// Bounds on a load's rate, in requests a second.
const (
	minRate = 0.001
	maxRate = 100_000
)

func decodeLoad(k kind, n *yaml.Node) (Action, error) {
	if n.Kind != yaml.MappingNode {
		return nil, errorAt(n.Line, "load must be written like {burst: 16}, {hold: 16} or {rate: 2/s}, and this is %s", is(n))
	}
	g, err := fields(n, "a load", "burst", "hold", "rate", "requests", "for", "background", "timeout")
	if err != nil {
		return nil, err
	}
	l := &Load{}
	if err := l.decodeShape(n, g); err != nil {
		return nil, err
	}
	for _, end := range []string{"requests", "for"} {
		if f, ok := g[end]; ok && l.Spec.Shape == loadgen.Burst {
			return nil, errorAt(f.Key.Line, "a burst sends its requests at once and is done: leave %s out", end)
		}
	}
	return l, cmp.Or(
		field(g, "requests", &l.Spec.Requests, func(n *yaml.Node, name string) (int, error) { return yamlfile.Count(n, name, yamlfile.MaxNumber) }),
		field(g, "for", &l.Spec.For, decodeTime), field(g, "background", &l.Background, yamlfile.Bool), field(g, "timeout", &l.Timeout, decodeTime))
}

// decodeShape reads the one shape that the load has.
func (l *Load) decodeShape(n *yaml.Node, g yamlfile.Group) (err error) {
	for _, shape := range []loadgen.Shape{loadgen.Burst, loadgen.Hold, loadgen.Rate} {
		f, ok := g[string(shape)]
		if !ok {
			continue
		}
		if l.Spec.Shape != "" {
			return errorAt(f.Key.Line, "a load has one shape, and this one has both %s and %s", l.Spec.Shape, shape)
		}
		l.Spec.Shape = shape
		switch shape {
		case loadgen.Burst:
			l.Spec.N, err = yamlfile.Count(f.Value, "burst", yamlfile.MaxNumber)
		case loadgen.Hold:
			l.Spec.N, err = yamlfile.Count(f.Value, "hold", loadgen.DefaultMaxInFlight)
		case loadgen.Rate:
			l.Spec.PerSecond, err = decodeRate(f.Value)
		}
		if err != nil {
			return err
		}
	}
	if l.Spec.Shape == "" {
		return errorAt(n.Line, "this load has no number of requests: give it burst: 16, hold: 16 or rate: 2/s")
	}
	return nil
}

// decodeRate reads a rate as "lightsout load --rate" does.
func decodeRate(n *yaml.Node) (float64, error) {
	v, err := loadgen.ParseRate(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode {
		return 0, errorAt(n.Line, "rate must be requests a second, written like 2/s or 30/m, %s", yamlfile.IsNot(n))
	}
	if v < minRate || v > maxRate {
		return 0, errorAt(n.Line, "rate must be from %g to %d requests a second, not %s", minRate, maxRate, shorten(n.Value, 40))
	}
	return v, nil
}

// endless reports whether l continues until a step stops it.
func (l *Load) endless() bool {
	return l.Spec.Shape != loadgen.Burst && l.Spec.Requests == 0 && l.Spec.For == 0
}

// Kind is "load".
func (l *Load) Kind() string { return "load" }

// Subjects names nothing.
func (l *Load) Subjects() ([]string, string) { return nil, "" }

func (l *Load) title() string { return l.Spec.Text() }

// Text describes the number of requests and the end of the load.
func (l *Load) Text() string {
	s := l.title()
	if l.Spec.Requests > 0 {
		s += fmt.Sprintf(", %d requests in all", l.Spec.Requests)
	}
	if l.Spec.For > 0 {
		s += " for " + short(l.Spec.For)
	}
	if l.Background {
		s += ", in the background"
	}
	if l.Timeout > 0 {
		s += ", each with a timeout of " + short(l.Timeout)
	}
	return s
}

func (l *Load) value() any {
	var shape any = l.Spec.N
	if l.Spec.Shape == loadgen.Rate {
		shape = strconv.FormatFloat(l.Spec.PerSecond, 'f', -1, 64) + "/s"
	}
	return flow(string(l.Spec.Shape), shape, "requests", l.Spec.Requests, "for", written(l.Spec.For), "background", l.Background)
}

func (l *Load) check(c *checker, s *Step) {
	if l.endless() && !l.Background {
		c.wrong(s.Line, "this load goes on until it is stopped, so no later step would begin: add background: true, requests: or for:")
	}
	if l.Spec.Shape != loadgen.Burst {
		// The generator runs one hold or rate at a time.
		if c.steady != "" && !c.loads[c.steady].stopped {
			c.wrong(s.Line, "%s of line %d may still be sending here, and only one hold or rate can at a time: stop it before", quote(c.steady), c.loads[c.steady].line)
		}
		c.steady = ""
		if l.Background {
			c.steady = s.Name
		}
	}
	c.loads[s.Name] = &loadState{load: l, line: s.Line}
}

// Begin starts the requests.
func (l *Load) Begin(r Runner, step string) Poll { return r.Load(step, l) }
