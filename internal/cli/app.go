package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/record"
	"lightsout/internal/recorder"
	"lightsout/internal/session"
	"lightsout/internal/trial"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
	"lightsout/power/ssh"
)

// app is a session with all its parts, wired to each other, and the trials that
// can be run in it.
type app struct {
	opt      options
	config   *config.Config
	session  *session.Session
	trials   *trial.Runner
	outages  *recorder.Recorder // nil without a screen
	guest    session.Guest
	writer   *session.RecordWriter
	api      *cluster.Client
	watcher  *cluster.Watcher
	ssh      *ssh.Client
	machines *machines
	journal  *power.Journal
	load     *loadgen.Generator
	names    *record.Names // replaced in all that is kept; nil: none
	target   *session.Target
	// asked is closed once lightsout has asked the API server for the cluster's
	// identity.
	asked chan struct{}
	// dir is the session's record.
	dir string
	// kept is where pictures and timelines go that belong to no trial.
	kept string
	// drawn: the session is shown on the screen, not as lines.
	drawn bool
	// left is what was still off or cordoned when the session ended.
	left leftover
	// kubectl are the first words of a kubectl command for the cluster.
	kubectl []string
}

// newApp reads the configuration and builds the parts, each from those before
// it; it connects to nothing yet. Errors are one sentence each.
func newApp(o options) (_ *app, err error) {
	a := &app{opt: o, names: o.cast.names(), drawn: o.unprompted && o.drawn(), asked: make(chan struct{})}
	if !a.drawn {
		hidden.Store(a.names)
	}
	cfg, err := o.Read()
	if err != nil {
		return nil, err
	}
	a.config = cfg
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	questions := session.NewQuestions()
	w, err := reach(cfg, sshAsker{secret: askSecret(questions), warn: func(string) {}, keepGoing: o.powersOn})
	a.ssh = w.ssh
	if err != nil {
		return nil, err
	}
	if w.noAPI != nil {
		return nil, w.noAPI
	}
	a.api = w.api
	a.api.LogIn(context.Background())
	access := w.access
	if err = learnConfig(a.names, o, cfg, access, a.ssh.Via()); err != nil {
		return nil, err
	}
	if err = a.record(access); err != nil {
		return nil, err
	}
	narrowed := ""
	if cfg.Bastion == "" { // whose questions the screen asks, which does not run yet
		narrowed = narrow(context.Background(), cfg, a.api)
	}
	a.watcher = cluster.NewWatcher(a.api, cluster.WatchOptions{Namespaces: cfg.Namespaces, Sink: a.writer.Transition, Past: o.past})
	a.machines, err = newMachines(cfg, o, a.ssh, a.journal, func(m power.Machine) bool {
		return session.NodeSilent(a.watcher.Snapshot(), m, time.Now())
	})
	if err != nil {
		return nil, err
	}
	a.target = session.NewTarget(a.watcher, focus(cfg), time.Now)
	if err = a.newLoad(w.dial); err != nil {
		return nil, err
	}
	return a, a.newSession(access, questions, narrowed)
}

// record makes the session's record, and opens the journal.
func (a *app) record(access *cluster.Config) error {
	dir, err := clusterDir(a.config, access.Context)
	if err != nil {
		return err
	}
	a.dir, err = record.NewSessionDir(filepath.Join(dir, "sessions"), time.Now())
	if err != nil {
		return err
	}
	a.writer, err = session.NewRecordWriter(a.dir, time.Now)
	if err != nil {
		return err
	}
	a.writer.Redact(a.names)
	a.journal, err = openJournal(a.config, a.opt, clusterOf(access))
	return err
}

// shownPace is the pace that the screen and the records name: real goes without saying.
func shownPace(cfg *config.Config) string {
	if cfg.Pace == "real" {
		return ""
	}
	return cfg.Pace
}

// newSession makes the session, and the runner of its trials, from the parts.
func (a *app) newSession(access *cluster.Config, questions *session.Questions, narrowed string) (err error) {
	cfg := a.config
	opt := session.Options{
		Cluster: access.Context, Via: a.ssh.Via(), ReadOnly: a.opt.readOnly, DryRun: a.opt.dryRun, Production: production(cfg, access),
		RecordWriter: a.writer, Questions: questions, Watcher: a.watcher, Target: a.target,
		Fleet: a.machines.fleet, Journal: a.journal, NoPower: a.machines.missing, Guards: cfg.Guards.Limits,
		Self:    func(ctx context.Context) power.Self { return selfInfo(ctx, cfg, a.ssh, access) },
		Restore: a.opt.restore(cfg), Annotations: annotationsOf(cfg, func(context.Context) (*cluster.Client, error) { return a.api, nil }, a.watcher), Load: a.load, Rollout: a.api.RolloutRestart, Drain: a.api, Inspect: a.api,
		SSH: a.ssh.CommandTo, Around: around{a.opt, cfg, a.api}, Namespaces: view.Scope{Namespaces: cfg.Namespaces}.NamespacesText(), Narrowed: narrowed,
	}
	a.kubectl = []string{"kubectl", "--context", access.Context}
	if cfg.Kubeconfig != "" {
		a.kubectl = append(a.kubectl, "--kubeconfig", cfg.Kubeconfig)
	}
	opt.Kubectl = a.kubectl
	opt.Program = a.opt.CommandLine("", cfg)
	opt.RecordsOutages, opt.Pace = a.opt.unprompted, shownPace(cfg)
	if a.load == nil {
		opt.NoLoad = "no load can be sent: set load.url in lightsout.yaml"
	}
	trials := trial.Options{
		Cluster: opt.Cluster, Pace: opt.Pace, DryRun: opt.DryRun, Production: opt.Production,
		Restore: opt.Restore, Timeline: a.writer.Timeline(), Load: a.load, Names: a.names,
	}
	trials.Dir, err = trialsDir(a.opt, cfg, access.Context)
	if err != nil {
		return err
	}
	a.kept = filepath.Dir(trials.Dir)
	trials.Plans, err = knownPlans(a.opt.plans)
	if err != nil {
		return err
	}
	a.session = session.New(opt)
	a.newGuests(opt, trials)
	return nil
}

// focus returns the deployment that receives the configured load.
func focus(cfg *config.Config) cluster.Key { return keyOf(cfg.Load.Deployment) }

// keyOf is the key of an object in the config: namespace/name, or nothing.
func keyOf(text string) (k cluster.Key) {
	k.Namespace, k.Name, _ = strings.Cut(text, "/")
	return k
}

// windowsKept is how many seconds of load the screen can look back on: ten
// seconds a column fill a wide terminal.
const windowsKept = 1200

// newLoad creates the generator; nil without a URL.
func (a *app) newLoad(dial dialer) (err error) {
	l := a.config.Load
	if a.opt.noLoad {
		l.URL = ""
	}
	a.load, err = newGenerator(l, dial, a.writer, func(o *loadgen.Options) {
		o.Backends, o.Sources, o.Capacity = backends(a.target, l.Metrics), a.target.Sources, a.target.Capacity
		o.Fetch = func(ctx context.Context, namespace, pod string, port int32, path string) ([]byte, error) {
			return a.api.PodProxyGet(ctx, namespace, pod, int(port), path)
		}
	})
	return err
}

// newGenerator makes a generator whose requests go through the bastion, unless the config forbids
// that, and into a record; more adds what a caller knows besides. It is nil without a URL.
func newGenerator(l config.Load, dial dialer, rec *session.RecordWriter, more func(*loadgen.Options)) (*loadgen.Generator, error) {
	if l.URL == "" {
		return nil, nil
	}
	o, err := l.Options()
	if err != nil {
		return nil, err
	}
	if l.ViaBastion == nil || *l.ViaBastion {
		o.Dial = dial
	}
	o.WindowLimit, o.Record = windowsKept, rec.Request
	more(&o)
	return loadgen.New(o)
}

// backends returns the target's backends; those without a queue-proxy have the metrics that the config names.
func backends(target *session.Target, m *config.Metrics) func() []loadgen.Backend {
	if m == nil {
		return target.Backends
	}
	return func() []loadgen.Backend {
		all := target.Backends()
		for i := range all {
			if all[i].Metrics.Name == "" {
				m.Ask(&all[i])
			}
		}
		return all
	}
}

func askSecret(questions *session.Questions) func(context.Context, ssh.SecretQuestion) (string, error) {
	return func(ctx context.Context, q ssh.SecretQuestion) (string, error) {
		choices := []view.Choice{{ID: view.ChoiceNo, Label: "Skip this key"}, {ID: view.ChoiceYes, Label: "Unlock"}}
		if q.File == "" { // a password, which is sent and not kept
			choices = []view.Choice{{ID: view.ChoiceNo, Label: "Give no password"}, {ID: view.ChoiceYes, Label: "Send"}}
		}
		a, err := questions.Ask(ctx, view.Question{Kind: view.QuestionSecret, Title: q.Prompt, Secret: true, Choices: choices})
		if err != nil {
			return "", err
		}
		if a.Choice != view.ChoiceYes {
			return "", errors.New("the question was not answered")
		}
		return a.Typed, nil
	}
}

// run runs all parts while show runs. When show returns or ctx ends, the session ends
// in order: it aborts a running trial, which powers on its machines, and writes its
// record. A second signal, oneSignal later or more, ends it at once. The error is
// context.Canceled when it ended before show was done.
func (a *app) run(ctx context.Context, show func(context.Context) error) error {
	defer a.close()
	signals.inOrder.Store(true)
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var wg sync.WaitGroup
	var watched, ended error
	wg.Go(func() { watched = a.watcher.Run(inner) })
	wg.Go(func() { a.identify(inner) })
	wg.Go(func() {
		defer cancel()
		ended = a.session.Run(inner, a.guest)
	})
	var seen atomic.Int64 // the newest event when the end began
	end := func(why string) {
		if last := a.session.Timeline().Last(1); len(last) > 0 {
			seen.CompareAndSwap(0, int64(last[0].Seq))
		}
		a.session.Send(view.End{Why: why})
	}
	defer context.AfterFunc(ctx, func() {
		end("by a signal")
		again := make(chan os.Signal, 1)
		signal.Notify(again, endSignals...)
		defer signal.Stop(again)
		first := time.Now()
		for {
			select {
			case <-again:
				if time.Since(first) >= oneSignal {
					cancel()
					return
				}
			case <-inner.Done():
				return
			}
		}
	})()
	err := show(ctx)
	end("because the screen has gone")
	if a.drawn { // and so nothing has been printed
		a.tellEnd(int(seen.Load()))
	}
	wg.Wait()
	a.left, _ = leftBehind(a.journal) // an earlier line reported its error
	if err == nil || errors.Is(err, context.Canceled) {
		err = errors.Join(err, watched, ended)
	}
	return err
}

// oneSignal is the time within which several signals count as one: timeout(1) and some
// CI systems signal a program and then its process group.
const oneSignal = time.Second

// identifyEvery is the pause between two requests for the cluster's identity.
const identifyEvery = 5 * time.Second

// identify asks for the cluster's UID until it gets it: a credential or a permission
// may arrive late. Until then lightsout identifies the cluster by its kubeconfig.
func (a *app) identify(ctx context.Context) {
	asked := sync.OnceFunc(func() { close(a.asked) })
	for {
		id, err := a.api.Identity(ctx)
		if err == nil {
			a.journal.Identify(identified("", id))
		}
		asked()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(identifyEvery):
		}
	}
}

// tellEnd prints, as lines, the events from that number on, until the session has
// ended.
func (a *app) tellEnd(since int) {
	c := &console{out: stderr, lanes: []view.Lane{view.LaneOperator, view.LanePower}, printed: since}
	for range a.session.Frames() {
		c.events(a.session)
	}
	c.events(a.session)
}

// closeJournal closes a journal, and prints what it may lack.
func closeJournal(j *power.Journal) {
	if err := j.Close(); err != nil {
		fmt.Fprintln(stderr, "lightsout: "+power.Clean(err.Error()))
	}
}

func (a *app) close() {
	if a.load != nil {
		a.load.Close()
	}
	a.machines.close()
	if a.ssh != nil {
		_ = a.ssh.Close()
	}
	if a.journal != nil {
		closeJournal(a.journal)
	}
	if a.writer != nil {
		_ = a.writer.Close() // when it has not been run
	}
}
