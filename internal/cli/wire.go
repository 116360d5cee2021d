package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/record"
	"lightsout/loadgen"
	"lightsout/power"
	"lightsout/power/ssh"
)

// The functions of this file make one part each, from the configuration. A command
// calls those that it needs, in the order of this file; none of them opens a
// connection.

// dialer connects to an address, directly or through the bastion.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// sshAsker answers what ssh has to ask; where a field is nil the answer is no.
type sshAsker struct {
	secret func(context.Context, ssh.SecretQuestion) (string, error)
	// warn shows what of the keys is left out; nil prints it on standard error.
	warn func(sentence string)
	// keepGoing: a fault in the ssh configuration must not stop what needs no ssh.
	keepGoing bool
}

// newSSH makes the client by which the bastion and the nodes are reached.
func newSSH(cfg *config.Config, ask sshAsker) (*ssh.Client, error) {
	if ask.warn == nil {
		ask.warn = warnOnce
	}
	return ssh.New(ssh.Options{
		Bastion: cfg.Bastion, ConfigFile: cfg.SSH.Config, User: cfg.SSH.User,
		IdentityFiles: cfg.SSH.IdentityFiles, KnownHosts: cfg.SSH.KnownHosts,
		AskSecret: ask.secret, Warn: ask.warn, KeepGoing: ask.keepGoing,
	})
}

// warned are the warnings that warnOnce has printed.
var warned sync.Map

// warnOnce prints a warning on standard error, the same one once.
func warnOnce(line string) {
	if _, printed := warned.LoadOrStore(line, true); !printed {
		fmt.Fprintln(stderr, "lightsout: "+power.Clean(line))
	}
}

// bastionDialer connects through the client's bastion; nil when it has none. An error
// of the bastion keeps its text and hides its cause, which would look like an error of
// the far end. A refusal or a missing route that the bastion reports is an error of the
// far end.
func bastionDialer(client *ssh.Client) dialer {
	if client.Via() == "" {
		return nil
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := client.DialContext(ctx, network, addr)
		var bastion *ssh.ConnectError
		switch {
		case errors.As(err, &bastion) && bastion.Host == addr && !bastion.Lost() && errors.As(err, new(syscall.Errno)):
			return nil, err
		case bastion != nil:
			return nil, &loadgen.WayError{Err: errors.New("through the bastion: " + err.Error())}
		}
		return c, err
	}
}

// apiAccess reads the kubeconfig. Connections are made by dial unless it is nil.
func apiAccess(cfg *config.Config, dial dialer) (*cluster.Config, error) {
	return cluster.LoadConfig(cluster.Options{Path: cfg.Kubeconfig, Context: cfg.Context, Dial: dial})
}

// way is the way to the API server that a configuration leads to.
type way struct {
	ssh  *ssh.Client // by which the bastion and the nodes are reached
	dial dialer      // connects through the bastion; nil without one
	// here is the cluster as far as the kubeconfig identifies it.
	here   power.Cluster
	access *cluster.Config
	api    *cluster.Client
	noAPI  error // the reason why there is no api
}

// reach makes the clients of a way. The error is about that of ssh.
func reach(cfg *config.Config, ask sshAsker) (w way, err error) {
	w.ssh, err = newSSH(cfg, ask)
	if err != nil {
		return w, err
	}
	w.dial = bastionDialer(w.ssh)
	w.access, w.noAPI = apiAccess(cfg, w.dial)
	if w.noAPI == nil {
		w.here = clusterOf(w.access)
		w.api, w.noAPI = cluster.NewClient(w.access)
	}
	w.here.Name = cmp.Or(w.here.Name, cfg.Context, "default")
	if w.api != nil && ask.secret != nil && !ask.keepGoing {
		w.api.LogIn(context.Background())
	}
	return w, nil
}

// reachAPI is reach for a command that can do nothing without the API server.
func reachAPI(cfg *config.Config, ask sshAsker) (way, error) {
	w, err := reach(cfg, ask)
	if err == nil && w.noAPI != nil {
		w.close()
		err = w.noAPI
	}
	return w, err
}

func (w way) close() {
	if w.api != nil {
		w.api.Close()
	}
	_ = w.ssh.Close()
}

// reachView is reachAPI for a command that shows the cluster: it asks on the terminal, and
// prints that it shows one namespace only.
func reachView(ctx context.Context, cfg *config.Config) (way, error) {
	w, err := reachAPI(cfg, sshAsker{secret: askOnTerminal()})
	if err == nil {
		warnNarrowed(ctx, cfg, w.api)
	}
	return w, err
}

// warnNarrowed calls narrow and prints its reason on standard error.
func warnNarrowed(ctx context.Context, cfg *config.Config, api *cluster.Client) {
	if why := narrow(ctx, cfg, api); why != "" {
		warnOnce(why)
	}
}

// narrow has an account that sees no more than one namespace watch that of its context, and
// returns the reason; empty if nothing changes. The bastion may prompt for it.
func narrow(ctx context.Context, cfg *config.Config, api *cluster.Client) (why string) {
	if len(cfg.Namespaces) > 0 {
		return ""
	}
	only := api.OnlyNamespace(ctx)
	if only == "" {
		return ""
	}
	cfg.Namespaces = []string{only}
	return "the account may not list the pods of all namespaces, so lightsout watches " + only + ", the namespace of the kubeconfig's context; choose others with --namespace"
}

// clusterDir is the folder of the records of sessions and trials of the cluster
// of that context.
func clusterDir(cfg *config.Config, context string) (string, error) {
	state, err := cfg.StateDir()
	return filepath.Join(state, record.FolderName(context)), err
}

// openJournal opens the journal for a cluster; it is made when it is not there.
func openJournal(cfg *config.Config, o options, of power.Cluster) (*power.Journal, error) {
	state, err := cfg.StateDir()
	if err != nil {
		return nil, err
	}
	j := power.OpenJournal(state, of, o.AbsPath())
	j.Settings = cfg.DriverSettings()
	return j, nil
}

// identified returns the cluster with that identity.
func identified(name string, id cluster.Identity) power.Cluster {
	return power.Cluster{Name: name, UID: id.UID, CA: id.CA, Server: id.Server}
}

// clusterOf identifies the cluster of a kubeconfig without a request.
func clusterOf(access *cluster.Config) power.Cluster {
	return identified(access.Context, access.Identity())
}

// machines is what switches: the drivers, and the fleet above them.
type machines struct {
	fleet   *power.Fleet // nil when nothing can be switched
	missing string       // why, in one sentence
	ssh     *ssh.Driver
	drivers map[string]power.Driver // those with settings of their own
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
	m.drivers, err = p.Drivers(client.DialContext)
	if err != nil {
		return m, err
	}
	m.drivers[ssh.DriverName] = m.ssh
	// Without locks nothing is switched off, but powering on goes its way.
	locks := power.OpenLocks(hostDir)
	m.fleet, err = power.NewFleet(power.Config{
		Off: p.Off, On: p.On, Nodes: p.FleetNodes(), ReadOnly: o.readOnly, DryRun: o.dryRun, Locks: locks, WayBack: o.CommandLine("restore", cfg),
	}, journal, m.drivers)
	return m, err
}

// labAuthority is the common name of the certificate authority of every lab
// (cluster/lab/controlplane).
const labAuthority = "lightsout-lab"

// hostDir is power.LockDir; a test may replace it.
var hostDir = power.LockDir

// close ends the drivers' connections; m may be nil.
func (m *machines) close() {
	if m == nil {
		return
	}
	for _, d := range m.drivers {
		config.Close(d)
	}
}

// production reports whether the operator must type the cluster's name before lightsout
// switches its machines off: the config marks it, or the context's name has the word prod
// or production.
func production(cfg *config.Config, access *cluster.Config) bool {
	name := strings.ToLower(access.Context)
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) })
	return cfg.Production || slices.Contains(cfg.ProductionContexts, access.Context) || slices.Contains(words, "prod") || strings.Contains(name, "production")
}

// selfInfo names this program's machine and the way to the cluster, for the
// guards; it may look names up.
func selfInfo(ctx context.Context, cfg *config.Config, client *ssh.Client, access *cluster.Config) power.Self {
	var info power.Self
	if name, err := os.Hostname(); err == nil {
		info.Names = append(info.Names, name)
	}
	lab := access.Authority() == labAuthority
	// A lab's machines have addresses of their own world, which may be ours by chance.
	if addrs, err := net.InterfaceAddrs(); err == nil && !lab {
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() {
				info.Addresses = append(info.Addresses, n.IP.String())
			}
		}
	}
	// A pod may also have a kubeconfig: of its own cluster, or of another one.
	node, inPod := os.Getenv("NODE_NAME"), access.Context == "in-cluster" || os.Getenv("KUBERNETES_SERVICE_HOST") != "" && !lab
	switch {
	case inPod && node != "":
		info.Names = append(info.Names, node)
	case inPod:
		info.Unknown = append(info.Unknown, "lightsout runs in a pod, and its node is unknown (set NODE_NAME from spec.nodeName)")
	}
	if cfg.Bastion != "" {
		bastion := client.BastionIdentity(ctx)
		info.BastionNames, info.BastionAddresses = bastion.Names, bastion.Addresses
		for _, hop := range bastion.Unknown {
			info.Unknown = append(info.Unknown, "The addresses of "+hop+", on the way to the cluster, are unknown: lightsout cannot tell whether it is one of these machines")
		}
	}
	u, err := url.Parse(access.Server)
	switch {
	case err != nil:
	case net.ParseIP(u.Hostname()) != nil:
		info.APIAddresses = []string{u.Hostname()}
	default:
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		info.APIAddresses, err = net.DefaultResolver.LookupHost(ctx, u.Hostname())
		if cfg.Bastion != "" { // the bastion makes the connection, so its name service decides
			var there []string
			there, err = client.LookupHost(ctx, u.Hostname())
			info.APIAddresses = append(info.APIAddresses, there...)
		}
		if err != nil {
			info.Unknown = append(info.Unknown, "The addresses of the API server "+u.Hostname()+" are unknown, so lightsout cannot tell whether it is one of these machines")
		}
	}
	return info
}

// lookupTimeout bounds the question to a name service.
const lookupTimeout = 5 * time.Second

// annotations puts notes on nodes by the API server.
type annotations struct {
	api     func(context.Context) (*cluster.Client, error)
	watcher *cluster.Watcher
}

// annotationsOf returns the NoteStore that annotates nodes; nil if the configuration switches
// that off (guards.annotate: false). api is asked for the client only when there is something to write.
func annotationsOf(cfg *config.Config, api func(context.Context) (*cluster.Client, error), watcher *cluster.Watcher) power.NoteStore {
	if a := cfg.Guards.Annotate; a != nil && !*a {
		return nil
	}
	return annotations{api, watcher}
}

// Change changes the note on a node.
func (m annotations) Change(ctx context.Context, node string, change func(had string) (string, bool)) error {
	api, err := m.api(ctx)
	if err != nil {
		return err
	}
	put := false
	err = api.Annotate(ctx, node, power.AnnotationSwitchedOff, func(had string) (string, bool) {
		text, write := change(had)
		put = write && text != ""
		return text, write
	})
	switch {
	case cluster.IsForbidden(err):
		return power.ErrMayNot
	case cluster.IsGone(err) && !put:
		return nil
	case err != nil || !put || m.watcher == nil:
		return err
	}
	// Changes are seen in their order: with our own, all before it.
	for ctx.Err() == nil {
		s := m.watcher.Snapshot()
		if s != nil && s.Node(node) != nil && s.Node(node).Annotations[power.AnnotationSwitchedOff] != "" {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("lightsout does not see the annotation on %s yet: its view of the cluster lags", node)
}
