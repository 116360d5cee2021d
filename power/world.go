package power

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// World is the cluster and the way to it, as the procedure sees them. Looks are
// taken by several goroutines at once.
type World interface {
	// Look tells how all of it stands now. An error says in one sentence why
	// nothing is known; powering on does without.
	Look(ctx context.Context) (View, error)
}

// View is one look at the cluster.
type View struct {
	// Nodes are all nodes of the cluster.
	Nodes []Node
	// Age is how old what is known of the nodes is. Stale holds one sentence for
	// each kind that is not being watched any more.
	Age   time.Duration
	Stale []string
	// Blind: the account may not see heartbeats, so that a silent node is
	// noticed only when the control plane does.
	Blind bool
	Self  Self
}

func (v View) refs() (out []NodeRef) {
	for _, n := range v.Nodes {
		out = append(out, n.NodeRef)
	}
	return out
}

// Drainer evicts the pods of nodes before they are shut down.
type Drainer interface {
	// Drain returns the nodes that may be shut down now, which may be fewer
	// than were asked for; the error says why the others may not.
	Drain(ctx context.Context, nodes []string) ([]string, error)
}

// Request says what is to be switched.
type Request struct {
	Action Action
	// Nodes are names of nodes; each stands once.
	Nodes []string
	// While, unless it is nil, ends when this is not wanted any more: nothing
	// is begun afterwards. What is under way goes on.
	While context.Context
	// Acting, unless it is nil, is told that it is agreed to and begins now.
	Acting func(Question)
	// Report is told every step of it, see Fleet.Do; it may be nil.
	Report func(Progress)
}

// Question is what is asked before machines are switched.
type Question struct {
	Request
	// Bindings are those of the request's nodes. A node whose machine was
	// switched off twice under different bindings has two.
	Bindings []Binding
	Findings []Finding
	// Type is what must be typed for a yes; empty when a yes is enough.
	Type string
	// Left is how many workers that take pods would be left; -1 when that is
	// not counted.
	Left int
	// Changed says what has become worse since the question was answered with
	// yes; it is asked anew then.
	Changed []string
	// over are the notes on nodes that tell of what is no more.
	over []Mark
	// CanDrain: the nodes can be drained first.
	CanDrain bool
	// DryRun: nothing will be switched.
	DryRun bool
}

// Refused reports whether nothing but no can be answered.
func (q Question) Refused() bool { return Refused(q.Findings) }

// News is what has changed without being a finding, which says it already.
func (q Question) News() []string {
	return slices.DeleteFunc(slices.Clone(q.Changed), func(text string) bool {
		return slices.ContainsFunc(q.Findings, func(f Finding) bool { return f.Text == text })
	})
}

// Answer is the answer to a Question.
type Answer struct {
	Yes bool
	// Drain: drain the nodes first.
	Drain bool
	Typed string
}

// Asker answers questions: by asking somebody, or by itself.
type Asker interface {
	// Ask returns when there is an answer, or with ctx. A question that is
	// refused is given to be shown; the answer to it counts as no.
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Automatic answers by itself: yes, where nothing else than Typed has to be
// typed, and with draining first where that can be done and Drain says so.
type Automatic struct {
	Typed string
	Drain bool
}

// Ask answers at once.
func (a Automatic) Ask(_ context.Context, q Question) (Answer, error) {
	if q.Type != "" && q.Type != a.Typed {
		return Answer{}, &NotDoneError{Why: NotTyped, Question: q}
	}
	return Answer{Yes: true, Typed: a.Typed, Drain: a.Drain && q.CanDrain}, nil
}

// NotDone says why nothing was switched.
type NotDone string

// Reasons.
const (
	// NotAllowed: a guard refuses it.
	NotAllowed NotDone = "refused"
	// NotTyped: somebody has to type a confirmation, and nobody is there.
	NotTyped NotDone = "needs typing"
	// NotWanted: the answer was no.
	NotWanted NotDone = "no"
)

// NotDoneError says that nothing was switched, and by which rule.
type NotDoneError struct {
	Why      NotDone
	Question Question
}

// Error names the rules and their sentences.
func (e *NotDoneError) Error() string {
	var rules []string
	for _, f := range e.Question.Findings {
		if f.Severity == Refuse || e.Why == NotTyped && f.Severity == Override {
			rules = append(rules, fmt.Sprintf("%s (rule %s)", strings.TrimSuffix(f.Text, "."), f.Rule))
		}
	}
	because := strings.Join(rules, "; ")
	if changed := e.Question.News(); len(changed) > 0 {
		because = strings.TrimPrefix(because+"; since it was asked: "+strings.Join(changed, "; "), "; ")
	}
	switch {
	case e.Why == NotAllowed:
		return "refused: " + because
	case e.Why == NotWanted:
		return "nothing was switched: the answer was no"
	case because == "":
		because = "the cluster is a production one"
	}
	return fmt.Sprintf("it needs an answer that must be typed (%s): %s", e.Question.Type, because)
}
