package plan

import (
	"fmt"
	"slices"
	"strings"

	"lightsout/internal/config/yamlfile"
	"lightsout/internal/text"
)

// Plan is the steps and expectations of a trial. It is immutable once parsed.
type Plan struct {
	// Name is one word for files and titles; About one or two sentences.
	Name, About string
	// Deployment is the trial's deployment as namespace/name; empty: the deployment of
	// the configured load.
	Deployment string
	Steps      []Step
	Expect     []Expectation
	// Text is the file as it was read.
	Text []byte

	// left are the nodes that no step powers on again, each with the line of the step that
	// switches it off.
	left map[string]int
	// Lines for errors; 0 in a plan that was not read from a file.
	deploymentLine, stepsLine int
}

// Asks is the first step that the operator has to agree to before it starts; nil if
// there is none.
func (p *Plan) Asks() *Step {
	for i := range p.Steps {
		if kind := p.Steps[i].Action.Kind; kind == Off || kind == Drain {
			return &p.Steps[i]
		}
	}
	return nil
}

// Step is one step.
type Step struct {
	// Line is where it begins in the file, from 1; 0 for one made by keyboard.
	Line int
	// Name is unique in the plan; an unnamed step gets a name from its action ("burst
	// of 16", "shut down kube-node3", "wait: detected").
	Name string
	// Action is what it does; without a Kind it can't be read. word is how it was written.
	Action Action
	word   Kind
}

// Text describes the step in one line.
func (s Step) Text() string { return s.Action.Text() }

// defaultName is the name of a step that has none, before it is made unique.
func (s Step) defaultName() string {
	return strings.TrimSpace(yamlfile.Shorten(s.Action.title(), maxStepName-10)) // leaves room for " (123)"
}

// Nodes are the names of all nodes that the plan switches off, sorted.
func (p *Plan) Nodes() []string {
	var out []string
	for _, s := range p.Steps {
		if s.Action.Kind == Off {
			out = append(out, s.Action.Nodes...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// CheckNames finds the first "node", or "deployment" (namespace/name), that the plan names and the
// cluster does not have, as an *yamlfile.Error with the line of the step. Nothing may be switched before it has
// passed.
func (p *Plan) CheckNames(kind string, there []string) error {
	var err error
	look := func(line int, names ...string) {
		for _, name := range names {
			if err == nil && name != "" && !slices.Contains(there, name) {
				err = yamlfile.ErrorAt(line, "%s", Missing(kind, name, there))
			}
		}
	}
	ofNode := kind == "node"
	if !ofNode {
		look(p.deploymentLine, p.Deployment)
	}
	for _, s := range p.Steps {
		look(s.Line, map[bool][]string{true: s.Action.Nodes, false: {s.Action.Deployment}}[ofNode]...)
	}
	for _, e := range p.Expect {
		if measures[e.Measure].of == kind {
			look(e.Line, e.Subject)
		}
	}
	return err
}

// Missing returns a sentence: the cluster has no object of that kind ("node") and name.
// It lists the existing names, namespace/name for namespaced kinds.
func Missing(kind, name string, there []string) string {
	const most = 6
	said := fmt.Sprintf("the cluster has no %s %s", kind, yamlfile.Quote(name))
	switch near := yamlfile.Suggest(name, there); {
	case near != "":
		said += "; did you mean " + yamlfile.Quote(near) + "?"
	case len(there) > 0 && len(there) <= most:
		said += "; it has " + text.List(text.Each(there, yamlfile.Quote))
	}
	return said
}

// some names at most four of the nodes, and counts the others of more.
func some(nodes []string) string {
	if len(nodes) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(nodes[:3], ", "), len(nodes)-3)
	}
	return strings.Join(nodes, ", ")
}
