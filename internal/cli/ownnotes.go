package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"lightsout/internal/text"
	"lightsout/power"
)

// ownNote is an annotation of this journal that is out of date and still on its node.
type ownNote struct{ node, why string }

// attempts is a NoteStore that keeps, by node, the result of each change.
type attempts struct {
	power.NoteStore
	results map[string]error
}

// Change changes the note on a node.
func (a attempts) Change(ctx context.Context, node string, change func(had power.Note) (power.Note, bool)) error {
	err := a.NoteStore.Change(ctx, node, change)
	a.results[node] = err
	return err
}

// keptNotes returns the annotations of this journal on the nodes that are out of date and that a
// sweep with these results has not removed. It omits the nodes that carry others.
func keptNotes(nodes []string, others []power.NodeNote, results map[string]error, dryRun, annotates bool) (left []ownNote) {
	for _, n := range nodes {
		err, tried := results[n]
		if tried && err == nil || slices.ContainsFunc(others, func(o power.NodeNote) bool { return o.Node == n }) {
			continue
		}
		remove := fmt.Sprintf("remove it with: kubectl annotate node %s %s-", text.ShellWord(power.Clean(n)), power.AnnotationSwitchedOff)
		var why string
		switch {
		case dryRun:
			why = "this is a dry run: lightsout restore without --dry-run removes it"
		case !annotates:
			why = "guards.annotate is false: " + remove
		case errors.Is(err, power.ErrMayNot):
			why = "the account may not patch nodes: " + remove
		case err != nil:
			why = err.Error() + ": repeat this command"
		default:
			why = "another lightsout is switching machines of this cluster: repeat this command"
		}
		left = append(left, ownNote{n, why})
	}
	return left
}

// sayOwn prints the annotations of this journal that are out of date and still on nodes, and
// reports whether there are any. Several restorations may be of one cluster.
func sayOwn(all []*restoration) (some bool) {
	for i, r := range all {
		for _, o := range r.kept {
			again := slices.ContainsFunc(all[:i], func(s *restoration) bool {
				return slices.Contains(s.kept, o) && s.journal.Cluster().Same(r.journal.Cluster())
			})
			if !again {
				fmt.Printf("%slightsout's own annotation is still on %s, because %s\n", r.in, power.Clean(o.node), o.why)
			}
			some = true
		}
	}
	return some
}
