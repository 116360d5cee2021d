package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/power"
	"lightsout/power/ssh"
)

// restoration is the work to undo in one cluster, with one configuration.
type restoration struct {
	of       power.Cluster
	config   *config.Config
	journal  *power.Journal
	client   *ssh.Client     // nil if the settings are unusable
	server   *cluster.Client // nil before api
	unfit    error           // why the drivers of the settings are not those of the machines; nil if they are
	certain  bool            // the API server has proven that it belongs to this cluster
	machines *machines       // has no fleet if the settings are unusable
	left     []power.LeftOff
	late     []power.LeftOff // on again, or their request was refused, but it may still switch them off
	// readings are those of the machines of left and late, by their first operation.
	readings map[string]power.Reading
	cordoned []power.Entry
	damaged  []power.Entry
	// back are nodes that the journal lists as off and that are on already; foreign are
	// nodes that are off but that this journal did not switch off.
	back    []string
	foreign []foreign
	// kept are annotations of this journal that are out of date and still on their nodes.
	kept []ownNote
	// chosen: the operator has decided which machines to power on, which to leave off,
	// and which nodes to uncordon.
	chosen                   bool
	on, leaveOff, uncordoned []string
	// withheld are the nodes of this journal that withhold leaves off. why is its reason, also
	// for the machines that it does not poll.
	withheld []string
	why      error
	// in names the cluster in each line, if there are several; empty for one.
	in string
	// unanswered: the API server did not answer in settingsWait, so the register of this
	// host has to suffice before lightsout powers on.
	unanswered bool
	// noWay: the configuration has no API server for this cluster.
	noWay bool
	// reader is the view of the cluster, if the restoration needs one; stop ends it.
	reader power.ClusterReader
	stop   func()
}

// foreign is a node whose machine is off but which this journal did not switch off. By
// is zero if lightsout cannot tell who did.
type foreign struct {
	node string
	by   power.Note
	off  bool // its driver reports it as off; otherwise lightsout has not asked
}

// String describes the machine, its power state, and who switched it off.
func (f foreign) String() string {
	if f.off {
		return f.node + " is off, and " + f.why()
	}
	return f.node + ": " + f.why() + "; lightsout has not asked whether it is off"
}

// why describes who switched the machine off.
func (f foreign) why() string {
	if f.by == (power.Note{}) {
		return "neither the journal nor an annotation nor this host's register names who switched it off"
	}
	return "it was switched off by " + f.by.String()
}

// restorations reads the journal of all clusters, and prepares to power their machines
// on with the configuration that switched them off.
func restorations(o options) ([]*restoration, error) {
	cfg, err := o.Read()
	if err != nil {
		return nil, err
	}
	state, err := cfg.StateDir()
	if err != nil {
		return nil, err
	}
	here, noWay := clusterHere(cfg)
	f := restorationFinder{options: o, state: state, here: here, settings: cfg.DriverSettings(), unfit: map[settingsOf]error{}}
	f.journal()
	f.damaged()
	// Machines that others switched off are reported too; that needs no driver.
	locks := power.OpenLocks(lockDir(cfg))
	registered, unread := locks.Registered()
	if path, n := locks.RegisterDamage(); n > 0 {
		warnOnce(fmt.Sprintf("%s of this host's register %s can't be read: a machine that another account or state folder switched off may be missing below; check the nodes that are not Ready",
			text.Count(n, "line", "lines"), path))
	}
	if unread != nil {
		f.errs = append(f.errs, fmt.Errorf("this host's register can't be read: %w", unread))
	}
	if noWay == nil {
		f.addCluster(here, f.AbsPath())
		return f.all, errors.Join(f.errs...)
	}
	if none := (*cluster.NoKubeconfigError)(nil); !errors.As(noWay, &none) {
		f.errs = append(f.errs, fmt.Errorf("lightsout reads no annotations on nodes, because %w", noWay))
	}
	for _, n := range registered { // the operator may mean any of these clusters
		f.addCluster(n.Cluster, f.AbsPath())
	}
	if len(f.all) == 0 {
		f.addCluster(here, f.AbsPath())
	}
	return f.all, errors.Join(f.errs...)
}

// restorationFinder finds the clusters that have something to be restored.
type restorationFinder struct {
	options
	state string        // the folder of the journal
	here  power.Cluster // that the configuration leads to
	// settings identifies the drivers' settings of the configuration.
	settings string
	all      []*restoration
	// unfit is the result of ownSettings, by its arguments and the config file.
	unfit map[settingsOf]error
	errs  []error
}

// settingsOf are a cluster, a config file, and the settings by which lightsout switched machines off.
type settingsOf struct {
	cluster          power.Cluster
	config, settings string
}

// journal reads which machines and nodes lightsout has left off or cordoned.
func (f *restorationFinder) journal() {
	j := power.OpenJournal(f.state, power.Cluster{}, "")
	defer j.Close()
	left, err := j.LeftOffAll()
	if err != nil {
		f.errs = append(f.errs, err)
	}
	for _, l := range left {
		r := f.of(l.Entry)
		r.left = append(r.left, l)
	}
	for _, l := range j.LateAll() {
		r := f.of(l.Entry)
		r.late = append(r.late, l)
	}
	cordoned, _ := j.LeftCordonedAll() // the same error as above
	for _, e := range cordoned {
		r := f.of(e)
		r.cordoned = append(r.cordoned, e)
	}
	f.reportUnfit()
}

// damaged finds the damaged lines of the journal. Their cluster is unknown: lightsout
// checks the cluster of the configuration.
func (f *restorationFinder) damaged() {
	named := f.here
	named.Name = cmp.Or(f.here.Name, "default")
	j := power.OpenJournal(f.state, named, "")
	defer j.Close()
	if damaged, _ := j.Damaged(); len(damaged) > 0 {
		f.find(named, f.AbsPath(), f.fits(named)).damaged = damaged
	}
}

// find returns the restoration of a cluster by a config file, which it makes if need be. unfit is why
// the drivers of that file are not those of the machines, and nil if they are.
// The first known UID becomes that of the restoration: an entry without one does not hide
// that the configuration may lead to another cluster now.
func (f *restorationFinder) find(of power.Cluster, config string, unfit error) *restoration {
	for _, r := range f.all {
		if r.of.Same(of) && r.journal.Config() == config && (r.unfit == nil) == (unfit == nil) {
			r.of.UID = cmp.Or(r.of.UID, of.UID)
			r.journal.Identify(power.Cluster{UID: r.of.UID})
			return r
		}
	}
	r, err := newRestoration(f.options, f.state, of, config, unfit)
	if err != nil {
		f.errs = append(f.errs, err)
	}
	f.all = append(f.all, r)
	return r
}

// of returns the restoration that an entry of the journal belongs to.
func (f *restorationFinder) of(e power.Entry) *restoration {
	config := f.configFor(e.Of(), f.here, e.Config)
	if e.Settings != "" && e.Settings == f.settings {
		config = f.AbsPath()
	}
	by := settingsOf{e.Of(), config, e.Settings}
	unfit, known := f.unfit[by]
	if !known {
		unfit = f.with(config).ownSettings(e.Of(), e.Settings)
		f.unfit[by] = unfit
	}
	return f.find(e.Of(), config, unfit)
}

// fits returns an error unless the drivers of the present config file are those of its cluster, which
// --context or --kubeconfig may have chosen.
func (f *restorationFinder) fits(of power.Cluster) error {
	if f.Context == "" && f.Kubeconfig == "" {
		return nil
	}
	return f.ownSettings(of, "")
}

// reportUnfit adds an error for the machines whose drivers lightsout does not have.
func (f *restorationFinder) reportUnfit() {
	for _, r := range f.all {
		var nodes []string
		for _, l := range slices.Concat(r.left, r.late) {
			nodes = append(nodes, l.Node)
		}
		slices.Sort(nodes)
		if r.unfit != nil && len(nodes) > 0 {
			f.errs = append(f.errs, fmt.Errorf("lightsout neither polls nor switches %s of cluster %s: %w", text.List(slices.Compact(nodes)), power.Clean(cmp.Or(r.of.Name, "(unnamed)")), r.unfit))
		}
	}
}

// addCluster adds a cluster that the journal has nothing of.
func (f *restorationFinder) addCluster(of power.Cluster, config string) {
	if slices.ContainsFunc(f.all, func(r *restoration) bool { return r.of.Same(of) }) {
		return
	}
	r, _ := newRestoration(f.options, f.state, of, config, f.fits(of))
	f.all = append(f.all, r)
}

// configFor returns the config file for a cluster: the file that the operator named, if
// it leads to that cluster, otherwise the file that was used for switching off.
func (o options) configFor(of, here power.Cluster, used string) string {
	if used == "" || o.File != "" && (here.CA == "" || here.Same(of)) {
		return o.AbsPath()
	}
	return used
}

// clusterHere returns the cluster of the configuration, as far as lightsout can
// identify it without asking; this command does not depend on it.
func clusterHere(cfg *config.Config) (power.Cluster, error) {
	access, err := apiAccess(cfg, nil)
	if err != nil {
		return power.Cluster{}, err
	}
	return clusterOf(access), nil
}

// newRestoration prepares to power on the machines of a cluster with the config file at path. If it
// cannot, it returns a restoration without a fleet, and an error with the reason. With unfit it builds
// no drivers.
func newRestoration(o options, state string, of power.Cluster, path string, unfit error) (*restoration, error) {
	r := &restoration{of: of, unfit: unfit, journal: power.OpenJournal(state, of, path), machines: &machines{}, readings: map[string]power.Reading{}}
	o = o.with(path)
	err := r.readSettings(o)
	if err == nil && unfit == nil {
		r.machines, err = newMachines(r.config, o, r.client, r.journal, nil)
	}
	return r, err
}

// with returns the options with that config file, if it is there.
func (o options) with(path string) options {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		o.File = path
	}
	return o
}

// readSettings reads the settings and prepares ssh.
func (r *restoration) readSettings(o options) (err error) {
	r.config, err = o.Read()
	if err != nil {
		return err
	}
	r.journal.Settings = r.config.DriverSettings()
	ask := newConsole(false, "")
	r.client, err = newSSH(r.config, sshAsker{secret: askOnTerminal(), hostKey: ask.hostKeys(), keepGoing: o.powersOn})
	return err
}

// ownSettings returns an error unless the drivers of these settings are those of the machines of that
// cluster: the drivers of another one may know machines of the same names. used identifies the settings
// by which lightsout switched the machines off. Settings that differ from them need to lead to the same
// cluster. --context and --kubeconfig count only if the config file names no other cluster.
func (o options) ownSettings(of power.Cluster, used string) error {
	cfg, err := o.Read()
	if err != nil || used != "" && used == cfg.DriverSettings() {
		return err
	}
	chosen, noWay := clusterHere(cfg)
	named := noWay == nil && chosen.Same(of) || noWay != nil && of.Name != "" && o.Context == of.Name
	o.Context, o.Kubeconfig = "", ""
	cfg, err = o.Read()
	if err != nil {
		return err
	}
	here, noWay := clusterHere(cfg)
	leads := noWay == nil && (cfg.Context != "" || cfg.Kubeconfig != "")
	fail := fmt.Sprintf("the settings of bastion, ssh or power are not those that switched it off, and the config file %s ", power.Clean(o.AbsPath()))
	name := power.Clean(cmp.Or(of.Name, "(unnamed)"))
	switch {
	case noWay == nil && here.Same(of):
		return nil
	case leads && here.Name == of.Name:
		return fmt.Errorf("%sleads to another server or CA than then. Name the config file of cluster %s with --config; if it is this one, use: lightsout power on NODE", fail, name)
	case leads || cfg.Context != "" && cfg.Context != of.Name:
		return fmt.Errorf("%snames cluster %s. Name the config file of cluster %s with --config", fail, power.Clean(cmp.Or(here.Name, cfg.Context)), name)
	case named:
		return nil
	}
	return fmt.Errorf("%sdoes not lead to that cluster. Name the cluster's config file with --config; if it is this one, add --context %s", fail, name)
}

func (r *restoration) close() {
	if r.stop != nil {
		r.stop()
	}
	r.machines.close()
	if r.server != nil {
		r.server.Close()
	}
	if r.client != nil {
		_ = r.client.Close()
	}
	_ = r.journal.Close()
}

// undo powers the machines on, and then uncordons the nodes.
func (r *restoration) undo(ctx context.Context) error {
	var failed error
	if len(r.on)+len(r.damaged) > 0 {
		if failed = r.powerOn(ctx); failed != nil && ctx.Err() != nil {
			return failed
		}
	}
	return errors.Join(failed, r.uncordon(ctx, failed))
}

func (r *restoration) powerOn(ctx context.Context) error {
	s, err := r.switcher(ctx)
	if err != nil {
		return err
	}
	return s.Restore(ctx, power.Request{
		Nodes: append([]string{}, r.on...), LeaveOff: r.leaveOff,
		Report: func(p power.Progress) { fmt.Printf("%s%s  %s\n", r.in, p.Node, p.Text) },
	}, power.Automatic{})
}

// switcher returns the Switcher that powers machines on. The Switcher has a view of the
// cluster if the journal lacks something and the cluster can be reached.
func (r *restoration) switcher(ctx context.Context) (*power.Switcher, error) {
	if r.machines.fleet == nil {
		return nil, fmt.Errorf("lightsout can power on no machine of cluster %s: %s", power.Clean(r.of.Name), cmp.Or(r.machines.missing, errNoSettings.Error()))
	}
	if r.reader == nil && len(r.damaged)+len(r.foreign) > 0 {
		if err := r.watch(ctx); err != nil {
			fmt.Println(err)
		}
	}
	return &power.Switcher{Fleet: r.machines.fleet, Journal: r.journal, Cluster: r.reader, Annotations: lateAnnotations{r}}, nil
}

// watch starts the view of the cluster.
func (r *restoration) watch(ctx context.Context) error {
	api, err := r.proven(ctx)
	if err != nil {
		return err
	}
	watcher := cluster.NewWatcher(api, cluster.WatchOptions{})
	stop, err := watch(ctx, watcher, viewWait)
	if err == nil {
		r.reader, r.stop = session.NewClusterReader(watcher, nil, time.Now), stop
	}
	return err
}

// lateAnnotations are the annotations in a cluster whose API server lightsout contacts only
// when it has to write one: powering on does not wait for it. Annotations that it
// cannot change stay until the next start.
type lateAnnotations struct{ r *restoration }

// Change changes the annotation on a node.
func (l lateAnnotations) Change(ctx context.Context, node string, change func(had power.Note) (power.Note, bool)) error {
	api, err := l.r.proven(ctx)
	if err != nil {
		return err
	}
	if m := annotationsOf(l.r.config, api, nil); m != nil {
		return m.Change(ctx, node, change)
	}
	return nil
}

// errNoSettings accompanies the error that has the reason.
var errNoSettings = errors.New("its settings can't be used")

// uncordon uncordons the chosen nodes, except those that lightsout could not power on.
func (r *restoration) uncordon(ctx context.Context, failed error) error {
	if len(r.uncordoned) == 0 {
		return nil
	}
	api, err := r.proven(ctx)
	reasons := power.FailedNodes(failed)
	var left []string
	for _, node := range r.uncordoned {
		none := failed != nil && len(reasons) == 0 && slices.Contains(r.on, node) // it was not even tried
		if none || reasons[node] != "" {
			left = append(left, node)
			continue
		}
		text, why := "", err
		if why == nil {
			text, why = session.Uncordon(ctx, api, r.journal, node)
		}
		if why != nil {
			fmt.Printf("%s  %v; by hand: kubectl uncordon %s\n", node, why, node)
			left = append(left, node)
			continue
		}
		fmt.Printf("%s  %s\n", node, text)
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	return fmt.Errorf("still cordoned: %s; repeat this command, or: kubectl uncordon %s", strings.Join(left, ", "), strings.Join(left, " "))
}
