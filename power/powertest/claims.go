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
	f, err := power.NewFleet(power.Config{Off: "one", PollInterval: 10 * time.Millisecond}, j, map[string]power.Driver{"one": one{d, m}})
	if err != nil {
		t.Fatal(err)
	}
	s := power.Switcher{Fleet: f, Cluster: Workers{m.Name, "another-worker"}}
	if err = s.Switch(t.Context(), power.Request{Action: a, Nodes: []string{m.Name}}, Typist{}); err != nil && !errors.As(err, new(*power.ActionError)) {
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

// Workers are the nodes of a cluster, all of which run.
type Workers []string

// State has every node Ready and schedulable.
func (w Workers) State(context.Context) (v power.ClusterState, err error) {
	for _, n := range w {
		v.Nodes = append(v.Nodes, power.Node{NodeRef: power.NodeRef{Name: n}, Ready: true, Schedulable: true})
	}
	return v, nil
}

// FreshState is State.
func (w Workers) FreshState(ctx context.Context) (power.ClusterState, error) { return w.State(ctx) }

// Typist agrees, and types what is to be typed.
type Typist struct{}

// Ask types what is to be typed.
func (Typist) Ask(_ context.Context, q power.Question) (power.Answer, error) {
	return power.Answer{Yes: true, Typed: q.Type}, nil
}
