package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
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

// resolvedFor is how long the machine of a node that is not to be switched is
// remembered.
const resolvedFor = time.Minute

type resolved struct {
	binding Binding
	at      time.Time
}

// resolveAll is Resolve for all nodes of a cluster, of which targets are to be
// switched: those are looked up now, the others may be as old as a minute.
func (f *Fleet) resolveAll(ctx context.Context, nodes []NodeRef, targets []string) []Binding {
	var out []Binding
	var ask []NodeRef
	f.mu.Lock()
	for _, ref := range nodes {
		k := f.resolved[ref.Name]
		if time.Since(k.at) < resolvedFor && reflect.DeepEqual(k.binding.Node, ref) && !slices.Contains(targets, ref.Name) {
			out = append(out, k.binding)
		} else {
			ask = append(ask, ref)
		}
	}
	f.mu.Unlock()
	found := f.findEach(ctx, ask)
	f.mu.Lock()
	for _, b := range found {
		if b.OffErr == "" && b.OnErr == "" {
			f.resolved[b.Node.Name] = resolved{binding: b, at: time.Now()}
		}
	}
	f.mu.Unlock()
	out = append(out, found...)
	refuseShared(out)
	return out
}

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
			b.OffErr, b.OnErr = "the search was cancelled", "the search was cancelled"
			return
		}
		b.Off, b.OffErr, b.offCause = f.find(ctx, b.Node, false)
		b.On, b.OnErr, b.onCause = f.find(ctx, b.Node, true)
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
		if m, _, _ := f.find(ctx, b.Node, true); m != nil {
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

// find finds the machine of one side; if there is none, why is the reason, and cause the
// driver's error.
func (f *Fleet) find(ctx context.Context, node NodeRef, on bool) (m *Machine, why string, cause error) {
	name := f.driverFor(node.Name, on)
	if name == "" {
		if on {
			return nil, "no driver is configured for powering on (power.on_by)", nil
		}
		return nil, "no driver is configured for switching off (power.off_by)", nil
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
		return nil, notFound(err, node.Name, name, node.Named(hint)), err
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
	return &found, "", nil
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
	return Clean(err.Error())
}

// refuseShared unbinds machines that more than one node was bound to.
func refuseShared(bindings []Binding) {
	for _, side := range []func(*Binding) (**Machine, *string, *error){
		func(b *Binding) (**Machine, *string, *error) { return &b.Off, &b.OffErr, &b.offCause },
		func(b *Binding) (**Machine, *string, *error) { return &b.On, &b.OnErr, &b.onCause },
	} {
		owners := map[string][]string{}
		for i := range bindings {
			if m, _, _ := side(&bindings[i]); *m != nil {
				owners[(*m).key()] = append(owners[(*m).key()], bindings[i].Node.Name)
			}
		}
		for i := range bindings {
			m, why, cause := side(&bindings[i])
			if *m == nil || len(owners[(*m).key()]) < 2 {
				continue
			}
			nodes := owners[(*m).key()]
			*why = fmt.Sprintf("the machine %s of %s matches %d nodes (%s and %s); name the right one for each under power.nodes",
				(*m).Title(), (*m).Driver, len(nodes), nodes[0], nodes[1])
			*m, *cause = nil, ErrShared
		}
	}
}
