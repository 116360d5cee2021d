package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/internal/config/yamlfile"
	"lightsout/power"
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
		switch p.Steps[i].Action.(type) {
		case *Off, *Drain:
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
	// Action is the step's action; nil only for an unreadable step.
	Action Action
}

// Action is the action of a step. Each type has a file of its own (load.go, off.go, …),
// a line in [kinds] and a part of help.txt.
type Action interface {
	// Kind is the step's word in a file: "load", "off", …
	Kind() string
	// Text describes the step in one line: "shut down kube-node3, kube-node4", "wait
	// until kube-node3 is detected as not Ready".
	Text() string
	// Subjects are the nodes and the deployment (namespace/name) that it names.
	Subjects() (nodes []string, deployment string)
	// Begin begins it, as the step of that name.
	Begin(r Runner, step string) Poll

	// title is the name of a step that has none.
	title() string
	// check finds an action that is impossible at this place, and records the state for
	// the next steps.
	check(c *checker, s *Step)
}

// Poll checks something that takes time. It returns done with an error when
// that has failed; doing is one sentence for the operator.
type Poll = func(now time.Time) (done bool, doing string, err error)

// Runner is what an action is carried out with: a trial under way. Each method
// begins something and returns at once.
type Runner interface {
	Now() time.Time
	// Load starts requests, accounted for as that step's; Stop stops those of
	// the step of that name, or all.
	Load(step string, l *Load) Poll
	Stop(step string) Poll
	// Switch switches machines once the guards, and the operator if required, have
	// agreed. With a within of 0 the drivers' time limits apply.
	Switch(a power.Action, nodes []string, within time.Duration) Poll
	Cordon(nodes []string) Poll
	Uncordon(nodes []string) Poll
	Drain(nodes []string, within time.Duration) Poll
	// Rollout restarts the deployment's rollout; empty: the trial's own.
	Rollout(deployment string, within time.Duration) Poll
	Wait(w *Wait) Poll
}

// Waits reports an action that only waits: it needs no word of the operator.
func Waits(a Action) bool {
	switch a.(type) {
	case *Wait, *Pause:
		return true
	}
	return false
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
		if off, ok := s.Action.(*Off); ok {
			out = append(out, off.Nodes...)
		}
	}
	return slices.Compact(sorted(out))
}

// CheckNodes finds the first node that the plan names and the cluster does not
// have, as an *Error with the line of the step. Nothing may be switched before
// it has passed.
func (p *Plan) CheckNodes(there []string) error { return p.missing("node", there) }

// CheckDeployments does for deployments (namespace/name) what CheckNodes does
// for nodes.
func (p *Plan) CheckDeployments(there []string) error { return p.missing("deployment", there) }

func (p *Plan) missing(kind string, there []string) error {
	missing := func(line int, names ...string) error {
		for _, name := range names {
			if name == "" || slices.Contains(there, name) {
				continue
			}
			return errorAt(line, "%s", Missing(kind, name, there))
		}
		return nil
	}
	var err error
	if kind == "deployment" {
		err = missing(p.deploymentLine, p.Deployment)
	}
	for _, s := range p.Steps {
		names, deployment := s.Action.Subjects()
		if kind == "deployment" {
			names = []string{deployment}
		}
		err = cmp.Or(err, missing(s.Line, names...))
	}
	for _, e := range p.Expect {
		if measures[e.Measure].ofDeployment == (kind == "deployment") {
			err = cmp.Or(err, missing(e.Line, e.Subject))
		}
	}
	return err
}

// Missing returns a sentence: the cluster has no object of that kind ("node") and name.
// It lists the existing names, namespace/name for namespaced kinds.
func Missing(kind, name string, there []string) string {
	const most = 6
	text := fmt.Sprintf("the cluster has no %s %s", kind, quote(name))
	switch near := yamlfile.Suggest(name, there); {
	case near != "":
		text += "; did you mean " + quote(near) + "?"
	case len(there) > 0 && len(there) <= most:
		text += "; it has " + and(quoteAll(there))
	}
	return text
}

// sorted sorts words in place and returns them.
func sorted(words []string) []string {
	slices.Sort(words)
	return words
}

func quoteAll(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quote(w)
	}
	return out
}

// list names all nodes, some at most four of them, and counts the others of more.
func list(nodes []string) string { return strings.Join(nodes, ", ") }

func some(nodes []string) string {
	if len(nodes) <= 4 {
		return list(nodes)
	}
	return fmt.Sprintf("%s and %d more", list(nodes[:3]), len(nodes)-3)
}
