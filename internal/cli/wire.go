package cli

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/loadgen"
	"lightsout/power"
	"lightsout/power/ssh"
)

// The functions of this file make one part each, from the configuration. A
// command makes those that it needs, in the order in which they stand here;
// none of them connects to anything.

// dialer connects to an address, directly or through the bastion.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// sshAsker answers what ssh has to ask; where a field is nil the answer is no.
type sshAsker struct {
	secret  func(context.Context, ssh.SecretQuestion) (string, error)
	hostKey func(context.Context, ssh.HostKeyQuestion) (bool, error)
}

// newSSH makes the client by which the bastion and the nodes are reached.
func newSSH(cfg *config.Config, ask sshAsker) (*ssh.Client, error) {
	return ssh.New(ssh.Options{
		Bastion: cfg.Bastion, ConfigFile: cfg.SSH.Config, User: cfg.SSH.User,
		IdentityFiles: cfg.SSH.IdentityFiles, KnownHosts: cfg.SSH.KnownHosts,
		AskSecret: ask.secret, AskHostKey: ask.hostKey,
	})
}

// bastionDialer connects through the client's bastion; nil when it has none. A
// failure of the bastion is told in its own words: the cause beneath would be
// taken for the far end's. What the bastion says of the far end is the far
// end's: it refuses, or there is no route to it.
func bastionDialer(client *ssh.Client) dialer {
	if client.Via() == "" {
		return nil
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := client.DialContext(ctx, network, addr)
		var bastion *ssh.ConnectError
		var key *ssh.HostKeyError
		var errno syscall.Errno
		switch {
		case errors.As(err, &bastion) && bastion.Host == addr && !bastion.Lost() && errors.As(err, &errno):
			return nil, err
		case bastion != nil || errors.As(err, &key):
			return nil, &loadgen.WayError{Err: errors.New("through the bastion: " + err.Error())}
		}
		return c, err
	}
}

// apiAccess reads the kubeconfig. Connections are made by dial unless it is nil.
func apiAccess(cfg *config.Config, dial dialer) (*cluster.Config, error) {
	return cluster.LoadConfig(cluster.Options{Path: cfg.Kubeconfig, Context: cfg.Context, Dial: dial})
}

// clusterDir is the folder of the records of sessions and trials of the cluster
// of that context.
func clusterDir(cfg *config.Config, context string) (string, error) {
	state, err := cfg.StateDir()
	return filepath.Join(state, fileName(context)), err
}

// openJournal opens the journal; it is made when it is not there.
func openJournal(cfg *config.Config, access *cluster.Config) (*power.Journal, error) {
	state, err := cfg.StateDir()
	if err != nil {
		return nil, err
	}
	return power.OpenJournal(state, power.Cluster{Name: access.Context}, ""), nil
}

// machines is what switches: the drivers, and the fleet above them.
type machines struct {
	fleet   *power.Fleet // nil when nothing can be switched
	missing string       // why, in one sentence
	ssh     *ssh.Driver
	drivers []power.Driver // those with settings of their own
}

// noPowerTodo is what to do where no machine can be switched.
const noPowerTodo = "set power.off_by and power.on_by in lightsout.yaml"

// newMachines makes the drivers that the configuration names. journal may be nil
// where nothing is switched; silent reports whether the cluster hears nothing of
// a machine's node, nil is never.
func newMachines(cfg *config.Config, o options, client *ssh.Client, journal *power.Journal, silent func(power.Machine) bool) (*machines, error) {
	p := cfg.Power
	m := &machines{ssh: ssh.NewDriver(client, ssh.DriverOptions{Shutdown: cfg.SSH.Shutdown, NodeSilent: silent})}
	if p.Off == "" && p.On == "" && len(p.Nodes) == 0 {
		m.missing = "machines can't be switched: " + noPowerTodo
		return m, nil
	}
	var err error
	if m.drivers, err = p.Drivers(config.Parts{Bastion: client.DialContext}); err != nil {
		return m, err
	}
	m.fleet, err = power.NewFleet(power.Config{
		Off: p.Off, On: p.On, Nodes: p.FleetNodes(), ReadOnly: o.readOnly, DryRun: o.dryRun,
	}, journal, append(m.drivers, m.ssh)...)
	return m, err
}

// close ends the drivers' connections; m may be nil.
func (m *machines) close() {
	if m == nil {
		return
	}
	for _, d := range m.drivers {
		config.Close(d)
	}
}

// production reports whether the cluster's name is to be typed before its
// machines are switched off.
func production(cfg *config.Config, access *cluster.Config) bool {
	return cfg.Production || strings.Contains(strings.ToLower(access.Context), "production")
}

// selfInfo names this program's machine and the way to the cluster, for the
// guards; it may look names up.
func selfInfo(ctx context.Context, cfg *config.Config, client *ssh.Client, access *cluster.Config) power.Self {
	var info power.Self
	if name, err := os.Hostname(); err == nil {
		info.Names = append(info.Names, name)
	}
	// A lab's machines have addresses of their own world, which may be ours by chance.
	if addrs, err := net.InterfaceAddrs(); err == nil && cfg.Pace == "" {
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() {
				info.Addresses = append(info.Addresses, n.IP.String())
			}
		}
	}
	if cfg.Bastion != "" {
		info.BastionNames = client.BastionNames(ctx)
		info.BastionAddresses = client.BastionAddresses(ctx)
	}
	if u, err := url.Parse(access.Server); err == nil && net.ParseIP(u.Hostname()) != nil {
		info.APIAddresses = []string{u.Hostname()}
	}
	return info
}
