package power

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// fastClock is a ClusterReader for a host whose clock is as far ahead of the API server's as by returns.
type fastClock struct {
	ClusterReader
	by func() time.Duration
}

func (c fastClock) shift(state ClusterState, err error) (ClusterState, error) {
	state.Nodes = slices.Clone(state.Nodes)
	for i := range state.Nodes {
		state.Nodes[i].Ahead = -c.by()
	}
	return state, err
}

func (c fastClock) State(ctx context.Context) (ClusterState, error) {
	return c.shift(c.ClusterReader.State(ctx))
}

func (c fastClock) FreshState(ctx context.Context) (ClusterState, error) {
	return c.shift(c.ClusterReader.FreshState(ctx))
}

// This host's clock is an hour ahead when lightsout asks, and is corrected before the yes: the annotation
// has the right time, and another host does not take it for out of date.
func TestAClockThatIsCorrectedDuringTheQuestionDatesNoNote(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, p *program) {
		ahead := time.Hour
		p.switcher.Cluster = fastClock{p, func() time.Duration { return ahead }}
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p, before: func(int) { ahead = 0 }}); err != nil {
			t.Fatal(err)
		}
		other := m.programs[2]
		state, err := other.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if others := other.switcher.Sweep(state.Nodes); len(others) != 1 || others[0].Node != "n1" {
			t.Errorf("another host sees %v", others)
		}
	})
}

// A program stands still between its annotation and its request for so long that another host removes the
// annotation: it sends nothing.
func TestNothingIsSentLongAfterTheAnnotation(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, p *program) {
		other := m.programs[2]
		err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}, Acting: func(Question) {
			time.Sleep(CarriedOutWithin + time.Minute)
			state, _ := other.State(t.Context())
			other.switcher.Sweep(state.Nodes)
		}}, &yes{p: p})
		if err == nil || !strings.Contains(err.Error(), "annotated the node more than") {
			t.Errorf("%v", err)
		}
	})
}

// Another lightsout on this host holds the cluster's lock: the annotation of a machine that is on stays, and
// lightsout reports that.
func TestAnAnnotationThatStaysIsReported(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		free, err := p.switcher.Fleet.cfg.Locks.take(t.Context(), clusterLock(p.cluster))
		if err != nil {
			t.Fatal(err)
		}
		var reported []string
		err = p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1"}, Report: func(pr Progress) { reported = append(reported, pr.Text) }}, &yes{p: p})
		free()
		if err != nil || !slices.ContainsFunc(reported, func(text string) bool { return strings.Contains(text, "could not check its annotation") }) {
			t.Errorf("%v; reported %q", err, reported)
		}
	})
}
