package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lightsout/internal/outage"
)

// Preflighter is a driver that can tell beforehand whether a machine would
// obey. Nothing is switched by asking. It fails where the machine's state can't be read. Fleet
// asks only for actions of Abilities.
type Preflighter interface {
	Preflight(ctx context.Context, a Action, m Machine) error
}

// Preflight asks the drivers that can check it whether they would permit the action, in
// parallel, each within a minute. It returns the nodes for which they would not, or
// cannot tell.
func (f *Fleet) Preflight(ctx context.Context, a Action, bindings []Binding) map[string]error {
	return f.each(ctx, a, bindings, func(ctx context.Context, n NodeRef, m Machine) error {
		p, ok := f.drivers[m.Driver].(Preflighter)
		if !ok {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		same := f.sameBoot(ctx, n, m)
		if same != nil && !errors.As(same, new(*NoBootIDError)) {
			return same // another machine, or nobody answers
		}
		return cmp.Or(p.Preflight(ctx, a, m), same)
	})
}

// bootReader is a driver that can ask the system on a machine for its boot ID. It returns
// none if the system has none.
type bootReader interface {
	BootID(ctx context.Context, m Machine) (string, error)
}

// OtherBootError reports that a driver reaches a system with another boot ID than the
// node's: a name or an address leads to another machine, or the node has booted and not
// reported that yet.
type OtherBootError struct{ Driver, Node, Has, Wants string }

func (e *OtherBootError) Error() string {
	return fmt.Sprintf("%s reaches a system with the boot ID %s, and node %s reports %s: it is another machine, or has just booted; check where its name and address lead",
		e.Driver, Clean(e.Has), Clean(e.Node), Clean(e.Wants))
}

// NoBootIDError reports that a driver cannot compare boot IDs, because one is missing.
type NoBootIDError struct {
	Who     string // who lacks it: "node n1 reports"
	Machine Machine
}

func (e *NoBootIDError) Error() string {
	return fmt.Sprintf("%s no boot ID, so lightsout cannot check that %s leads to this node's machine; check where its name and address lead", Clean(e.Who), e.Machine.Title())
}

// sameBoot returns an error if the system on a machine is not the node's, or if a boot ID
// is missing. Drivers that do not read one are not compared.
func (f *Fleet) sameBoot(ctx context.Context, n NodeRef, m Machine) error {
	r, ok := f.drivers[m.Driver].(bootReader)
	if !ok {
		return nil
	}
	id, err := r.BootID(ctx, m)
	switch {
	case err != nil:
		return err
	case n.BootID == "" || id == "":
		who := "node " + n.Name + " reports"
		if id == "" {
			who = "the system that " + m.Driver + " reaches has"
		}
		return &NoBootIDError{Who: who, Machine: m}
	case outage.OtherBoot(id, n.BootID):
		return &OtherBootError{m.Driver, n.Name, id, n.BootID}
	}
	return nil
}

// Prove looks whether the driver that would power each node on has all that it needs for
// that, would permit it, and reports the machine's state: whoever answers that can be expected
// to answer later. It returns the nodes for which this is not so, and why.
func (f *Fleet) Prove(ctx context.Context, bindings []Binding) map[string]error {
	return f.each(ctx, ActionOn, bindings, func(ctx context.Context, n NodeRef, m Machine) error {
		d := f.drivers[m.Driver]
		m, err := d.Ready(n.Name, m)
		if err != nil {
			return err
		}
		if p, ok := d.(Preflighter); ok {
			ctx, cancel := context.WithTimeout(ctx, f.cfg.ReadTimeout)
			defer cancel()
			return p.Preflight(ctx, ActionOn, m)
		}
		r, err := f.poll(ctx, m)
		if err == nil && r.State == Unknown {
			err = fmt.Errorf("%s does not know the state of %s (%s)", m.Driver, m.Title(), r.Detail)
		}
		return err
	})
}

// each runs do, which asks the driver of an action, for every node and its machine, side by side. It
// returns the errors by node, also those of nodes without a machine.
func (f *Fleet) each(ctx context.Context, a Action, bindings []Binding, do func(context.Context, NodeRef, Machine) error) map[string]error {
	var mu sync.Mutex
	errs := map[string]error{}
	driver := func(i int) string {
		m, _ := f.Can(bindings[i], a)
		return m.Driver
	}
	sideBySide(ctx, f.others, len(bindings), driver, func(i int, err error) {
		node := bindings[i].Node
		m, cannot := f.Can(bindings[i], a)
		if err = cmp.Or(err, cannot); err == nil {
			err = do(ctx, node, m)
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			errs[node.Name] = err
		}
	})
	return errs
}
