package config

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"lightsout/loadgen"
	"lightsout/power"
)

// Drivers builds every driver that is configured or named, besides those that
// need more than a configuration. They connect to nothing yet; bastion dials
// through the bastion. On an error, none is left open.
func (p *Power) Drivers(bastion power.Dial) (map[string]power.Driver, error) {
	out := map[string]power.Driver{}
	for _, k := range power.Kinds() {
		d, err := p.build(k, power.Site{Bastion: bastion, Secret: secretSource})
		if err != nil {
			for _, built := range out {
				Close(built)
			}
			return nil, err
		}
		if d != nil {
			out[k.Name] = d
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
func (p *Power) build(k power.DriverSpec, site power.Site) (power.Driver, error) {
	section := p.Sections[k.Name]
	if section == nil {
		return nil, nil
	}
	site.Nodes = map[string]any{}
	for name, n := range p.Nodes {
		if own := n.Own[k.Name]; own != nil {
			site.Nodes[name] = own
		}
	}
	d, err := section.Build(site)
	if err != nil {
		return nil, err // and no driver, which may be a nil pointer
	}
	return d, nil
}

// drivers checks the files and secrets of the power drivers and of the load.
func (c *Config) drivers(wrong fault) {
	site := power.Site{Secret: func(s power.Secret) (power.Source, error) {
		read, err := secretSource(s)
		if err == nil && read != nil {
			_, err := read()
			field := s.Field + "_file"
			if s.Env != "" {
				field = s.Field + "_env"
			}
			wrong.of(field, err)
		}
		return read, err
	}}
	for _, k := range power.Kinds() {
		d, err := c.Power.build(k, site)
		wrong.of("power."+k.Name, err)
		Close(d)
	}
	_, err := c.Load.APIKey()
	wrong.of("load.api_key_file", err)
	wrong.of("load", c.Load.ReadFiles(&loadgen.Options{}))
}

// ways checks the files and addresses that lead to the cluster and its hosts. It leaves
// out known_hosts, which lightsout makes.
func (c *Config) ways(wrong fault) {
	if c.Bastion != "" && strings.Trim(c.Bastion, "0123456789") == "" || strings.ContainsAny(c.Bastion, " \t") || badPort(strings.TrimPrefix(c.Bastion, "ssh://")) {
		wrong("bastion", "bastion: %q is not a host; write user@host:port or an alias of the ssh configuration", c.Bastion)
	}
	c.Power.shared(wrong)
	exists := func(field, file string) {
		if _, err := os.Stat(file); file != "" && errors.Is(err, fs.ErrNotExist) {
			wrong(field, "%s: %s does not exist; correct its path", field, file)
		}
	}
	exists("kubeconfig", c.Kubeconfig)
	for _, file := range c.SSH.IdentityFiles {
		exists("ssh.identity_files", file)
	}
}

// FleetNodes returns the settings of the nodes for the fleet; the drivers use the other
// ones.
func (p *Power) FleetNodes() map[string]power.NodeConfig {
	out := make(map[string]power.NodeConfig, len(p.Nodes))
	for name, n := range p.Nodes {
		out[name] = n.NodeConfig
	}
	return out
}
