package power

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"lightsout/internal/text"
)

// Error lists the machines that match.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%d machines match node %s (%s): name the right one under power.nodes in the configuration",
		len(e.Matches), e.Node, strings.Join(e.Matches, ", "))
}

// Error says why it can't be told.
func (e *UnconfirmedError) Error() string {
	return "it can't be told whether the request arrived: " + e.Why
}

// RefusedError says that a driver or the other side refused for a reason that
// does not go away by asking again (a wrong token, a VM that is not there, a
// state from which the action is not possible). Nothing was switched.
type RefusedError struct{ Why string }

// Error gives the reason, which is one whole sentence.
func (e *RefusedError) Error() string { return e.Why }

// SilentError says that what stands for a machine gave no answer, in words that
// are fit to be shown.
type SilentError struct {
	Text string
	Err  error
}

// Error is one harmless sentence.
func (e *SilentError) Error() string { return e.Text }

// Unwrap gives the reason.
func (e *SilentError) Unwrap() error { return e.Err }

// Unanswered makes of a *SilentError a reading that says so: the controller's
// power supply may have been cut, or the way there. Anything else, and the error
// of a context that was cancelled, is handed on.
func Unanswered(r Reading, err error) (Reading, error) {
	var silent *SilentError
	if errors.As(err, &silent) && !errors.Is(err, context.Canceled) {
		return Reading{Detail: Clean(silent.Text), At: time.Now(), NoAnswer: true}, nil
	}
	return r, err
}

// ActionError says which nodes an action did not succeed for. The others did.
type ActionError struct {
	Action Action
	// Failed holds one sentence for each node.
	Failed map[string]string
}

// Error gives every node's sentence, by name.
func (e *ActionError) Error() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(e.Failed)) {
		parts = append(parts, name+": "+e.Failed[name])
	}
	return fmt.Sprintf("%s did not succeed for %d of the nodes: %s", e.Action, len(parts), strings.Join(parts, "; "))
}

var (
	errNoJournal = errors.New("nothing is switched, because there is no journal to write it down in")
	errReadOnly  = errors.New("nothing is switched in read-only mode")
)

// cleanLimit is the longest text, in characters, that Clean lets through.
const cleanLimit = 300

// Clean makes a text from another machine harmless for a terminal and for a
// one-line record, and cuts it at 300 characters; see [text.Clean].
func Clean(s string) string { return text.Clean(s, cleanLimit) }

// Why says in a few harmless words why there was no reply.
func Why(err error) string {
	var wrapped *url.Error // which repeats method and URL
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var t interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return "waiting was given up"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &t) && t.Timeout():
		return "there was no answer in time"
	}
	return Clean(err.Error())
}
