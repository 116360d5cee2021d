package cli

import (
	"cmp"
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

// justListed is the snapshot of nodes that an API server has just listed.
func justListed(nodes []*cluster.Node, api *cluster.Client) *cluster.Snapshot {
	c := cluster.Contents{Nodes: nodes}
	if api != nil {
		c.Link.Ahead = api.Ahead()
	}
	return cluster.NewSnapshot(c)
}

// markedNodes returns the facts of the nodes just listed that decide whether an annotation
// on one is out of date. The Ready condition alone proves nothing: while kube-controller-manager is
// down, nobody changes it for a machine that is off.
func markedNodes(s *cluster.Snapshot, now time.Time) (marked []power.Node) {
	for _, n := range s.Nodes() {
		out := power.Node{NodeRef: session.NodeRef(s, n), Ready: n.Ready == cluster.TriTrue, Notes: power.NotesOn(n.Annotations), Ahead: s.Ahead()}
		if out.Ready && !n.Renewed.IsZero() {
			out.Heard = n.Renewed.Add(-s.Ahead()) // nodes and API server are taken to have the same time
			if out.Heard.After(now) {
				out.Heard = now
			}
		}
		marked = append(marked, out)
	}
	return marked
}

// noteText describes the annotation of a machine that is not in this journal.
func noteText(o power.NodeNote) string { return "not in this journal: " + o.Node + ": " + noteWhy(o) }

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
// out of date, and returns a sentence about each of this journal that it did not remove.
func (r *restoration) readNotes(listed *cluster.Snapshot, seen bool) (others []power.NodeNote, kept []string) {
	if !seen {
		return nil, nil
	}
	s := &power.Switcher{Fleet: r.machines.fleet, Journal: r.journal, DryRun: r.dryRun}
	if s.Fleet == nil { // no driver can switch a machine, which does not matter here
		s.Fleet, _ = power.NewFleet(power.Config{Locks: power.OpenLocks(hostDir)}, r.journal)
	}
	tried := attempts{annotationsOf(r.config, r.api, nil), map[string]error{}}
	if tried.NoteStore != nil {
		s.Annotations = tried
	}
	nodes := markedNodes(listed, time.Now())
	own := s.OutOfDate(nodes)
	others = s.Sweep(nodes)
	for _, n := range own {
		err, is := tried.results[n]
		if is && err == nil || slices.ContainsFunc(others, func(o power.NodeNote) bool { return o.Node == n }) {
			continue
		}
		kept = append(kept, fmt.Sprintf("lightsout's own annotation is still on %s (%v); without that restore removes it, or: kubectl annotate node %s %s-",
			power.Clean(n), cmp.Or(err, r.whyUntried()), text.ShellWord(power.Clean(n)), power.AnnotationSwitchedOff))
	}
	return others, kept
}

// whyUntried is why lightsout did not try to remove an annotation.
func (r *restoration) whyUntried() error {
	switch {
	case r.dryRun:
		return errors.New("this is a dry run")
	case annotationsOf(r.config, r.api, nil) == nil:
		return errors.New("guards.annotate is false")
	}
	return errors.New("another lightsout is switching machines of this cluster")
}
