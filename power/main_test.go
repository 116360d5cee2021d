package power

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lightsout/internal/testenv"
	"lightsout/internal/testenv/leak"
)

func TestMain(m *testing.M) {
	if os.Getenv(ChildEnv) != "" {
		Child()
		os.Exit(1)
	}
	testenv.SideBySide(6) // they mostly wait
	goleak.VerifyTestMain(m, leak.SSH())
}

// fakeDriver stands for a mechanism with machines of its own. What it must
// show is how a Fleet uses drivers; the real ones have their own tests.
type fakeDriver struct {
	name string
	can  Abilities

	mu       sync.Mutex
	machines map[string]*fakeMachine // by ID
	inFlight int
	most     int // the most requests that were under way at once
}

type fakeMachine struct {
	Machine
	reading Reading
	readErr error
	// notReady is why it could not be powered on.
	notReady error
	calls    []Action
	// obey is asked what a request does; nil accepts it and switches at once.
	obey func(a Action, m *fakeMachine) error
}

func newFake(name string, can Abilities, ids ...string) *fakeDriver {
	d := &fakeDriver{name: name, can: can, machines: map[string]*fakeMachine{}}
	for _, id := range ids {
		d.machines[id] = &fakeMachine{
			Machine: Machine{Driver: name, ID: id, Name: id},
			reading: Reading{State: On, Proof: Proven, Detail: "PowerON"},
		}
	}
	return d
}

var allAbilities = Abilities{State: true, ProvesOff: true, On: true, Shutdown: true, Off: true}

func (d *fakeDriver) Name() string         { return d.name }
func (d *fakeDriver) Abilities() Abilities { return d.can }

func (d *fakeDriver) Find(_ context.Context, node NodeRef, hint string) (Machine, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if hint = node.Named(hint); hint != "" {
		if m, ok := d.machines[hint]; ok {
			return m.Machine, nil
		}
		return Machine{}, ErrNoMachine
	}
	var found []Machine
	for _, m := range d.machines {
		for _, a := range node.Addresses {
			if SameIP(a, m.Address) {
				found = append(found, m.Machine)
			}
		}
	}
	switch {
	case len(found) == 1:
		found[0].How = HowAddress
		return found[0], nil
	case len(found) > 1:
		return Machine{}, &AmbiguousError{Node: node.Name, Matches: []string{found[0].ID, found[1].ID}}
	}
	if m, ok := d.machines[node.Name]; ok {
		return m.Machine, nil
	}
	return Machine{}, ErrNoMachine
}

// Ready gives the parameters that the machine has now.
func (d *fakeDriver) Ready(_ string, m Machine) (Machine, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, ok := d.machines[m.ID]
	if !ok {
		return m, nil
	}
	m.Params = f.Params
	return m, f.notReady
}

func (d *fakeDriver) State(_ context.Context, m Machine) (Reading, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, ok := d.machines[m.ID]
	if !ok {
		return Reading{}, fmt.Errorf("no machine %s", m.ID)
	}
	return f.reading, f.readErr
}

func (d *fakeDriver) Switch(_ context.Context, a Action, m Machine) error { return d.do(a, m) }

func (d *fakeDriver) do(a Action, m Machine) error {
	d.mu.Lock()
	f := d.machines[m.ID]
	f.calls = append(f.calls, a)
	d.inFlight++
	d.most = max(d.most, d.inFlight)
	obey := f.obey
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.inFlight--
		d.mu.Unlock()
	}()
	if obey != nil {
		return obey(a, f)
	}
	d.set(m.ID, a)
	return nil
}

// set puts a machine into the state that an action is for.
func (d *fakeDriver) set(id string, a Action) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a == ActionOn {
		d.machines[id].reading = Reading{State: On, Proof: Proven, Detail: "PowerON"}
	} else {
		d.machines[id].reading = Reading{State: Off, Proof: Proven, Detail: "PowerOFF"}
	}
}

func (d *fakeDriver) callsTo(id string) []Action {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Action(nil), d.machines[id].calls...)
}

// bind binds node names to machines of the same name.
func bind(off, on string, names ...string) []Binding {
	var out []Binding
	for _, n := range names {
		b := Binding{Node: NodeRef{Name: n, BootID: "boot-1"}}
		if off != "" {
			b.Off = &Machine{Driver: off, ID: n, Name: n}
		}
		if on != "" {
			b.On = &Machine{Driver: on, ID: n, Name: n}
		}
		out = append(out, b)
	}
	return out
}

func testFleet(t *testing.T, cfg Config, drivers ...Driver) (*Fleet, *Journal) {
	t.Helper()
	j := testJournal(t, t.TempDir())
	cfg.PollInterval = 5 * time.Millisecond
	named := map[string]Driver{}
	for _, d := range drivers {
		named[d.(interface{ Name() string }).Name()] = d
	}
	f, err := NewFleet(cfg, j, named)
	if err != nil {
		t.Fatal(err)
	}
	f.retryPause = 20 * time.Millisecond
	return f, j
}

func testJournal(t *testing.T, dir string) *Journal {
	t.Helper()
	j := OpenJournal(dir, labCluster, "")
	t.Cleanup(func() { j.Close() })
	return j
}

var labCluster = Cluster{Name: "lab", UID: "uid-lab"}

// leftOff gives "node standing" for each machine left off.
func leftOff(t *testing.T, j *Journal) []string {
	t.Helper()
	left, err := j.LeftOff()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range left {
		out = append(out, l.Node+" "+l.Stands.String())
	}
	return out
}
