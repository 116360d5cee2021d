package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/recorder"
	"lightsout/internal/recorder/reporting"
	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

func newRecorderCommand(o *options) *cobra.Command {
	var f config.Recorder
	cmd := &cobra.Command{
		Use:   "recorder",
		Short: "Watch a cluster, switch nothing, and record outages that nobody planned",
		Args:  takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkRecorderFlags(cmd.Flags().Changed, f); err != nil {
				return usageError{err}
			}
			return runRecorder(cmd.Context(), *o, f, cmd.OutOrStdout())
		},
	}
	o.clusterFlags(cmd)
	o.Bound(cmd.Flags())
	cmd.Flags().StringVar(&f.URL, "url", "", "request this `URL` by GET (default load.url, as the load keys do)")
	cmd.Flags().DurationVar(&f.Every, "every", 0, "send a request at this `interval` (default 1s)")
	cmd.Flags().DurationVar(&f.Steady, "steady", 0, "end a record after this `time` without a new sign (default 5m)")
	return cmd
}

// checkRecorderFlags holds the flags that were given to the rules of the config.
func checkRecorderFlags(given func(string) bool, f config.Recorder) error {
	switch {
	case given("every") && f.Every <= 0:
		return fmt.Errorf("--every %s: give a time above 0", f.Every)
	case given("steady") && f.Steady <= 0:
		return fmt.Errorf("--steady %s: give a time above 0", f.Steady)
	case f.URL != "" && config.WebAddress(f.URL) == nil:
		return fmt.Errorf("--url %s is not a URL; give one like http://10.0.0.11:31080/path", f.URL)
	}
	return nil
}

// hooksWait bounds how long the end of the recorder waits for its hooks.
const hooksWait = 20 * time.Second

// runRecorder watches and records until ctx ends. No power driver is made: the session
// has no fleet.
func runRecorder(ctx context.Context, o options, f config.Recorder, out io.Writer) error {
	cfg, err := o.Read()
	if err != nil {
		return err
	}
	set := recorderSettings(cfg, f)
	w, err := reachView(ctx, cfg)
	if err != nil {
		return err
	}
	defer w.close()
	access, api := w.access, w.api
	p, stop := newPrinter(out)
	defer stop()
	dir, unlock, err := openRecords(cfg, access.Context, p)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := session.NewRecordWriter("", time.Now)
	if err != nil {
		return err
	}
	hooks, status, end, err := newReports(set, p)
	if err != nil {
		return err
	}
	defer end()
	watcher := cluster.NewWatcher(api, cluster.WatchOptions{Namespaces: cfg.Namespaces, Sink: rec.Transition, Idle: recorder.AskEvery})
	load, err := newGenerator(probed(cfg, set), w.dial, rec, func(*loadgen.Options) {})
	if err != nil {
		return err
	}
	s := session.New(session.Options{
		Cluster: access.Context, Via: w.ssh.Via(), Namespaces: view.Scope{Namespaces: cfg.Namespaces}.NamespacesText(), ReadOnly: true,
		NoPower: "the recorder switches nothing", RecordWriter: rec, Questions: session.NewQuestions(), Watcher: watcher,
		Target: session.NewTarget(watcher, focus(cfg), time.Now), Load: load, Pace: shownPace(cfg),
	})
	elect, lease := newElection(api, set)
	guest := recorder.New(s.Controls(), recorder.Options{
		Cluster: access.Context, Pace: shownPace(cfg), Dir: dir, Timeline: rec.Timeline(), Load: load, Every: set.Every,
		Past: set.Past, PastBytes: set.MemoryMB << 20, Steady: set.Steady, KeepBytes: int64(set.KeepMB) << 20,
		Notify: hooks.Notify, Lease: lease, Health: status.Take, Print: p.print, Now: time.Now,
	})
	p.print("watching " + access.Context + "; records go to " + dir)
	return followCluster(ctx, watcher, elect, s, guest)
}

// openRecords returns the folder of the recorder's records, locked against another
// recorder, and prints which of them a killed recorder left.
func openRecords(cfg *config.Config, context string, p printer) (dir string, unlock func(), err error) {
	if dir, err = clusterDir(cfg, context); err != nil {
		return "", nil, err
	}
	dir = filepath.Join(dir, recorder.Folder)
	if unlock, err = recorder.Lock(dir); err != nil {
		return "", nil, err
	}
	for _, sentence := range recorder.Interrupted(dir) {
		p.print(sentence)
	}
	return dir, unlock, nil
}

// newElection returns what takes part in the election of the recorder that reports, until
// its context ends, and the state of the Lease. Without a Lease that is nil.
func newElection(api *cluster.Client, set config.Recorder) (run func(context.Context), state func() cluster.LeaseState) {
	if set.Lease == "" {
		return func(context.Context) {}, nil
	}
	l := api.NewLease(keyOf(set.Lease))
	return l.Run, l.State
}

// followCluster runs the watcher, the election and the session until ctx ends. Then the
// session ends at once: it waits for nothing, as a session does that has to power machines
// on. The election ends after it.
func followCluster(ctx context.Context, watcher *cluster.Watcher, elect func(context.Context), s *session.Session, guest session.Guest) error {
	signals.inOrder.Store(true)
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var wg sync.WaitGroup
	var watched error
	wg.Go(func() { watched = watcher.Run(inner) })
	wg.Go(func() { elect(inner) })
	err := s.Run(ctx, guest)
	cancel()
	wg.Wait()
	if err == nil && ctx.Err() == nil {
		err = watched
	}
	return err
}

// recorderSettings are those of the config, with the flags in their place.
func recorderSettings(cfg *config.Config, f config.Recorder) config.Recorder {
	r := &cfg.Recorder
	r.URL, r.Every, r.Steady = cmp.Or(f.URL, r.URL), cmp.Or(f.Every, r.Every), cmp.Or(f.Steady, r.Steady)
	return cfg.Recording()
}

// probed is the target of the recorder's requests.
func probed(cfg *config.Config, set config.Recorder) config.Load {
	l := cfg.Load
	if set.URL != "" {
		l = config.Load{Target: loadgen.Target{URL: set.URL, Host: l.Host}, CAFile: l.CAFile, ViaBastion: l.ViaBastion, Deployment: l.Deployment}
	}
	return l
}

// newReports starts the hooks, /healthz and /metrics.
func newReports(set config.Recorder, p printer) (h *reporting.Hooks, s *reporting.Status, end func(), err error) {
	source, err := set.Webhook.Source()
	if err != nil {
		return nil, nil, nil, usageError{err}
	}
	s = &reporting.Status{}
	stop, err := s.Serve(set.Listen, time.Now, p.print)
	if err != nil {
		return nil, nil, nil, err
	}
	h = &reporting.Hooks{Command: set.Command, URL: source, Format: reporting.Format(set.Webhook.Format), Fail: p.print}
	h.Start()
	return h, s, func() { stop(); h.Stop(hooksWait) }, nil
}

// printer prints lines with the time, in a goroutine of its own: a terminal or a pipe that
// is stuck delays no recording. It is safe for concurrent use.
type printer chan string

func newPrinter(out io.Writer) (p printer, stop func()) {
	p = make(printer, 1000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for line := range p {
			if line == "" {
				return
			}
			fmt.Fprintln(out, line)
		}
	}()
	return p, func() {
		timeout := time.After(time.Second)
		select {
		case p <- "": // a hook that hangs may still print
		case <-timeout:
		}
		select {
		case <-done:
		case <-timeout:
		}
	}
}

func (p printer) print(line string) {
	select {
	case p <- time.Now().UTC().Format("2006-01-02 15:04:05 UTC") + "  " + line:
	default: // the record has it too
	}
}
