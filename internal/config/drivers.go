package config

import (
	"context"
	"errors"
	"net"

	"lightsout/power"
	"lightsout/power/driver/exec"
	"lightsout/power/driver/fence"
	"lightsout/power/driver/ipmi"
	"lightsout/power/driver/mdx"
	"lightsout/power/driver/openstack"
	"lightsout/power/driver/redfish"
	"lightsout/power/driver/vagrant"
	"lightsout/power/driver/wol"
)

// Parts is what drivers are built with besides their configuration.
type Parts struct {
	// Bastion dials through the bastion.
	Bastion func(ctx context.Context, network, addr string) (net.Conn, error)
	// files: files may be read.
	files bool
}

// partsForCheck are for drivers that are built only to see whether they can be.
var partsForCheck = Parts{}

func (p Parts) dial(viaBastion bool) func(ctx context.Context, network, addr string) (net.Conn, error) {
	if viaBastion {
		return p.Bastion
	}
	return nil
}

// Drivers builds every driver that is configured or named, besides ssh, which
// needs more than a configuration. They connect to nothing yet. On an error,
// none is left open.
func (p *Power) Drivers(parts Parts) ([]power.Driver, error) {
	parts.files = true
	var out []power.Driver
	for _, name := range driverNames {
		d, err := p.build(name, parts)
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

// closer is a driver that keeps something open.
type closer interface{ Close() }

// Close closes a driver that keeps something open.
func Close(d power.Driver) {
	if c, ok := d.(closer); ok {
		c.Close()
	}
}

// build builds one driver, or none where it is neither configured nor named.
func (p *Power) build(name string, parts Parts) (power.Driver, error) {
	used := p.uses(name)
	switch name {
	case mdx.DriverName:
		if p.MDX != nil {
			return p.MDX.driver(parts)
		}
	case fence.DriverName:
		if p.Fence != nil {
			return driver(fence.New(p.fence()))
		}
	case exec.DriverName:
		if c := p.Exec; c != nil {
			return driver(exec.New(exec.Options{
				State: c.State, On: c.On, Off: c.Off, Shutdown: c.Shutdown, ProvesOff: c.ProvesOff, SecretEnv: c.SecretEnv,
			}))
		}
	case wol.DriverName:
		if p.WOL != nil || used {
			return driver(wol.New(p.wol()))
		}
	case vagrant.DriverName:
		if p.Vagrant != nil || used {
			c := orZero(p.Vagrant)
			return driver(vagrant.New(vagrant.Options{Dir: c.Dir, Command: c.Command}))
		}
	case redfish.DriverName:
		if p.Redfish != nil {
			return driver(redfish.New(p.redfish(parts)))
		}
	case ipmi.DriverName:
		if c := p.IPMI; c != nil {
			return driver(ipmi.New(ipmi.Options{
				Address: c.Address, BMCs: p.bmcs(), User: c.User, Password: secretFrom("the password of power.ipmi", c.PasswordFile, c.PasswordEnv),
			}))
		}
	case openstack.DriverName:
		if p.OpenStack != nil || used {
			c := orZero(p.OpenStack)
			return driver(openstack.New(openstack.Options{
				Cloud: c.Cloud, CloudsFile: c.CloudsFile, Region: c.Region, Dial: parts.dial(c.ViaBastion),
			}))
		}
	}
	return nil, nil
}

// driver makes of a typed nil, which comes with an error, a plain one.
func driver[D power.Driver](d D, err error) (power.Driver, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// secretFrom reads a secret whenever it is asked for, so that a new one counts
// at once; nil when there is none.
func secretFrom(what, file, env string) func() (string, error) {
	if file == "" && env == "" {
		return nil
	}
	return func() (string, error) {
		s, err := ReadSecret(what, file, env)
		if err == nil && s == "" {
			err = errors.New(what + " is empty")
		}
		return s, err
	}
}

func (m *mdxConfig) driver(parts Parts) (power.Driver, error) {
	opt := mdx.Options{URL: m.URL, Project: m.Project, Dial: parts.dial(m.ViaBastion)}
	switch {
	case m.TokenEnv != "":
		opt.Token = mdx.TokenEnv(m.TokenEnv)
	case m.TokenFile != "":
		opt.Token = mdx.TokenFile(m.TokenFile)
	case !parts.files:
		return nil, nil // told when it is needed
	default:
		return nil, errors.New("power.mdx has no token: set token_file or token_env")
	}
	if m.URL == "" && !parts.files {
		return nil, nil
	}
	return driver(mdx.New(opt))
}

func (p *Power) fence() fence.Options {
	opt := fence.Options{
		Agent: p.Fence.Agent, Params: texts(p.Fence.Params),
		Secrets: map[string]func() (string, error){}, Nodes: map[string]fence.Node{},
	}
	for name, s := range p.Fence.Secrets {
		opt.Secrets[name] = secretFrom("power.fence.secrets."+name, s.File, s.Env)
	}
	for name, n := range p.Nodes {
		if n.Plug != "" || len(n.Params) > 0 {
			opt.Nodes[name] = fence.Node{Plug: string(n.Plug), Params: texts(n.Params)}
		}
	}
	return opt
}

func (p *Power) wol() wol.Options {
	c := orZero(p.WOL)
	opt := wol.Options{
		Broadcast: c.Broadcast, MACs: map[string]string{},
		Password: secretFrom("the password of power.wol", c.PasswordFile, c.PasswordEnv),
	}
	for name, n := range p.Nodes {
		if n.MAC != "" {
			opt.MACs[name] = n.MAC
		}
	}
	return opt
}

func (p *Power) redfish(parts Parts) redfish.Options {
	c := p.Redfish
	opt := redfish.Options{
		URL: c.URL, System: c.System, BMCs: p.bmcs(), User: c.User, Session: c.Auth == "session",
		Password:     secretFrom("the password of power.redfish", c.PasswordFile, c.PasswordEnv),
		Fingerprints: c.CertSHA256, Dial: parts.dial(c.ViaBastion),
	}
	if parts.files {
		opt.CAFile = c.CAFile
	}
	return opt
}

// bmcs are the nodes' controllers.
func (p *Power) bmcs() map[string]string {
	out := map[string]string{}
	for name, n := range p.Nodes {
		if n.BMC != "" {
			out[name] = n.BMC
		}
	}
	return out
}

// FleetNodes is what the fleet is told of nodes; the rest is the drivers'.
func (p *Power) FleetNodes() map[string]power.NodeConfig {
	out := make(map[string]power.NodeConfig, len(p.Nodes))
	for name, n := range p.Nodes {
		out[name] = power.NodeConfig{Machine: n.Machine, Address: n.Address, ServiceLevel: n.ServiceLevel, Off: n.Off, On: n.On}
	}
	return out
}
