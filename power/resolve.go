package power

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
)

// Resolve finds the machines of nodes, in the order given. What can't be found
// is nil, with a sentence in OffErr or OnErr. Do it while the nodes are up: a
// machine's addresses are known then.
//
// The order is: the configuration's name for it; the annotation
// lightsout.dev/machine; then what the driver finds by the providerID, by
// exactly the address, by exactly the name. Exactly one machine must match, and
// a machine must match one node only: of two nodes on one machine neither is
// bound.
func (f *Fleet) Resolve(ctx context.Context, nodes []NodeRef) []Binding {
	out := make([]Binding, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		out[i].Node = node
		wg.Go(func() {
			if err := f.others.take(ctx); err != nil {
				out[i].OffErr, out[i].OnErr = "the search was ended", "the search was ended"
				return
			}
			defer f.others.free()
			out[i].Off, out[i].OffErr = f.find(ctx, node, false)
			out[i].On, out[i].OnErr = f.find(ctx, node, true)
		})
	}
	wg.Wait()
	refuseShared(out)
	return out
}

// find looks for one side's machine; the string says why there is none.
func (f *Fleet) find(ctx context.Context, node NodeRef, on bool) (*Machine, string) {
	name := f.driverFor(node.Name, on)
	if name == "" {
		if on {
			return nil, "no driver for powering on is configured (power.on)"
		}
		return nil, "no driver for switching off is configured (power.off)"
	}
	d := f.drivers[name]
	cfg := f.cfg.Nodes[node.Name]
	hint := cfg.Machine
	ref := node
	if cfg.Address != "" {
		ref.Addresses, ref.Configured = []string{cfg.Address}, true
	}
	m, err := d.Find(ctx, ref, hint)
	if err != nil {
		return nil, notFound(err, node.Name, name, node.Named(hint))
	}
	m.Driver = name
	switch {
	case m.How != "":
	case hint != "":
		m.How = HowConfig
	case node.Named("") != "":
		m.How = HowAnnotation
	}
	if m.How == HowAddress && cfg.Address != "" {
		m.How = HowConfig
	}
	if cfg.ServiceLevel != "" {
		m.Params = maps.Clone(m.Params)
		if m.Params == nil {
			m.Params = map[string]string{}
		}
		m.Params[ParamServiceLevel] = cfg.ServiceLevel
		m.Params[ParamServiceLevelFrom] = "config"
	}
	return &m, ""
}

func notFound(err error, node, driver, hint string) string {
	switch {
	case errors.Is(err, ErrNoMachine) && err != ErrNoMachine:
		return Clean(err.Error()) // the driver says what it lacks
	case errors.Is(err, ErrNoMachine) && hint != "":
		return fmt.Sprintf("%s has no machine %q for %s", driver, Clean(hint), node)
	case errors.Is(err, ErrNoMachine):
		return fmt.Sprintf("%s has no machine with an address or the name of %s; name it under power.nodes", driver, node)
	}
	return Clean(err.Error())
}

// refuseShared unbinds machines that more than one node was bound to.
func refuseShared(bindings []Binding) {
	owners := map[string][]string{}
	key := func(side string, m *Machine) string { return side + "\x00" + m.Driver + "\x00" + m.ID }
	for _, b := range bindings {
		if b.Off != nil {
			owners[key("off", b.Off)] = append(owners[key("off", b.Off)], b.Node.Name)
		}
		if b.On != nil {
			owners[key("on", b.On)] = append(owners[key("on", b.On)], b.Node.Name)
		}
	}
	why := func(m *Machine, nodes []string) string {
		return fmt.Sprintf("the machine %s of %s matches %d nodes (%s and %s); name the right one for each under power.nodes",
			m.Title(), m.Driver, len(nodes), nodes[0], nodes[1])
	}
	for i := range bindings {
		b := &bindings[i]
		if b.Off != nil {
			if nodes := owners[key("off", b.Off)]; len(nodes) > 1 {
				b.OffErr, b.Off = why(b.Off, nodes), nil
			}
		}
		if b.On != nil {
			if nodes := owners[key("on", b.On)]; len(nodes) > 1 {
				b.OnErr, b.On = why(b.On, nodes), nil
			}
		}
	}
}
