package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/text"
	"lightsout/power"
)

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
	f.reportUnfit()
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
func (f *restorationFinder) find(of power.Cluster, path string, unfit error) *restoration {
	for _, r := range f.all {
		if r.of.Same(of) && r.journal.Config() == path && (r.unfit == nil) == (unfit == nil) {
			r.of.UID = cmp.Or(r.of.UID, of.UID)
			r.journal.Identify(power.Cluster{UID: r.of.UID})
			return r
		}
	}
	r, err := newRestoration(f.options, f.state, of, path, unfit)
	if err != nil {
		f.errs = append(f.errs, err)
	}
	f.all = append(f.all, r)
	return r
}

// of returns the restoration that an entry of the journal belongs to.
func (f *restorationFinder) of(e power.Entry) *restoration {
	path := f.configFor(e.Of(), f.here, e.Config)
	if e.Settings != "" && e.Settings == f.settings {
		path = f.AbsPath()
	}
	by := settingsOf{e.Of(), path, e.Settings}
	unfit, known := f.unfit[by]
	if !known {
		o := f.with(path)
		unfit = o.ownSettings(e.Of(), e.Settings, e.Config == "" || e.Config == o.AbsPath())
		f.unfit[by] = unfit
	}
	return f.find(e.Of(), path, unfit)
}

// fits returns an error unless the drivers of the present config file are those of the cluster, which
// --context or --kubeconfig may have chosen. They are if they have switched off machines of it.
func (f *restorationFinder) fits(of power.Cluster) error {
	used := slices.ContainsFunc(f.all, func(r *restoration) bool {
		return r.unfit == nil && r.of.Same(of) && r.journal.Config() == f.AbsPath() && len(r.left)+len(r.late) > 0
	})
	if used || f.Context == "" && f.Kubeconfig == "" {
		return nil
	}
	return f.ownSettings(of, "", false)
}

// reportUnfit adds an error for the machines whose drivers lightsout does not have.
func (f *restorationFinder) reportUnfit() {
	for _, r := range f.all {
		var nodes []string
		for _, l := range slices.Concat(r.left, r.late) {
			nodes = append(nodes, l.Node)
		}
		slices.Sort(nodes)
		what := text.List(slices.Compact(nodes))
		if what == "" && len(r.damaged) > 0 {
			what = "the machines in damaged lines of the journal"
		}
		if r.unfit != nil && what != "" {
			f.errs = append(f.errs, fmt.Errorf("lightsout neither polls nor switches %s of cluster %s: %w", what, power.Clean(cmp.Or(r.of.Name, "(unnamed)")), r.unfit))
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

// ownSettings returns an error unless the drivers of these settings are those of the machines of that
// cluster: the drivers of another one may know machines of the same names. used identifies the settings
// by which lightsout switched the machines off; it is empty if nobody knows them. Settings that differ
// from them have to lead to the same cluster. sameFile: they are in the file that switched the machines
// off.
func (o options) ownSettings(of power.Cluster, used string, sameFile bool) error {
	cfg, err := o.Read()
	if err != nil || used != "" && used == cfg.DriverSettings() {
		return nil // who uses settings that can't be read, reports that
	}
	file, leads, err := o.fileFirst()
	if err != nil {
		return err
	}
	here, noWay := clusterHere(leads)
	if noWay == nil && here.Same(of) {
		return nil
	}
	if noWay != nil && used == "" && sameFile {
		return nil // an earlier version wrote the journal, and there is nothing to compare
	}
	if noWay != nil && file.Kubeconfig == "" && leads.Context != "" && leads.Context == of.Name && o.Context == of.Name {
		return nil // there is no kubeconfig, and the operator names the cluster
	}
	return o.otherSettings(of, used, leads, here, noWay)
}

// fileFirst reads the config file without --context and --kubeconfig, and with each of them only if the
// file leaves its field open.
func (o options) fileFirst() (file, leads *config.Config, err error) {
	flags := o.Flags
	o.Context, o.Kubeconfig = "", ""
	file, err = o.Read()
	if err != nil {
		return nil, nil, err
	}
	if file.Context == "" {
		o.Context = flags.Context
	}
	if file.Kubeconfig == "" {
		o.Kubeconfig = flags.Kubeconfig
	}
	leads, err = o.Read()
	return file, leads, err
}

// otherSettings is the error of ownSettings. here is the cluster to which cfg leads, unless noWay.
func (o options) otherSettings(of power.Cluster, used string, cfg *config.Config, here power.Cluster, noWay error) error {
	name := power.Clean(cmp.Or(of.Name, "(unnamed)"))
	why := "the settings of bastion, ssh or power are not those that switched it off, and the config file " + power.Clean(o.AbsPath())
	if used == "" {
		why = "nothing shows that the drivers are those of its cluster: the config file " + power.Clean(o.AbsPath())
	}
	advice := "Name the config file of cluster " + name + " with --config"
	switch {
	case cfg.Context != "" && cfg.Context != of.Name:
		return fmt.Errorf("%s leads to context %s. %s", why, power.Clean(cfg.Context), advice)
	case cfg.Context == "":
		advice += "; if it is this one, add --context " + name
	default:
		advice += "; if it is this one, use: lightsout power on NODE"
	}
	switch {
	case noWay != nil:
		return fmt.Errorf("%s leads to no cluster (%w). %s", why, noWay, advice)
	case here.Name == of.Name:
		return fmt.Errorf("%s leads to another API server or CA than then. %s", why, advice)
	}
	return fmt.Errorf("%s leads to cluster %s. %s", why, power.Clean(here.Name), advice)
}
