package cli

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"lightsout/power"
)

// oneNote is a NoteStore that keeps the note of one node.
type oneNote struct{ note power.Note }

// Change changes the note.
func (o *oneNote) Change(_ context.Context, _ string, change func(had power.Note) (power.Note, bool)) error {
	if note, ok := change(o.note); ok {
		o.note = note
	}
	return nil
}

// twoWorkers is a view of a cluster with two workers that run.
type twoWorkers struct{ nodesReader }

func (w twoWorkers) State(ctx context.Context) (power.ClusterState, error) {
	state, err := w.nodesReader.State(ctx)
	for i := range state.Nodes {
		n := &state.Nodes[i]
		n.Ready, n.Schedulable, n.Heard = true, true, time.Now()
	}
	return state, err
}

func (w twoWorkers) FreshState(ctx context.Context) (power.ClusterState, error) { return w.State(ctx) }

// annotateAndReturn switches n3 off with an annotation and powers it on again. The annotation
// stays on the node.
func (c *tunnelled) annotateAndReturn(t *testing.T) {
	t.Helper()
	r := c.restorer(t, c.uid)
	defer r.close()
	c.set(t, "n3", "on\n")
	c.set(t, "n4", "on\n")
	notes := &oneNote{}
	s := &power.Switcher{Fleet: r.machines.fleet, Journal: r.journal, Cluster: twoWorkers{nodesReader{"n3", "n4"}}, Annotations: notes,
		Limits: power.Limits{ControlPlane: power.ControlPlaneElsewhere}}
	if err := s.Switch(t.Context(), power.Request{Action: power.ActionOff, Nodes: []string{"n3"}}, power.Automatic{}); err != nil || c.state("n3") != "off" {
		t.Fatalf("n3 is %s: %v", c.state("n3"), err)
	}
	c.onNode, c.annotated = "n3", notes.note.Text()
	s.Annotations = nil
	if err := s.Restore(t.Context(), power.Request{}, power.Automatic{}); err != nil || c.state("n3") != "on" {
		t.Fatalf("n3 is %s: %v", c.state("n3"), err)
	}
}

// printed returns what restore prints, and its error.
func (c *tunnelled) printed(t *testing.T, named ...string) (string, error) {
	t.Helper()
	before := os.Stdout
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = write
	err = restore(t.Context(), c.options, named, true)
	os.Stdout = before
	_ = write.Close()
	text, _ := io.ReadAll(read)
	return string(text), err
}

// The account may not patch nodes: the annotation of this journal stays on a node that is on
// again. restore names it, the reason and the command, and does not report that there is none.
func TestRestoreNamesItsAnnotationThatItMayNotRemove(t *testing.T) {
	c := throughATunnel(t)
	c.uid = "uid-a"
	c.annotateAndReturn(t)
	const none, still = "the annotations on all nodes list no machine", "lightsout's own annotation is still on n3"
	c.patch = http.StatusForbidden
	text, err := c.printed(t)
	if err != nil || strings.Contains(text, none) || strings.Count(text, still) != 1 ||
		!strings.Contains(text, "the account may not annotate nodes") || !strings.Contains(text, "kubectl annotate node n3 lightsout.dev/switched-off-") {
		t.Errorf("without the right: %v\n%s", err, text)
	}
	c.patch, c.dryRun = 0, true
	if text, err = c.printed(t); err != nil || strings.Contains(text, none) || !strings.Contains(text, still+" (this is a dry run)") {
		t.Errorf("a dry run: %v\n%s", err, text)
	}
	c.dryRun = false
	if text, err = c.printed(t); err != nil || !strings.Contains(text, none) || strings.Contains(text, still) || c.annotated != "" {
		t.Errorf("with the right: %v\n%s", err, text)
	}
}
