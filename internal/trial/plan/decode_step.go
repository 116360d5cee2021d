package plan

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
	"lightsout/internal/text"
	"lightsout/loadgen"
	"lightsout/power"
)

// kind is how a kind of step is written.
type kind struct {
	name Kind
	// bare is the field that a value without { } stands for; must: each step has it.
	bare   string
	must   bool
	fields []string      // those in { }; none: the value is never a group
	like   string        // an example of the value, or of bare
	within time.Duration // how long, when the plan does not say
	after  []Kind        // the kinds of the steps before it that decide whether it can be carried out
}

// kinds are the kinds of steps, in the order of the help.
var kinds = []kind{
	{name: Load, fields: []string{"burst", "hold", "rate", "requests", "for", "background", "timeout"}, like: "{burst: 16}, {hold: 16} or {rate: 2/s}", after: []Kind{Load, Stop}},
	{name: Off, bare: "nodes", must: true, fields: []string{"nodes", "how", "within"}, like: "[kube-node3]", after: []Kind{Off, On}},
	{name: On, bare: "nodes", must: true, fields: []string{"nodes", "within"}, like: "[kube-node3]", after: []Kind{Off, On}},
	{name: Wait, bare: "for", must: true, fields: []string{"for", "nodes", "deployment", "within"}, like: "detected", after: []Kind{Off, On}},
	{name: Cordon, bare: "nodes", must: true, fields: []string{"nodes"}, like: "[kube-node3]"},
	{name: Drain, bare: "nodes", must: true, fields: []string{"nodes", "within"}, like: "[kube-node3]", within: DrainWithin, after: []Kind{Off, On}},
	{name: Uncordon, bare: "nodes", must: true, fields: []string{"nodes"}, like: "[kube-node3]", after: []Kind{Cordon, Drain}},
	{name: Rollout, bare: "deployment", fields: []string{"deployment", "within"}},
	{name: Pause, bare: "pause"},
	{name: Stop, bare: "stop", after: []Kind{Load, Stop}},
}

func (k Kind) kind() kind { return kinds[slices.Index(kindNames(), string(k))] }

func kindNames() []string { return text.Each(kinds, func(k kind) string { return string(k.name) }) }

// decodeStep reads one step.
func decodeStep(n *yaml.Node) (Step, error) {
	s := Step{Line: n.Line}
	if n.Kind != yaml.MappingNode {
		return s, yamlfile.ErrorAt(n.Line, `a step is written like "- off: [kube-node3]", and this is %s`, yamlfile.Is(n))
	}
	inside := slices.Concat(text.Each(kinds, func(k kind) []string { return k.fields })...)
	word, g, err := openOne(n, "a step", "step", kindNames(), []string{"name"}, inside)
	s.word = Kind(word)
	if word == "" {
		return s, err
	}
	var named, wrong error
	if f, ok := g["name"]; ok {
		s.Name, named = yamlfile.Text(f.Value, "the name of a step", maxStepName)
		if s.Name == AllLoads {
			named = yamlfile.ErrorAt(f.Value.Line, `a step can't be named "all", because "stop: all" stops every load`)
		}
	}
	s.Action, wrong = s.word.kind().decode(g[word].Value)
	return s, errors.Join(err, named, wrong)
}

// openOne opens a group, called what, that has one of the words, called one, beside other
// fields. inside are fields that stand behind a word.
func openOne(n *yaml.Node, what, one string, words, others, inside []string) (word string, g yamlfile.Group, err error) {
	for pair := range slices.Chunk(n.Content, 2) {
		k := pair[0]
		known := slices.Contains(words, k.Value)
		switch {
		case k.Kind != yaml.ScalarNode:
			return "", nil, yamlfile.ErrorAt(k.Line, "the name of a field in %s can't be %s", what, yamlfile.Is(k))
		case known && word != "" && word != k.Value:
			return "", nil, yamlfile.ErrorAt(k.Line, `%s can't have both %s and %s: begin the second with a "- " of its own`, what, word, k.Value)
		case known:
			word = k.Value
		case slices.Contains(others, k.Value):
		case word == "":
			return "", nil, noWord(k, one, words, others)
		case slices.Contains(inside, k.Value):
			return "", nil, yamlfile.ErrorAt(k.Line, "%s must be in { } behind %s:, or be indented below it", k.Value, word)
		}
	}
	if word == "" {
		return "", nil, yamlfile.ErrorAt(n.Line, "there is no %s here: give it one of %s", one, text.List(words))
	}
	g, err = yamlfile.Fields(n, what, append([]string{word}, others...)...)
	return word, g, err
}

// noWord returns the error that k is none of the words, called one.
func noWord(k *yaml.Node, one string, words, others []string) error {
	if near := yamlfile.Suggest(k.Value, slices.Concat(others, words)); near != "" {
		return yamlfile.ErrorAt(k.Line, "there is no %s %s; did you mean %q?", one, yamlfile.Quote(k.Value), near)
	}
	return yamlfile.ErrorAt(k.Line, "there is no %s %s; there are %s", one, yamlfile.Quote(k.Value), text.List(words))
}

// decode reads the value behind the word of a step.
func (k kind) decode(n *yaml.Node) (Action, error) {
	a := Action{Kind: k.name}
	if k.name == Off {
		a.How = power.ActionShutdown
	}
	err := k.decodeFields(&a, n)
	if err != nil {
		return Action{}, err
	}
	a.Within = cmp.Or(a.Within, k.within, a.waiting().within)
	return a, nil
}

func (k kind) decodeFields(a *Action, n *yaml.Node) error {
	empty := n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
	switch {
	case k.fields == nil, n.Kind != yaml.MappingNode && k.must:
		return a.decodeField(k.bare, string(k.name), n)
	case empty && k.name == Rollout: // of the plan's deployment
		return nil
	case n.Kind != yaml.MappingNode && k.bare != "":
		return a.decodeField(k.bare, k.bare, n)
	case n.Kind != yaml.MappingNode:
		return yamlfile.ErrorAt(n.Line, "%s must be written like %s, and this is %s", k.name, k.like, yamlfile.Is(n))
	}
	g, err := yamlfile.Fields(n, "this "+string(k.name)+" step", k.fields...)
	if _, ok := g[k.bare]; k.must && !ok && err == nil {
		err = yamlfile.ErrorAt(n.Line, "this %s step lacks %s: add %s: %s", k.name, k.bare, k.bare, k.like)
	}
	for _, name := range k.fields {
		if f, ok := g[name]; ok {
			err = errors.Join(err, a.decodeField(name, name, f.Value))
		}
	}
	return cmp.Or(err, a.whole(n, g))
}

// decodeField reads a field, which errors call name.
func (a *Action) decodeField(field, name string, n *yaml.Node) (err error) {
	switch field {
	case "nodes":
		a.Nodes, err = decodeNames(n, name)
	case "how":
		a.How, err = decodeHow(n)
	case "within":
		a.Within, err = decodeTime(n, name)
	case "deployment":
		a.Deployment, err = decodeDeployment(n, name)
	case "pause":
		a.Pause, err = decodeTime(n, name)
	case "stop":
		a.Step, err = yamlfile.Text(n, name, maxStepName)
	case "burst", "hold", "rate":
		err = a.decodeShape(loadgen.Shape(field), n)
	case "requests":
		a.Spec.Requests, err = yamlfile.Count(n, name, yamlfile.MaxNumber)
	case "background":
		a.Background, err = yamlfile.Bool(n, name)
	case "timeout":
		a.Spec.Timeout, err = decodeTime(n, name)
	case "for":
		if a.Kind == Load {
			a.Spec.For, err = decodeTime(n, name)
		} else {
			a.For, err = decodeFor(n, name)
		}
	}
	return err
}

// whole finds fields that don't go together.
func (a *Action) whole(n *yaml.Node, g yamlfile.Group) error {
	_, about := g["deployment"]
	switch {
	case a.Kind == Wait && about && !a.waiting().ofDeployment:
		return yamlfile.ErrorAt(g["deployment"].Key.Line, "%q is about nodes, not about a deployment: leave deployment out", a.For)
	case a.Kind == Load && a.Spec.Shape == "":
		return yamlfile.ErrorAt(n.Line, "this load has no number of requests: give it burst: 16, hold: 16 or rate: 2/s")
	case a.Spec.Shape == loadgen.Burst && a.Spec.Requests > 0:
		return yamlfile.ErrorAt(g["requests"].Key.Line, "a burst sends its requests at once and is done: leave requests out")
	case a.Spec.Shape == loadgen.Burst && a.Spec.For > 0:
		return yamlfile.ErrorAt(g["for"].Key.Line, "a burst sends its requests at once and is done: leave for out")
	}
	return nil
}

// decodeShape reads the one shape that a load has.
func (a *Action) decodeShape(shape loadgen.Shape, n *yaml.Node) (err error) {
	if a.Spec.Shape != "" {
		return yamlfile.ErrorAt(n.Line, "a load has one shape, and this one has both %s and %s", a.Spec.Shape, shape)
	}
	a.Spec.Shape = shape
	switch shape {
	case loadgen.Burst:
		a.Spec.N, err = yamlfile.Count(n, "burst", yamlfile.MaxNumber)
	case loadgen.Hold:
		a.Spec.N, err = yamlfile.Count(n, "hold", loadgen.DefaultMaxInFlight)
	case loadgen.Rate:
		a.Spec.PerSecond, err = decodeRate(n)
	}
	return err
}

// Bounds on a load's rate, in requests a second.
const (
	minRate = 0.001
	maxRate = 100_000
)

// decodeRate reads a rate as "lightsout load --rate" does.
func decodeRate(n *yaml.Node) (float64, error) {
	v, err := loadgen.ParseRate(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode {
		return 0, yamlfile.ErrorAt(n.Line, "rate must be requests a second, written like 2/s or 30/m, %s", yamlfile.IsNot(n))
	}
	if v < minRate || v > maxRate {
		return 0, yamlfile.ErrorAt(n.Line, "rate must be from %g to %d requests a second, not %s", minRate, maxRate, yamlfile.Shorten(n.Value, 40))
	}
	return v, nil
}

func decodeHow(n *yaml.Node) (power.Action, error) {
	how, ok := map[string]power.Action{"shutdown": power.ActionShutdown, "plug": power.ActionOff}[n.Value]
	if !ok {
		return "", yamlfile.ErrorAt(n.Line, "how must be shutdown (asks the guest) or plug (cuts the power), %s", yamlfile.IsNot(n))
	}
	return how, nil
}

// decodeFor reads the condition of a wait step; it also accepts endpoints_out.
func decodeFor(n *yaml.Node, name string) (string, error) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return "", yamlfile.Unwanted(n, name, "one of "+text.List(WaitFor()))
	}
	word := strings.Join(strings.Fields(yamlfile.Plain(n.Value)), " ")
	if slices.Contains(WaitFor(), word) {
		return word, nil
	}
	if _, err := time.ParseDuration(n.Value); err == nil {
		return "", yamlfile.ErrorAt(n.Line, "wait waits for a condition; to wait for a time write pause: %s", yamlfile.Shorten(n.Value, 40))
	}
	return "", yamlfile.ErrorAt(n.Line, "wait has no condition %s; %s", yamlfile.Quote(n.Value), yamlfile.Hint(word, WaitFor()))
}
