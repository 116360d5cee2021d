package powertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"lightsout/power"
)

// Claims has lightsout carry an action out on a machine, and reports whether the
// journal then takes the machine for one that lightsout has switched off, or may have.
func Claims(t *testing.T, d power.Driver, a power.Action, m power.Machine) bool {
	t.Helper()
	j := power.OpenJournal(t.TempDir(), power.Cluster{Name: "lab", UID: "uid-lab"}, "")
	defer j.Close()
	f, err := power.NewFleet(power.Config{Off: d.Name(), PollInterval: 10 * time.Millisecond}, j, one{d, m})
	if err != nil {
		t.Fatal(err)
	}
	s := power.Switcher{Fleet: f, Cluster: workers{m.Name}}
	if err = s.Switch(t.Context(), power.Request{Action: a, Nodes: []string{m.Name}}, typist{}); err != nil && !errors.As(err, new(*power.ActionError)) {
		t.Errorf("lightsout was to try to %s %s: %v", power.Verb(a), m.Title(), err)
	}
	left, err := j.LeftOff()
	if err != nil {
		t.Error(err)
	}
	return len(left) > 0
}

// one is a driver that has this machine alone.
type one struct {
	power.Driver
	m power.Machine
}

func (o one) Find(_ context.Context, n power.NodeRef, _ string) (power.Machine, error) {
	if n.Name != o.m.Name {
		return power.Machine{}, power.ErrNoMachine
	}
	return o.m, nil
}

// workers is a cluster of a node and another worker.
type workers struct{ node string }

// State has two workers that run.
func (c workers) State(context.Context) (v power.ClusterState, err error) {
	for _, n := range []string{c.node, "another-worker"} {
		v.Nodes = append(v.Nodes, power.Node{NodeRef: power.NodeRef{Name: n}, Ready: true, Schedulable: true})
	}
	return v, nil
}

// FreshState is State.
func (c workers) FreshState(ctx context.Context) (power.ClusterState, error) { return c.State(ctx) }

// typist agrees to what may be agreed to.
type typist struct{}

// Ask types what is to be typed.
func (typist) Ask(_ context.Context, q power.Question) (power.Answer, error) {
	return power.Answer{Yes: true, Typed: q.Type}, nil
}
