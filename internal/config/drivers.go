package config

import (
	"slices"

	"lightsout/loadgen"
	"lightsout/power"
)

// Drivers builds every driver that is configured or named, besides those that
// need more than a configuration. They connect to nothing yet; bastion dials
// through the bastion. On an error, none is left open.
func (p *Power) Drivers(bastion power.Dial) ([]power.Driver, error) {
	var out []power.Driver
	for _, k := range power.Kinds() {
		d, err := p.build(k, power.Site{Bastion: bastion, Secret: secretSource})
		if err != nil {
			for _, built := range out {
				Close(built)
			}
			return nil, err
		}
		if d != nil {
			out = append(out, d)
		}
	}
	return out, nil
}

// Close closes a driver that keeps something open; d may be nil.
func Close(d power.Driver) {
	if c, ok := d.(interface{ Close() }); ok {
		c.Close()
	}
}

// build builds one driver, or none where it is neither configured nor named.
func (p *Power) build(k power.Kind, site power.Site) (power.Driver, error) {
	if k.Section == nil || p.Sections[k.Name] == nil && !slices.ContainsFunc(p.named(), func(n naming) bool { return n.driver == k.Name }) {
		return nil, nil
	}
	site.Nodes, site.Lab = map[string]any{}, p.lab
	for name, n := range p.Nodes {
		if own := n.Own[k.Name]; own != nil {
			site.Nodes[name] = own
		}
	}
	d, err := p.section(k).Build(site)
	if err != nil {
		return nil, err // and no driver, which may be a nil pointer
	}
	return d, nil
}

// FileFaults tells what is wrong with the files and secrets that a config names,
// as they now are. It connects to nothing.
func (c *Config) FileFaults() []error {
	var faults []error
	tell := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	site := power.Site{Secret: func(s power.Secret) (func() (string, error), error) {
		read, err := secretSource(s)
		if err == nil && read != nil {
			_, err := read()
			tell(err)
		}
		return read, err
	}}
	for _, k := range power.Kinds() {
		d, err := c.Power.build(k, site)
		tell(err)
		Close(d)
	}
	_, err := c.Load.APIKey()
	tell(err)
	tell(c.Load.ReadFiles(&loadgen.Options{}))
	return faults
}

// FleetNodes is what the fleet is told of nodes; the rest is the drivers'.
func (p *Power) FleetNodes() map[string]power.NodeConfig {
	out := make(map[string]power.NodeConfig, len(p.Nodes))
	for name, n := range p.Nodes {
		out[name] = n.NodeConfig
	}
	return out
}
