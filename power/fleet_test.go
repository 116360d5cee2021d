package power

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAMachineIsFoundByConfigThenAnnotationThenTheDriver(t *testing.T) {
	api := newFake("mdx", allAbilities, "by-config", "by-annotation", "by-address", "node", "docker0")
	api.machines["by-address"].Address, api.machines["docker0"].Address = "10.0.0.13", "172.17.0.1"
	node := NodeRef{Name: "node", Addresses: []string{"10.0.0.13"}, Annotations: map[string]string{AnnotationMachine: "by-annotation"}}
	plain := NodeRef{Name: "node", Addresses: []string{"10.0.0.13"}}
	shared := NodeRef{Name: "node", Addresses: []string{"172.17.0.1", "fe80::1", "10.0.0.13"}}
	bare := NodeRef{Name: "node", Addresses: []string{"10.0.0.1"}}
	cases := []struct {
		how, id string
		node    NodeRef
		cfg     NodeConfig
	}{
		{HowConfig, "by-config", node, NodeConfig{Machine: "by-config"}},
		{HowAnnotation, "by-annotation", node, NodeConfig{}},
		{HowAddress, "by-address", plain, NodeConfig{}},
		{HowAddress, "by-address", shared, NodeConfig{}},
		{HowName, "node", bare, NodeConfig{}},
		{HowConfig, "by-address", bare, NodeConfig{Address: "10.0.0.13"}},
	}
	for _, c := range cases {
		f, _ := testFleet(t, Config{Off: "mdx", On: "mdx", Nodes: map[string]NodeConfig{"node": c.cfg}}, api)
		b := f.Resolve(context.Background(), []NodeRef{c.node})[0]
		if b.On == nil || b.On.ID != c.id || b.On.How != c.how || b.Off == nil || b.Off.ID != c.id {
			t.Errorf("want %s by %s, got %+v (%v)", c.id, c.how, b.On, b.OnErr)
		}
	}
}

func TestAMachineThatIsNotExactlyOneIsNotBound(t *testing.T) {
	api := newFake("mdx", allAbilities, "a", "b", "shared")
	api.machines["a"].Address, api.machines["b"].Address = "10.0.0.1", "10.0.0.1"
	f, _ := testFleet(t, Config{On: "mdx", Nodes: map[string]NodeConfig{
		"n1": {Machine: "shared"}, "n2": {Machine: "shared"}, "n3": {Machine: "gone"},
	}}, api)
	got := f.Resolve(context.Background(), []NodeRef{
		{Name: "n1"}, {Name: "n2"}, {Name: "n3"},
		{Name: "two", Addresses: []string{"10.0.0.1"}}, {Name: "none", Addresses: []string{"10.0.0.10"}},
	})
	for i, want := range []string{"n1 and n2", "n1 and n2", `no machine "gone"`, "2 machines match", "no machine with an address"} {
		b := got[i]
		if b.On != nil || !strings.Contains(fmt.Sprint(b.OnErr), want) {
			t.Errorf("%s: bound to %+v (%v), want none and %q", b.Node.Name, b.On, b.OnErr, want)
		}
		if b.Off != nil || b.OffErr == nil {
			t.Errorf("%s: no driver for off, yet %+v (%v)", b.Node.Name, b.Off, b.OffErr)
		}
	}
}

func TestOneNodeMayDifferFromTheRest(t *testing.T) {
	api := newFake("mdx", allAbilities, "n1", "n2")
	ssh := newFake("ssh", Abilities{State: true, Shutdown: true}, "n1", "n2")
	f, _ := testFleet(t, Config{Off: "ssh", On: "mdx", Nodes: map[string]NodeConfig{
		"n1": {Off: "mdx"},
	}}, api, ssh)
	got := f.Resolve(context.Background(), []NodeRef{{Name: "n1"}, {Name: "n2"}})
	if got[0].Off.Driver != "mdx" || got[1].Off.Driver != "ssh" {
		t.Errorf("off by %s and %s", got[0].Off.Driver, got[1].Off.Driver)
	}
}

func TestAnUnknownDriverIsAnErrorThatNamesTheField(t *testing.T) {
	_, err := NewFleet(Config{On: "mdx", Nodes: map[string]NodeConfig{"n1": {Off: "ipmi"}}}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), `power.on_by names the driver "mdx"`) || !strings.Contains(err.Error(), "power.nodes.n1.off_by") {
		t.Errorf("got %v", err)
	}
}

func TestCanSaysWhyNot(t *testing.T) {
	ssh := newFake("ssh", Abilities{State: true, Shutdown: true}, "n1")
	f, _ := testFleet(t, Config{}, ssh)
	b := bind("ssh", "ssh", "n1")[0]
	if m, err := f.Can(b, ActionShutdown); err != nil || m.ID != "n1" {
		t.Errorf("shutdown: %+v, %v", m, err)
	}
	if _, err := f.Can(b, ActionOn); !errors.Is(err, ErrCannot) {
		t.Errorf("on: %v", err)
	}
	if _, err := f.Can(b, ActionOn); strings.Count(err.Error(), "can't") != 1 {
		t.Errorf("it repeats itself: %v", err)
	}
	exec, _ := testFleet(t, Config{}, newFake("exec", Abilities{On: true, Off: true}, "n1"))
	if err := exec.Prove(t.Context(), bind("exec", "exec", "n1"))["n1"]; !errors.Is(err, ErrCannot) || strings.Count(err.Error(), "can't")+strings.Count(err.Error(), "cannot") != 1 {
		t.Errorf("of a driver that reads no state: %v", err)
	}
	b.On, b.OnErr = nil, errors.New("the portal refused the token")
	if _, err := f.Can(b, ActionOff); !errors.Is(err, b.OnErr) {
		t.Errorf("off, for which only the other driver would do: %v", err)
	}
	if _, err := f.Can(Binding{OnErr: errors.New("2 machines match")}, ActionOn); err == nil || err.Error() != "2 machines match" {
		t.Errorf("unbound: %v", err)
	}
}

func TestThePlugIsPulledByTheDriverThatCan(t *testing.T) {
	asks := newFake("ssh", Abilities{State: true, Shutdown: true}, "n1")
	pulls := newFake("portal", Abilities{State: true, ProvesOff: true, On: true, Off: true}, "n1")
	f, _ := testFleet(t, Config{}, asks, pulls)
	b := bind("ssh", "portal", "n1")[0]
	for action, driver := range map[Action]string{ActionShutdown: "ssh", ActionOff: "portal", ActionOn: "portal"} {
		if m, err := f.Can(b, action); err != nil || m.Driver != driver {
			t.Errorf("%s by %q, %v; wanted %s", action, m.Driver, err, driver)
		}
	}
}

func TestProveReportsNodesThatLightsoutCouldNotPowerOn(t *testing.T) {
	api := newFake("mdx", allAbilities, "ok", "unknown", "unread")
	api.machines["unknown"].reading = Reading{Detail: "Suspended"}
	api.machines["unread"].readErr = errors.New("the portal refused the token")
	f, _ := testFleet(t, Config{}, api)
	got := f.Prove(context.Background(), append(bind("", "mdx", "ok", "unknown", "unread"), bind("mdx", "", "unbound")...))
	if len(got) != 3 || got["ok"] != nil || got["unknown"] == nil || got["unread"] == nil || got["unbound"] == nil {
		t.Errorf("got %v", got)
	}
}

// One node's machine for switching off may be another's for powering on.
func TestAMachineOfTwoNodesIsOfNeither(t *testing.T) {
	f, _ := testFleet(t, Config{}, &fakeDriver{name: "mdx"})
	bindings := append(bind("mdx", "mdx", "n1"), bind("", "mdx", "n2", "n3")...)
	bindings[1].On.ID = "n1"
	refuseShared(bindings)
	for i, a := range []Action{ActionOff, ActionOn, ActionOn} {
		if _, err := f.Can(bindings[min(i, 1)], a); !errors.Is(err, ErrShared) {
			t.Errorf("%s %s: %v", a, bindings[min(i, 1)].Node.Name, err)
		}
	}
	if bindings[2].On == nil {
		t.Error("n3 has a machine of its own")
	}
}

// stuckDriver finds and polls nothing until the caller stops waiting.
type stuckDriver struct{ *fakeDriver }

func (stuckDriver) Find(ctx context.Context, _ NodeRef, _ string) (Machine, error) {
	<-ctx.Done()
	return Machine{}, ctx.Err()
}

func (stuckDriver) State(ctx context.Context, _ Machine) (Reading, error) {
	<-ctx.Done()
	return Reading{}, ctx.Err()
}

func TestADriverThatFindsNothingInTimeIsNamed(t *testing.T) {
	f, _ := testFleet(t, Config{On: "board", Off: "board", Parallel: 1, ReadTimeout: time.Millisecond}, stuckDriver{newFake("board", allAbilities)})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	const want = "board did not answer in time"
	for _, b := range f.Resolve(ctx, []NodeRef{{Name: "n1"}, {Name: "n2"}}) { // one of them waits for its turn
		if b.Off != nil || b.On != nil || b.OffErr.Error() != want || b.OnErr.Error() != want {
			t.Errorf("%s: %v, %v", b.Node.Name, b.OffErr, b.OnErr)
		}
	}
	if r := f.Read(t.Context(), bind("board", "board", "n1"))[0]; r.State != Unknown || r.Detail != want {
		t.Errorf("%+v", r)
	}
}

// While a driver finds no machine, those of another driver are polled in the time that is left.
func TestADriverThatFindsNothingHidesNoOtherDriversMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := testFleet(t, Config{Off: "mdx", Nodes: map[string]NodeConfig{"n1": {Off: "stuck"}}}, newFake("mdx", allAbilities, "n2"), stuckDriver{newFake("stuck", allAbilities)})
		defer j.Close()
		s := Switcher{Fleet: f, Cluster: seenOnly{{NodeRef: NodeRef{Name: "n1"}}, {NodeRef: NodeRef{Name: "n2"}}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if off, err := s.Unaccounted(ctx); err == nil || len(off) > 0 || !strings.Contains(err.Error(), "no state: n1") || strings.Contains(err.Error(), "n2") {
			t.Errorf("%v: %v", off, err)
		}
	})
}

// seenOnly is a cluster with these nodes.
type seenOnly []Node

func (s seenOnly) State(context.Context) (ClusterState, error) {
	return ClusterState{At: time.Now(), Nodes: s}, nil
}
func (s seenOnly) FreshState(ctx context.Context) (ClusterState, error) { return s.State(ctx) }
