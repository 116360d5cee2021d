package config

import (
	"cmp"
	"maps"
	"slices"

	"lightsout/internal/config/yamlfile"
	"lightsout/internal/text"
	"lightsout/power"
)

// Power configures the switching of machines. The keys are not "on" and "off", because
// YAML 1.1 reads those as booleans.
type Power struct {
	// Off and On name the driver for all nodes.
	Off string `json:"off_by"`
	On  string `json:"on_by"`
	// Sections holds the drivers' sections by name: those of the file, and empty ones of
	// drivers that are named and need no section.
	Sections map[string]power.Section `json:"-"`
	// Nodes holds what differs, by node name.
	Nodes map[string]Node `json:"-"`
}

// Node is an entry of power.nodes.
type Node struct {
	power.NodeConfig
	// Own holds what power.DriverSpec.Node made of the other fields, by driver.
	Own map[string]any
}

// naming is a place that names a driver for switching off, or on.
type naming struct {
	field, driver string
	on            bool
}

// named are all places that name a driver: "power.off_by", and those of nodes.
func (p *Power) named() []naming {
	all := []naming{{"power.off_by", p.Off, false}, {"power.on_by", p.On, true}}
	for _, name := range slices.Sorted(maps.Keys(p.Nodes)) {
		n, at := p.Nodes[name], "power.nodes."+power.Clean(name)
		all = append(all, naming{at + ".off_by", n.Off, false}, naming{at + ".on_by", n.On, true})
	}
	return slices.DeleteFunc(all, func(n naming) bool { return n.driver == "" })
}

// check finds contradictions that the types allow.
func (p *Power) check(wrong fault) {
	for _, n := range p.named() {
		wrong.of("power", p.checkNamed(n))
	}
	// What the drivers themselves make of the section and of each node; files are not read yet.
	site := power.Site{CheckOnly: true, Secret: func(s power.Secret) (power.Source, error) {
		_, err := secretSource(s)
		wrong.of("power", err)
		return func() (string, error) { return "", err }, nil
	}}
	for _, k := range power.Kinds() {
		for _, name := range append(slices.Sorted(maps.Keys(p.Nodes)), "") {
			one := Power{Sections: p.Sections, Nodes: map[string]Node{name: p.Nodes[name]}}
			d, err := one.build(k, site)
			wrong.of("power", err)
			Close(d)
		}
	}
}

// shared reports each node that shares its machine or its address with another one: to
// switch one of them would switch the other.
func (p *Power) shared(wrong fault) {
	type place struct{ field, off, on, machine, address, bmc string }
	of := map[place]string{}
	for _, name := range slices.Sorted(maps.Keys(p.Nodes)) {
		n := p.Nodes[name]
		for _, at := range []place{
			{field: "machine", off: cmp.Or(n.Off, p.Off), on: cmp.Or(n.On, p.On), machine: n.Machine, bmc: n.bmc()},
			{field: "address", address: n.Address},
			{field: "bmc", bmc: n.bmc(), machine: n.Machine}, // one controller may serve several machines by name
		} {
			switch other, taken := of[at]; {
			case at.field == "machine" && n.Machine == "", at.field == "address" && n.Address == "", at.field == "bmc" && n.bmc() == "":
			case taken:
				wrong("power.nodes."+name+"."+at.field, "power.nodes: %s and %s have the same %s: give each its own", power.Clean(other), power.Clean(name), at.field)
			default:
				of[at] = name
			}
		}
	}
}

// bmc is the controller of the node's machine; empty if its entry names none.
func (n *Node) bmc() string {
	for _, own := range n.Own {
		if c, ok := own.(interface{ Controls() string }); ok && c.Controls() != "" {
			return c.Controls()
		}
	}
	return ""
}

// checkNamed checks that a driver is there and serves the side that it is named for.
func (p *Power) checkNamed(n naming) error {
	kinds := power.Kinds()
	i := slices.IndexFunc(kinds, func(k power.DriverSpec) bool { return k.Name == n.driver })
	if i < 0 {
		names := text.Each(kinds, func(k power.DriverSpec) string { return k.Name })
		return power.Wrong(n.field, ": there is no power driver %q; %s", power.Clean(n.driver), yamlfile.Hint(n.driver, names))
	}
	k := kinds[i]
	if k.Needs != "" && p.Sections[k.Name] == nil {
		return &power.FieldError{Field: "power", Text: k.Needs}
	}
	canOff, canOn := k.Off, k.On
	if s, ok := p.Sections[k.Name].(power.Sided); ok {
		canOff, canOn = s.Sides()
	}
	verb := "switch off"
	switch {
	case n.on && canOn, !n.on && canOff:
		return nil
	case n.on:
		verb = "power on"
	}
	return &power.FieldError{Field: n.field, Text: k.Name + " can't " + verb + "; set " + n.field + " to another driver"}
}
