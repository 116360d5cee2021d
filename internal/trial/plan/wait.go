package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
	"lightsout/internal/view"
)

// Wait waits for something to be observed.
type Wait struct {
	// For is one of WaitFor.
	For string
	// Nodes bounds it to these nodes; empty: all nodes that the trial has
	// switched off so far.
	Nodes []string
	// Deployment, for deployments; empty: the plan's.
	Deployment string
	// Within is how long to wait, from the start of the step; after it the step and the
	// trial have failed, and the trial continues with powering on.
	Within time.Duration

	// switched are the nodes for an empty Nodes; Check finds them.
	switched []string
}

// WaitRestored waits for two phases: every node Ready, and the deployment whole.
const WaitRestored = "restored"

// waiting is one thing that can be waited for.
type waiting struct {
	name   string        // the phase's, but for WaitRestored
	within time.Duration // how long, when the plan does not say
	// on: only a node that is switched on again comes to it.
	on, ofDeployment bool
	// text describes the condition for nodes and for the deployment.
	text string
}

// waits are the conditions for which a step can wait, in the order in which they come.
var waits = []waiting{
	{name: view.PhaseDetected, within: 5 * time.Minute, text: "{who} {are} detected as not Ready"},
	{name: view.PhaseEndpointsOut, within: 5 * time.Minute, text: "{who} {have} no ready endpoint"},
	{name: view.PhaseEvicted, within: 15 * time.Minute, text: "the pods on {who} are evicted"}, // every pod that can be
	{name: view.PhaseReplaced, within: 20 * time.Minute, text: "{deployment} has as many pods again without {who}", ofDeployment: true},
	{name: view.PhaseReady, within: 15 * time.Minute, text: "{who} {are} Ready again", on: true},
	{name: WaitRestored, within: 20 * time.Minute, text: "{who} {are} Ready and {deployment} has all its pods", on: true, ofDeployment: true},
}

// WaitFor lists the conditions for which a step can wait.
func WaitFor() []string {
	var names []string
	for _, w := range waits {
		names = append(names, w.name)
	}
	return names
}

func waitingFor(name string) waiting {
	i := slices.IndexFunc(waits, func(w waiting) bool { return w.name == name })
	if i < 0 {
		return waiting{name: name}
	}
	return waits[i]
}

func decodeWait(k kind, n *yaml.Node) (Action, error) {
	if n.Kind != yaml.MappingNode {
		w, err := decodeFor(n, "wait")
		return &Wait{For: w.name, Within: w.within}, err
	}
	g, err := k.group(n, "a wait")
	if err != nil {
		return nil, err
	}
	f, ok := g["for"]
	if !ok {
		return nil, errorAt(n.Line, "this wait has no condition: add for: with one of %s", and(WaitFor()))
	}
	what, err := decodeFor(f.Value, "for")
	if err != nil {
		return nil, err
	}
	w := &Wait{For: what.name, Within: what.within}
	return w, cmp.Or(
		field(g, "nodes", &w.Nodes, decodeNames),
		field(g, "deployment", &w.Deployment, func(n *yaml.Node, name string) (string, error) {
			if !what.ofDeployment {
				return "", errorAt(g[name].Key.Line, "%q is about nodes, not about a deployment: leave deployment out", w.For)
			}
			return decodeDeployment(n, name)
		}),
		field(g, "within", &w.Within, decodeTime))
}

// decodeFor reads the condition of a wait step; it also accepts endpoints_out.
func decodeFor(n *yaml.Node, name string) (waiting, error) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return waiting{}, yamlfile.Unwanted(n, name, "one of "+and(WaitFor()))
	}
	word := strings.Join(strings.Fields(yamlfile.Plain(n.Value)), " ")
	if slices.Contains(WaitFor(), word) {
		return waitingFor(word), nil
	}
	if _, err := time.ParseDuration(n.Value); err == nil {
		return waiting{}, errorAt(n.Line, "wait waits for a condition; to wait for a time write pause: %s", shorten(n.Value, 40))
	}
	if near := yamlfile.Suggest(word, WaitFor()); near != "" {
		return waiting{}, errorAt(n.Line, "wait has no condition %s; did you mean %q?", quote(n.Value), near)
	}
	return waiting{}, errorAt(n.Line, "wait has no condition %s; it waits for %s", quote(n.Value), and(WaitFor()))
}

// Kind is "wait".
func (w *Wait) Kind() string { return "wait" }

// Subjects names the nodes and the deployment that it is bounded to.
func (w *Wait) Subjects() ([]string, string) { return w.Nodes, w.Deployment }

func (w *Wait) title() string { return "wait: " + w.For }

// Text names the condition.
func (w *Wait) Text() string {
	nodes := w.Nodes
	if len(nodes) == 0 {
		nodes = w.switched
	}
	who, are, have := cmp.Or(some(nodes), "the nodes"), "is", "has"
	if len(nodes) != 1 {
		are, have = "are", "have"
	}
	text := strings.NewReplacer("{who}", who, "{are}", are, "{have}", have, "{deployment}", theDeployment(w.Deployment)).Replace(waitingFor(w.For).text)
	return "wait until " + text + inTime(w.Within)
}

func (w *Wait) check(c *checker, s *Step) {
	if len(c.off)+len(c.on) == 0 {
		c.wrong(s.Line, "no step before this one switches anything off, so there is nothing to wait for")
		return
	}
	c.add(c.p.ofThis(s.Line, w.Deployment))
	nodes := w.Nodes
	if len(nodes) == 0 {
		w.switched = c.switched()
		nodes = w.switched
	}
	for _, n := range nodes {
		_, isOff := c.off[n]
		_, isOn := c.on[n]
		switch on := waitingFor(w.For).on; {
		case !isOff && !isOn:
			c.wrong(s.Line, "%s is not switched off by any step before this one", n)
			return
		case on && isOff:
			c.wrong(s.Line, "%s is still off here, so waiting for %q would never end: switch it on before, or name the nodes to wait for", n, w.For)
			return
		case !on && isOn:
			c.wrong(s.Line, "%s is on again here, so waiting for %q may never end: wait before it is switched on, or name the nodes to wait for", n, w.For)
			return
		}
	}
}

// Begin waits.
func (w *Wait) Begin(r Runner, _ string) Poll { return r.Wait(w) }
