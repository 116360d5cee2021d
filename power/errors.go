package power

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"lightsout/internal/text"
)

// Error lists the machines that match.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%d machines match node %s (%s): name the right one under power.nodes in the configuration",
		len(e.Matches), e.Node, strings.Join(e.Matches, ", "))
}

// SilentError reports that a machine, or the power API for it, gave no answer; its text
// is safe to show.
type SilentError struct {
	Text string
	Err  error
}

// Error is one harmless sentence.
func (e *SilentError) Error() string { return e.Text }

// Unwrap gives the reason.
func (e *SilentError) Unwrap() error { return e.Err }

// Unanswered turns a *SilentError into a reading without an answer: the controller may
// have lost its power, or the route may be broken. It returns other errors, and that of
// a cancelled context, unchanged.
func Unanswered(r Reading, err error) (Reading, error) {
	if silent, ok := errors.AsType[*SilentError](err); ok && !errors.Is(err, context.Canceled) {
		return Reading{Detail: silent.Text, NoAnswer: true, RequestedAt: r.RequestedAt}, nil
	}
	return r, err
}

// ActionError lists the nodes for which an action did not succeed. It succeeded for the
// others.
type ActionError struct {
	Action Action
	// Failed holds one sentence for each node.
	Failed map[string]string
}

// Error gives every node's sentence, by name.
func (e *ActionError) Error() string {
	parts := text.Each(slices.Sorted(maps.Keys(e.Failed)), func(name string) string { return name + ": " + e.Failed[name] })
	return fmt.Sprintf("lightsout could not %s %s: %s", Verb(e.Action), text.Count(len(parts), "node", "nodes"), strings.Join(parts, "; "))
}

// cleanLimit is the longest text, in characters, that Clean lets through.
const cleanLimit = 400

// Clean makes a text from another machine harmless for a terminal and for a
// one-line record, and cuts it at cleanLimit characters; see [text.Clean].
func Clean(s string) string { return text.Clean(s, cleanLimit) }

// Why is the reason for the missing reply, in a few words that are safe to show.
func Why(err error) string {
	var wrapped *url.Error // which repeats method and URL
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var t interface{ Timeout() bool }
	var own *text.Advised
	switch {
	case errors.Is(err, context.Canceled):
		return "lightsout stopped waiting"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &t) && t.Timeout():
		return "there was no answer in time"
	case errors.As(err, &own):
		return Clean(own.Err.Error()) + "; " + own.Todo
	}
	return Clean(err.Error())
}

// FailedNodes returns, by node, why actions failed, from every *ActionError that err holds;
// none if it holds none.
func FailedNodes(err error) map[string]string {
	all := map[string]string{}
	switch e := err.(type) {
	case *ActionError:
		maps.Copy(all, e.Failed)
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			maps.Copy(all, FailedNodes(err))
		}
	case interface{ Unwrap() error }:
		return FailedNodes(e.Unwrap())
	}
	return all
}
