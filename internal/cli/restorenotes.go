package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/power"
)

// markedNode returns the facts of a node just listed that decide whether an annotation
// on it is out of date. The Ready condition alone proves nothing: while kube-controller-manager is
// down, nobody changes it for a machine that is off.
func markedNode(n *cluster.Node, ahead time.Duration, now time.Time) power.Node {
	out := power.Node{NodeRef: session.NodeRef(n), Ready: n.Ready == cluster.TriTrue, Notes: power.NotesOn(n.Annotations), Ahead: ahead}
	if out.Ready && !n.Renewed.IsZero() {
		out.Heard = n.Renewed.Add(-ahead) // nodes and API server are taken to have the same time
		if out.Heard.After(now) {
			out.Heard = now
		}
	}
	return out
}

// noteText describes the annotation of a machine that is not in this journal.
func noteText(o power.NodeNote) string { return "not in this journal: " + o.Node + ": " + noteWhy(o) }

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

// readNotes returns the annotations of other journals on the listed nodes. It removes those that are
// out of date, and returns those of this journal that it could not remove.
func (r *restoration) readNotes(listed []*cluster.Node, seen bool) (others []power.NodeNote, kept []ownNote) {
	if !seen {
		return nil, nil
	}
	s := &power.Switcher{Fleet: r.machines.fleet, Journal: r.journal, DryRun: r.dryRun}
	if s.Fleet == nil { // no driver can switch a machine, which does not matter here
		s.Fleet, _ = power.NewFleet(power.Config{Locks: power.OpenLocks(lockDir(r.config))}, r.journal)
	}
	tried := attempts{annotationsOf(r.config, r.api, nil), map[string]error{}}
	if tried.NoteStore != nil {
		s.Annotations = tried
	}
	var nodes []power.Node
	for _, n := range listed {
		nodes = append(nodes, markedNode(n, r.api.Ahead(), time.Now()))
	}
	own := s.OutOfDate(nodes)
	others = s.Sweep(nodes)
	for _, n := range own {
		err, is := tried.results[n]
		if is && err == nil || slices.ContainsFunc(others, func(o power.NodeNote) bool { return o.Node == n }) {
			continue
		}
		kept = append(kept, ownNote{n, r.keptWhy(n, err)})
	}
	return others, kept
}

// keptWhy is why an annotation of this journal stays on a node.
func (r *restoration) keptWhy(node string, err error) string {
	remove := fmt.Sprintf("remove it with: kubectl annotate node %s %s-", text.ShellWord(power.Clean(node)), power.AnnotationSwitchedOff)
	switch {
	case r.dryRun:
		return "this is a dry run: lightsout restore without --dry-run removes it"
	case r.config.Guards.Annotate != nil && !*r.config.Guards.Annotate:
		return "guards.annotate is false: " + remove
	case errors.Is(err, power.ErrMayNot):
		return "the account may not patch nodes: " + remove
	case err != nil:
		return err.Error() + ": repeat this command"
	}
	return "another lightsout is switching machines of this cluster: repeat this command"
}
