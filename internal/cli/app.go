package cli

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/record"
	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
	"lightsout/power/ssh"
	"lightsout/tui"
)

// session is all the parts, built and handed to each other.
type app struct {
	opt     options
	config  *config.Config
	engine  *session.Engine
	watcher *cluster.Watcher
	ssh     *ssh.Client
	fleet   *power.Fleet
	journal *power.Journal
	load    *loadgen.Generator
	// drivers are those that were built from the configuration.
	drivers []power.Driver
	noPower string
	// dir is the session's record.
	dir string
	// left names what was still off when the session ended, cordoned what was
	// still cordoned by lightsout.
	left, cordoned []string
}

// newApp reads the configuration and builds the parts; it connects to
// nothing yet. Errors are one sentence each.
func newApp(o options) (_ *app, err error) {
	cfg, err := o.Read()
	if err != nil {
		return nil, err
	}
	s := &app{opt: o, config: cfg}
	defer func() {
		if err != nil {
			s.close()
		}
	}()

	// The engine comes first: the others call back into it.
	s.ssh, err = ssh.New(ssh.Options{
		Bastion: cfg.Bastion, ConfigFile: cfg.SSH.Config, User: cfg.SSH.User,
		IdentityFiles: cfg.SSH.IdentityFiles, KnownHosts: cfg.SSH.KnownHosts,
		AskSecret: s.askSecret, AskHostKey: s.askHostKey,
	})
	if err != nil {
		return nil, err
	}
	var dial func(context.Context, string, string) (net.Conn, error)
	if cfg.Bastion != "" {
		dial = s.dialBastion
	}
	access, err := cluster.LoadConfig(cluster.Options{Path: cfg.Kubeconfig, Context: cfg.Context, Dial: dial})
	if err != nil {
		return nil, err
	}
	state, err := cfg.StateDir()
	if err != nil {
		return nil, err
	}
	state = filepath.Join(state, fileName(access.Context))
	if s.dir, err = record.NewSessionDir(filepath.Join(state, "sessions"), time.Now()); err != nil {
		return nil, err
	}
	if s.journal, err = power.OpenJournal(state, access.Context); err != nil {
		return nil, err
	}
	topt := session.Options{
		Cluster: access.Context, Via: s.ssh.Via(), ReadOnly: o.readOnly, DryRun: o.dryRun,
		Production: cfg.Production || strings.Contains(strings.ToLower(access.Context), "production"),
		Dir:        s.dir,
	}
	if cfg.Pace != "real" {
		topt.Pace = cfg.Pace
	}
	if topt.Guards, err = cfg.Guards.Limits(); err != nil {
		return nil, err
	}
	if topt.TrialsDir, err = trialsDir(o, cfg, access.Context); err != nil {
		return nil, err
	}
	if topt.Plans, err = knownPlans(o.plans); err != nil {
		return nil, err
	}
	topt.Render = tui.NewPainter(tui.Options{Now: time.Now}).Paint
	if ns, name, ok := strings.Cut(cfg.Load.Deployment, "/"); ok {
		topt.Focus = cluster.Key{Namespace: ns, Name: name}
	}
	if err = s.buildPower(); err != nil {
		return nil, err
	}
	topt.NoPower = s.noPower
	if cfg.Load.URL == "" {
		topt.NoLoad = "no load can be sent: set load.url in lightsout.yaml"
	}
	if s.engine, err = session.NewEngine(topt); err != nil {
		return nil, err
	}
	if s.watcher, err = cluster.NewWatcher(access, cluster.WatchOptions{Namespaces: cfg.Namespaces, Sink: s.engine.Transition}); err != nil {
		return nil, err
	}
	if err = s.buildLoad(dial); err != nil {
		return nil, err
	}
	s.engine.SetParts(session.Parts{
		Watcher: s.watcher, Fleet: s.fleet, Journal: s.journal, Load: s.load, Rollout: s.watcher.RolloutRestart, Drain: s.watcher,
		Self: func(ctx context.Context) session.SelfInfo { return s.self(ctx, access.Server) },
	})
	return s, nil
}

var notFileName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileName makes a context's name fit for a folder.
func fileName(name string) string {
	name = strings.Trim(notFileName.ReplaceAllString(name, "_"), ".")
	if name == "" {
		return "cluster"
	}
	return name[:min(len(name), 100)]
}

// dialBastion connects through the bastion. A failure of the bastion is told in
// its own words: the cause beneath would be taken for the far end's.
func (s *app) dialBastion(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := s.ssh.DialContext(ctx, network, addr)
	var bastion *ssh.ConnectError
	var key *ssh.HostKeyError
	if errors.As(err, &bastion) || errors.As(err, &key) {
		return nil, &loadgen.WayError{Err: errors.New("through the bastion: " + err.Error())}
	}
	return c, err
}

func (s *app) buildPower() error {
	p := s.config.Power
	if p.Off == "" && p.On == "" && len(p.Nodes) == 0 {
		s.noPower = "machines can't be switched: set power.off_by and power.on_by in lightsout.yaml"
		return nil
	}
	var err error
	if s.drivers, err = p.Drivers(config.Parts{Bastion: s.ssh.DialContext}); err != nil {
		return err
	}
	bySSH := ssh.NewDriver(s.ssh, ssh.DriverOptions{Shutdown: s.config.SSH.Shutdown, NodeSilent: func(m power.Machine) bool {
		return s.engine != nil && s.engine.NodeSilent(m)
	}})
	s.fleet, err = power.NewFleet(power.Config{
		Cluster: s.config.Context, Off: p.Off, On: p.On, Nodes: p.FleetNodes(), ReadOnly: s.opt.readOnly, DryRun: s.opt.dryRun,
	}, s.journal, append(s.drivers, bySSH)...)
	return err
}

// windowsKept is how many seconds of load the screen can look back on: ten
// seconds a column fill a wide terminal.
const windowsKept = 1200

func (s *app) buildLoad(dial func(context.Context, string, string) (net.Conn, error)) error {
	l := s.config.Load
	if l.URL == "" {
		return nil
	}
	o, err := l.Options()
	if err != nil {
		return err
	}
	if l.ViaBastion == nil || *l.ViaBastion {
		o.Dial = dial
	}
	o.Backends, o.Sources, o.Capacity = s.backends, s.engine.Sources, s.engine.Capacity
	o.WindowLimit = windowsKept
	o.Record = s.engine.Record
	o.Fetch = func(ctx context.Context, namespace, pod string, port int32, path string) ([]byte, error) {
		return s.watcher.PodProxyGet(ctx, namespace, pod, int(port), path)
	}
	s.load, err = loadgen.New(o)
	return err
}

// backends are the engine's, which are asked for what the config says that they tell.
func (s *app) backends() []loadgen.Backend {
	all := s.engine.Backends()
	if m := s.config.Load.Metrics; m != nil {
		for i := range all {
			if !all[i].QueueProxy {
				m.Ask(&all[i])
			}
		}
	}
	return all
}

// self names this program's machine and the way to the cluster.
func (s *app) self(ctx context.Context, server string) session.SelfInfo {
	var info session.SelfInfo
	if name, err := os.Hostname(); err == nil {
		info.Names = append(info.Names, name)
	}
	// A lab's machines have addresses of their own world, which may be ours by chance.
	if addrs, err := net.InterfaceAddrs(); err == nil && s.config.Pace == "" {
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() {
				info.Addresses = append(info.Addresses, n.IP.String())
			}
		}
	}
	if s.config.Bastion != "" {
		info.BastionNames = s.ssh.BastionNames(ctx)
		info.BastionAddresses = s.ssh.BastionAddresses(ctx)
	}
	if u, err := url.Parse(server); err == nil && net.ParseIP(u.Hostname()) != nil {
		info.APIAddresses = []string{u.Hostname()}
	}
	return info
}

func (s *app) askHostKey(ctx context.Context, q ssh.HostKeyQuestion) (bool, error) {
	a, err := s.engine.Ask(ctx, view.Question{
		Kind: "hostkey", Title: "Trust the host key of " + q.Host + "?",
		Lines: []view.Line{
			{Text: q.KeyType + " key, fingerprint " + q.Fingerprint},
			{Text: "It is not in any known_hosts file. If yes, it is added to " + q.File + "."},
		},
		Choices: []view.Choice{{ID: "no", Label: "No"}, {ID: "yes", Label: "Trust and remember"}},
	})
	return a.Choice == "yes", err
}

func (s *app) askSecret(ctx context.Context, q ssh.SecretQuestion) (string, error) {
	choices := []view.Choice{{ID: "no", Label: "Skip this key"}, {ID: "yes", Label: "Unlock"}}
	if q.File == "" { // a password, which is sent and not kept
		choices = []view.Choice{{ID: "no", Label: "Give none"}, {ID: "yes", Label: "Send"}}
	}
	a, err := s.engine.Ask(ctx, view.Question{Kind: "secret", Title: q.Prompt, Secret: true, Choices: choices})
	if err != nil {
		return "", err
	}
	if a.Choice != "yes" {
		return "", errors.New("no answer was given")
	}
	return a.Typed, nil
}

// run runs all parts while show does; it ends when show returns, when ctx ends
// or when the operator leaves.
func (s *app) run(ctx context.Context, show func(context.Context) error) error {
	defer s.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var watched, ended error
	wg.Go(func() { watched = s.watcher.Run(ctx) })
	wg.Go(func() {
		defer cancel()
		ended = s.engine.Run(ctx)
	})
	err := show(ctx)
	cancel()
	wg.Wait()
	s.left, s.cordoned = s.engine.LeftOff(), s.engine.LeftCordoned()
	if err == nil || errors.Is(err, context.Canceled) {
		err = errors.Join(watched, ended)
	}
	return err
}

func (s *app) close() {
	if s.load != nil {
		s.load.Close()
	}
	for _, d := range s.drivers {
		config.Close(d)
	}
	if s.ssh != nil {
		_ = s.ssh.Close()
	}
	if s.journal != nil {
		_ = s.journal.Close()
	}
}
