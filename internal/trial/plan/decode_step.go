package plan

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"lightsout/loadgen"
	"lightsout/power"
)

// allLoads stands for every load in a stop step.
const allLoads = "all"

// Bounds on a load's rate, in requests a second.
const (
	minRate = 0.001
	maxRate = 100_000
)

func decodeLoad(n *yaml.Node) (*Load, error) {
	if n.Kind != yaml.MappingNode {
		return nil, errorAt(n.Line, "load must be written like {burst: 16}, {hold: 16} or {rate: 2/s}, and this is %s", is(n))
	}
	g, err := fields(n, "a load", "burst", "hold", "rate", "requests", "for", "background", "timeout")
	if err != nil {
		return nil, err
	}
	l := &Load{}
	for _, shape := range []loadgen.Shape{loadgen.Burst, loadgen.Hold, loadgen.Rate} {
		f, ok := g.at[string(shape)]
		if !ok {
			continue
		}
		if l.Spec.Shape != "" {
			return nil, errorAt(f.key.Line, "a load has one shape, and this one has both %s and %s", l.Spec.Shape, shape)
		}
		l.Spec.Shape = shape
		switch shape {
		case loadgen.Burst:
			l.Spec.N, err = count(f.value, "burst", maxNumber)
		case loadgen.Hold:
			l.Spec.N, err = count(f.value, "hold", loadgen.DefaultMaxInFlight)
		case loadgen.Rate:
			l.Spec.PerSecond, err = rate(f.value)
		}
		if err != nil {
			return nil, err
		}
	}
	if l.Spec.Shape == "" {
		return nil, errorAt(n.Line, "this load does not say how many requests: give it burst: 16, hold: 16 or rate: 2/s")
	}
	for _, end := range []string{"requests", "for"} {
		if f, ok := g.at[end]; ok && l.Spec.Shape == loadgen.Burst {
			return nil, errorAt(f.key.Line, "a burst sends its requests at once and is done: leave %s out", end)
		}
	}
	if f, ok := g.at["requests"]; ok {
		if l.Spec.Requests, err = count(f.value, "requests", maxNumber); err != nil {
			return nil, err
		}
		if l.Spec.PerSecond > 0 && float64(l.Spec.Requests)/l.Spec.PerSecond > maxTime.Seconds() {
			return nil, errorAt(f.value.Line, "%d requests at %g a second take more than 24h", l.Spec.Requests, l.Spec.PerSecond)
		}
	}
	if f, ok := g.at["for"]; ok {
		if l.Spec.For, err = duration(f.value, "for", false); err != nil {
			return nil, err
		}
	}
	if f, ok := g.at["background"]; ok {
		if l.Background, err = truth(f.value, "background"); err != nil {
			return nil, err
		}
	}
	if f, ok := g.at["timeout"]; ok {
		if l.Timeout, err = duration(f.value, "timeout", false); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// endless reports that l goes on until it is stopped.
func (l *Load) endless() bool {
	return l.Spec.Shape != loadgen.Burst && l.Spec.Requests == 0 && l.Spec.For == 0
}

var perSecond = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?/ ?s$`)

func rate(n *yaml.Node) (float64, error) {
	value := n.Value
	if m := perSecond.FindStringSubmatch(value); m != nil && n.Kind == yaml.ScalarNode {
		value = m[1]
	} else if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!str" || !decimal.MatchString(value) {
		return 0, errorAt(n.Line, "rate must be requests a second, written like 2/s, %s", isNot(n))
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || v < minRate || v > maxRate {
		return 0, errorAt(n.Line, "rate must be from %g to %d requests a second, not %s", minRate, maxRate, shorten(value, 40))
	}
	return v, nil
}

func decodeSwitch(n *yaml.Node, kind string, how power.Action) (*Switch, error) {
	s := &Switch{How: how}
	var err error
	if n.Kind != yaml.MappingNode {
		s.Nodes, err = nodes(n, kind)
		return s, err
	}
	known := []string{"nodes", "how", "within"}
	if kind == "on" {
		known = []string{"nodes", "within"}
	}
	g, err := fields(n, "an "+kind+" step", known...)
	if err != nil {
		return nil, err
	}
	if s.Nodes, err = nodesOf(g, n, kind); err != nil {
		return nil, err
	}
	if f, ok := g.at["how"]; ok {
		switch {
		case f.value.Kind == yaml.ScalarNode && f.value.Value == "shutdown":
		case f.value.Kind == yaml.ScalarNode && f.value.Value == "plug":
			s.How = power.ActionOff
		default:
			return nil, errorAt(f.value.Line, "how must be shutdown (asks the guest) or plug (cuts the power), %s", isNot(f.value))
		}
	}
	s.Within, err = within(g, 0)
	return s, err
}

func decodeCordon(n *yaml.Node, kind string) (*Cordon, error) {
	c := &Cordon{}
	var err error
	if n.Kind != yaml.MappingNode {
		c.Nodes, err = nodes(n, kind)
		return c, err
	}
	g, err := fields(n, "this "+kind+" step", "nodes")
	if err != nil {
		return nil, err
	}
	c.Nodes, err = nodesOf(g, n, kind)
	return c, err
}

func decodeDrain(n *yaml.Node) (*Drain, error) {
	d := &Drain{Within: DrainWithin}
	var err error
	if n.Kind != yaml.MappingNode {
		d.Nodes, err = nodes(n, "drain")
		return d, err
	}
	g, err := fields(n, "a drain step", "nodes", "within")
	if err != nil {
		return nil, err
	}
	if d.Nodes, err = nodesOf(g, n, "drain"); err != nil {
		return nil, err
	}
	d.Within, err = within(g, DrainWithin)
	return d, err
}

// nodesOf reads the field of that name, which must be there.
func nodesOf(g group, n *yaml.Node, kind string) ([]string, error) {
	f, ok := g.at["nodes"]
	if !ok {
		return nil, errorAt(n.Line, "this %s step names no nodes: add nodes: [kube-node3]", kind)
	}
	return nodes(f.value, "nodes")
}

// within reads the field of that name, or returns unless when there is none.
func within(g group, unless time.Duration) (time.Duration, error) {
	f, ok := g.at["within"]
	if !ok {
		return unless, nil
	}
	return duration(f.value, "within", false)
}

// waitWithin is how long is waited when the plan does not say.
var waitWithin = map[string]time.Duration{
	WaitDetected: 5 * time.Minute, WaitEndpointsOut: 5 * time.Minute, WaitEvicted: 15 * time.Minute,
	WaitReplaced: 20 * time.Minute, WaitReady: 15 * time.Minute, WaitRestored: 20 * time.Minute,
}

func decodeWait(n *yaml.Node) (*Wait, error) {
	w := &Wait{}
	if n.Kind != yaml.MappingNode {
		err := waitFor(n, "wait", w)
		w.Within = waitWithin[w.For]
		return w, err
	}
	g, err := fields(n, "a wait", "for", "nodes", "deployment", "within")
	if err != nil {
		return nil, err
	}
	f, ok := g.at["for"]
	if !ok {
		return nil, errorAt(n.Line, "this wait does not say for what: add for: with one of %s", and(WaitFor))
	}
	if err := waitFor(f.value, "for", w); err != nil {
		return nil, err
	}
	if f, ok := g.at["nodes"]; ok {
		if w.Nodes, err = nodes(f.value, "nodes"); err != nil {
			return nil, err
		}
	}
	if f, ok := g.at["deployment"]; ok {
		if w.For != WaitReplaced && w.For != WaitRestored {
			return nil, errorAt(f.key.Line, "%q is about nodes, not about a deployment: leave deployment out", w.For)
		}
		if w.Deployment, err = deployment(f.value); err != nil {
			return nil, err
		}
	}
	w.Within, err = within(g, waitWithin[w.For])
	return w, err
}

// waitFor reads what is waited for; endpoints_out is taken as well.
func waitFor(n *yaml.Node, name string, w *Wait) error {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return unwanted(n, name, "one of "+and(WaitFor))
	}
	word := strings.Join(strings.Fields(plain(n.Value)), " ")
	if contains(WaitFor, word) {
		w.For = word
		return nil
	}
	if _, err := time.ParseDuration(n.Value); err == nil {
		return errorAt(n.Line, "wait waits for something to be seen; to wait for a time write pause: %s", shorten(n.Value, 40))
	}
	if near := suggest(word, WaitFor); near != "" {
		return errorAt(n.Line, "%s can't be waited for; did you mean %q?", quote(n.Value), near)
	}
	return errorAt(n.Line, "%s can't be waited for; it can be waited for %s", quote(n.Value), and(WaitFor))
}

func decodeRollout(n *yaml.Node) (*Rollout, error) {
	r := &Rollout{}
	var err error
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return r, nil
	case n.Kind == yaml.ScalarNode:
		r.Deployment, err = deployment(n)
		return r, err
	case n.Kind != yaml.MappingNode:
		return nil, errorAt(n.Line, "rollout must be the name of a deployment like default/nginx, or nothing for the plan's own, and this is %s", is(n))
	}
	g, err := fields(n, "a rollout", "deployment", "within")
	if err != nil {
		return nil, err
	}
	if f, ok := g.at["deployment"]; ok {
		if r.Deployment, err = deployment(f.value); err != nil {
			return nil, err
		}
	}
	r.Within, err = within(g, 0)
	return r, err
}
