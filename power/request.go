package power

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/internal/text"
)

// ClusterReader reads the state of the cluster for the procedure. It is safe for
// concurrent use.
type ClusterReader interface {
	// State returns the present state. The error is the reason, in one sentence, why it
	// is unknown; powering on works without it.
	State(ctx context.Context) (ClusterState, error)
	// FreshState is State, but only with data that the API server has sent since the call.
	// The error is the reason why that is missing.
	FreshState(ctx context.Context) (ClusterState, error)
}

// ClusterState is the state of the cluster at one moment.
type ClusterState struct {
	// At is when it was taken.
	At time.Time
	// Nodes are all nodes of the cluster.
	Nodes []Node
	// Age is the age of the data about the nodes. Stale has one sentence for each kind
	// that is no longer watched.
	Age   time.Duration
	Stale []string
	// Blind: the account may not see heartbeats, so that a silent node is
	// noticed only when the control plane does.
	Blind bool
	Self  Self
}

func (v ClusterState) refs() []NodeRef {
	return text.Each(v.Nodes, func(n Node) NodeRef { return n.NodeRef })
}

// node returns a node by its name; one without a name if there is none.
func (v ClusterState) node(name string) Node {
	i := slices.IndexFunc(v.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return Node{}
	}
	return v.Nodes[i]
}

// Drainer evicts the pods of nodes before they are shut down.
type Drainer interface {
	// Drain returns the nodes that may be shut down now, which may be fewer than
	// requested; the error is the reason why the others may not.
	Drain(ctx context.Context, nodes []string) ([]string, error)
}

// Assumption lists nodes that count as off, as cordoned, and as drained.
type Assumption struct{ Off, Cordoned, Drained []string }

// Request is a request to switch machines.
type Request struct {
	Action Action
	// Nodes are names of nodes; each stands once.
	Nodes []string
	// Drain: the question is about draining the nodes first, where they can be.
	Drain bool
	// Assumed is what earlier steps of a plan would do. It is for previews: it only makes the
	// guards stricter.
	Assumed Assumption
	// While, if not nil, ends when nobody needs the request any more: nothing starts
	// after that. Actions under way continue.
	While context.Context
	// Acting, if not nil, is called when the operator has agreed and the action begins.
	Acting func(Question)
	// Report receives every step as it happens, never from two goroutines at once, and must not block for long; it may be nil.
	Report func(Progress)
}

// Question is the question before machines are switched.
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
	// Awaited is how many more may be left: lightsout has received no heartbeat from them
	// yet.
	Awaited int
	// Down lists, by name, the nodes besides the request's own that are off, on their way off,
	// silent, or may go off by a refused request, by what the guards know: the API server may
	// call them Ready.
	Down []string
	// Changed lists the findings that are new since the operator answered yes; the Switcher
	// then asks again. Without a Rule it is a change that Findings lacks.
	Changed []Finding
	// ahead is how far the API server's clock is ahead of this host's.
	ahead time.Duration
	// bound holds the machines of all nodes that the judgement used, and observedAt is
	// the time of the state of the cluster.
	bound      map[string]Bound
	observedAt time.Time
	// CanDrain: the nodes can be drained first.
	CanDrain bool
	// DryRun: nothing will be switched.
	DryRun bool
}

// Refused reports whether nothing but no can be answered.
func (q Question) Refused() bool { return worst(q.Findings) == Refuse }

// Lasting returns the findings that refuse the request whenever it is made: a view that is old, and an operation under
// way, may be over by then.
func (q Question) Lasting() []Finding {
	return slices.DeleteFunc(slices.Clone(q.Findings), func(f Finding) bool {
		return f.Effect < Refuse || f.Rule == RuleStaleView || f.Rule == RuleBusy
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

// Automatic answers without a person: yes, if nothing has to be typed.
type Automatic struct{}

// Ask answers at once.
func (Automatic) Ask(_ context.Context, q Question) (Answer, error) {
	if q.Type != "" {
		return Answer{}, &NotDoneError{Why: NotTyped, Question: q}
	}
	return Answer{Yes: true}, nil
}

// NotDone is the reason why nothing was switched.
type NotDone string

// Reasons.
const (
	// NotAllowed: a guard refuses it.
	NotAllowed NotDone = "refused"
	// NotTyped: the question demands a typed confirmation, and there is no one to type
	// it.
	NotTyped NotDone = "needs a typed confirmation"
	// NotWanted: the answer was no.
	NotWanted NotDone = "no"
)

// NotDoneError reports that nothing was switched, and because of which rule.
type NotDoneError struct {
	Why      NotDone
	Question Question
}

// Error names the rules and their sentences.
func (e *NotDoneError) Error() string {
	var rules []string
	for _, f := range e.Question.Findings {
		if f.Effect == Refuse || e.Why == NotTyped && f.Effect == Override {
			rules = append(rules, fmt.Sprintf("%s (rule %s)", strings.TrimSuffix(f.Text, "."), f.Rule))
		}
	}
	for _, f := range e.Question.Changed {
		if f.Rule == "" {
			rules = append(rules, "since the question: "+f.Text)
		}
	}
	because := strings.Join(rules, "; ")
	switch {
	case e.Why == NotAllowed:
		return "refused: " + because
	case e.Why == NotWanted:
		return "nothing was switched: the answer was no"
	case because == "":
		because = "the cluster is a production one"
	}
	return fmt.Sprintf("nothing was switched, because this needs a typed confirmation (%s): %s", e.Question.Type, because)
}
