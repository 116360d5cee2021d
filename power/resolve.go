package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Resolve finds the machines of nodes, in the order given. What can't be found
// is nil, with a sentence in OffErr or OnErr. Do it while the nodes are up: a
// machine's addresses are known then.
//
// The order is: the machine's name in the configuration; the annotation
// lightsout.dev/machine; then the driver's match by providerID, by the exact address,
// by the exact name. Exactly one machine must match, and a machine must match only one
// node: of two nodes on one machine neither is bound.
func (f *Fleet) Resolve(ctx context.Context, nodes []NodeRef) []Binding {
	out := f.findEach(ctx, nodes)
	refuseShared(out)
	return out
}

// FindAndRead finds the machines of nodes and polls them. The lookups take half of the time at most (stateTimeout if
// ctx has no end), so that a driver without an answer leaves time to poll the machines of the others.
func (f *Fleet) FindAndRead(ctx context.Context, nodes []NodeRef) ([]Binding, []NamedReading) {
	most := stateTimeout
	if until, ends := ctx.Deadline(); ends {
		most = time.Until(until) / 2
	}
	finding, found := context.WithTimeout(ctx, most)
	bindings := f.Resolve(finding, nodes)
	found()
	return bindings, f.Read(ctx, bindings)
}

var errSearchEnded = errors.New("the search was cancelled")

// findEach looks the machines of nodes up, each for itself.
func (f *Fleet) findEach(ctx context.Context, nodes []NodeRef) []Binding {
	out := make([]Binding, len(nodes))
	driver := func(i int) string {
		return cmp.Or(f.driverFor(nodes[i].Name, true), f.driverFor(nodes[i].Name, false))
	}
	sideBySide(ctx, f.others, len(nodes), driver, func(i int, err error) {
		b := &out[i]
		b.Node = nodes[i]
		if err != nil {
			why := errSearchEnded
			if errors.Is(err, context.DeadlineExceeded) && driver(i) != "" {
				why = errors.New(unread(driver(i), err))
			}
			b.OffErr, b.OnErr = why, why
			return
		}
		b.Off, b.OffErr = f.find(ctx, b.Node, false)
		b.On, b.OnErr = f.find(ctx, b.Node, true)
		b.Contradiction = f.contradiction(ctx, *b)
	})
	return out
}

// wayBack returns the binding of a machine that was switched off as it is powered on now. The
// journal's copy tells which machine it is; the driver and all its settings are those of the
// configuration now, which somebody may have corrected since.
func (f *Fleet) wayBack(ctx context.Context, b Binding) Binding {
	if name := f.driverFor(b.Node.Name, true); name != b.On.Driver && !sameMachine(b.Off, b.On) {
		ctx, cancel := context.WithTimeout(ctx, stateTimeout)
		defer cancel()
		if m, _ := f.find(ctx, b.Node, true); m != nil {
			b.On = m
			return b
		}
	}
	if d := f.drivers[b.On.Driver]; d != nil {
		m, _ := d.Ready(b.Node.Name, *b.On) // Switch gives the error
		b.On = &m
	}
	return b
}

// find finds the machine of one side. The error is the reason why there is none, as in Binding.
func (f *Fleet) find(ctx context.Context, node NodeRef, on bool) (*Machine, error) {
	name := f.driverFor(node.Name, on)
	switch {
	case name == "" && on:
		return nil, errors.New("no driver is configured for powering on (power.on_by)")
	case name == "":
		return nil, errors.New("no driver is configured for switching off (power.off_by)")
	}
	d := f.drivers[name]
	cfg := f.cfg.Nodes[node.Name]
	hint := cfg.Machine
	ref := node
	if shown := proving(node.Addresses); len(shown) > 0 {
		ref.Addresses = shown
	}
	if cfg.Address != "" {
		ref.Addresses, ref.Configured = []string{cfg.Address}, true
	}
	found, err := d.Find(ctx, ref, hint)
	if err != nil {
		return nil, &unboundError{notFound(err, node.Name, name, node.Named(hint)), err}
	}
	found.Driver = name
	switch {
	case found.How != "":
	case hint != "":
		found.How = HowConfig
	case node.Named("") != "":
		found.How = HowAnnotation
	default: // all else that a driver could make a machine of
		found.How = HowName
	}
	if found.How == HowAddress && cfg.Address != "" {
		found.How = HowConfig
	}
	return &found, nil
}

// contradiction describes a node whose address leads to another machine than its name,
// or whose annotation or providerID names another machine than its address or name. An
// attacker on a node can write both.
func (f *Fleet) contradiction(ctx context.Context, b Binding) string {
	for _, m := range b.machines() {
		if m.Contradiction != "" {
			return m.Contradiction
		}
		if m.How != HowAnnotation && m.How != HowProviderID {
			continue
		}
		plain := NodeRef{Name: b.Node.Name, Addresses: proving(b.Node.Addresses)}
		other, err := f.drivers[m.Driver].Find(ctx, plain, "")
		if err == nil && other.ID != m.ID {
			return fmt.Sprintf("The %s of %s names the machine %s, but by its address or name it is %s; name the right one under power.nodes", m.How, b.Node.Name, m.Title(), other.Title())
		}
	}
	return ""
}

func notFound(err error, node, driver, hint string) string {
	switch {
	case errors.Is(err, ErrNoMachine) && err != ErrNoMachine:
		return Clean(err.Error()) // the driver describes what it lacks
	case errors.Is(err, ErrNoMachine) && hint != "":
		return fmt.Sprintf("%s has no machine %q for %s", driver, Clean(hint), node)
	case errors.Is(err, ErrNoMachine):
		return fmt.Sprintf("%s has no machine with an address or the name of %s; name it under power.nodes", driver, node)
	}
	return unread(driver, err)
}

// unread is why a driver found or read nothing, in words.
func unread(driver string, err error) string {
	if errors.Is(err, context.DeadlineExceeded) && !errors.As(err, new(*SilentError)) {
		return driver + " did not answer in time"
	}
	return Clean(err.Error())
}

// refuseShared unbinds machines that more than one node was bound to.
func refuseShared(bindings []Binding) {
	owners := map[string][]string{}
	for _, b := range bindings {
		for _, m := range b.machines() {
			if of := owners[m.key()]; !slices.Contains(of, b.Node.Name) {
				owners[m.key()] = append(of, b.Node.Name)
			}
		}
	}
	unbind := func(m **Machine, why *error) {
		if *m == nil || len(owners[(*m).key()]) < 2 {
			return
		}
		nodes := owners[(*m).key()]
		*why = &unboundError{fmt.Sprintf("the machine %s of %s matches %d nodes (%s and %s); name the right one for each under power.nodes",
			(*m).Title(), (*m).Driver, len(nodes), nodes[0], nodes[1]), ErrShared}
		*m = nil
	}
	for i := range bindings {
		unbind(&bindings[i].Off, &bindings[i].OffErr)
		unbind(&bindings[i].On, &bindings[i].OnErr)
	}
}
