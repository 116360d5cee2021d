package cli

import (
	"context"
	"errors"
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
	opt      options
	config   *config.Config
	engine   *session.Engine
	api      *cluster.Client
	watcher  *cluster.Watcher
	ssh      *ssh.Client
	machines *machines
	journal  *power.Journal
	load     *loadgen.Generator
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
	if s.ssh, err = newSSH(cfg, sshAsker{s.askSecret, s.askHostKey}); err != nil {
		return nil, err
	}
	dial := bastionDialer(s.ssh)
	access, err := apiAccess(cfg, dial)
	if err != nil {
		return nil, err
	}
	dir, err := clusterDir(cfg, access.Context)
	if err != nil {
		return nil, err
	}
	if s.dir, err = record.NewSessionDir(filepath.Join(dir, "sessions"), time.Now()); err != nil {
		return nil, err
	}
	if s.journal, err = openJournal(cfg, access); err != nil {
		return nil, err
	}
	topt := session.Options{
		Cluster: access.Context, Via: s.ssh.Via(), ReadOnly: o.readOnly, DryRun: o.dryRun,
		Production: production(cfg, access), Dir: s.dir,
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
	s.machines, err = newMachines(cfg, o, s.ssh, s.journal, func(m power.Machine) bool { return s.engine != nil && s.engine.NodeSilent(m) })
	if err != nil {
		return nil, err
	}
	topt.NoPower = s.machines.missing
	if cfg.Load.URL == "" {
		topt.NoLoad = "no load can be sent: set load.url in lightsout.yaml"
	}
	if s.engine, err = session.NewEngine(topt); err != nil {
		return nil, err
	}
	if s.api, err = cluster.NewClient(access); err != nil {
		return nil, err
	}
	s.watcher = cluster.NewWatcher(s.api, cluster.WatchOptions{Namespaces: cfg.Namespaces, Sink: s.engine.Transition})
	if err = s.buildLoad(dial); err != nil {
		return nil, err
	}
	s.engine.SetParts(session.Parts{
		Watcher: s.watcher, Fleet: s.machines.fleet, Journal: s.journal, Load: s.load, Rollout: s.api.RolloutRestart, Drain: s.api,
		Self: func(ctx context.Context) power.Self { return selfInfo(ctx, cfg, s.ssh, access) },
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

// windowsKept is how many seconds of load the screen can look back on: ten
// seconds a column fill a wide terminal.
const windowsKept = 1200

func (s *app) buildLoad(dial dialer) error {
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
		return s.api.PodProxyGet(ctx, namespace, pod, int(port), path)
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

func (s *app) askHostKey(ctx context.Context, q ssh.HostKeyQuestion) (bool, error) {
	a, err := s.engine.Ask(ctx, view.Question{
		Kind: view.QuestionHostKey, Title: "Trust the host key of " + q.Host + "?",
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
	a, err := s.engine.Ask(ctx, view.Question{Kind: view.QuestionSecret, Title: q.Prompt, Secret: true, Choices: choices})
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
	s.machines.close()
	if s.ssh != nil {
		_ = s.ssh.Close()
	}
	if s.journal != nil {
		_ = s.journal.Close()
	}
}
