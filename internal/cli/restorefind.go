package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
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
	if info, err := os.Stat(o.State); o.State != "" && (err != nil || !info.IsDir()) {
		return nil, fmt.Errorf("the state folder %s does not exist or is not a folder: name the folder of the command that switched off with --state", power.Clean(o.State))
	}
	here, noWay := clusterHere(cfg)
	f := restorationFinder{options: o, state: state, here: here, settings: cfg.DriverSettings(), unfit: map[settingsOf]error{}}
	f.journal()
	f.damaged()
	f.reportUnfit()
	if noWay == nil {
		f.addCluster(here, f.AbsPath())
		return f.all, errors.Join(f.errs...)
	}
	if none := (*cluster.NoKubeconfigError)(nil); !errors.As(noWay, &none) || os.Getenv("KUBECONFIG") != "" {
		f.errs = append(f.errs, fmt.Errorf("lightsout reads no annotations on nodes, because %w", noWay))
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
		unfit = o.ownSettings(e.Of(), e.Settings, e.Config == o.AbsPath())
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
// by which lightsout switched the machines off; it is empty if an earlier version wrote the journal.
// Settings that differ from them have to lead to the same cluster. Without any kubeconfig
// the operator may name the cluster instead. sameFile: they are in the file that switched the machines
// off.
func (o options) ownSettings(of power.Cluster, used string, sameFile bool) error {
	cfg, err := o.Read()
	if err != nil || used != "" && used == cfg.DriverSettings() {
		return nil // who uses settings that can't be read, reports that
	}
	w, err := o.way()
	if err != nil {
		return err
	}
	here, noWay := clusterHere(w.leads)
	if noWay == nil && here.Same(of) {
		return nil
	}
	named := w.leads.Context == of.Name && o.Context == of.Name && of.Name != ""
	early := used == "" && sameFile && (w.leads.Context == "" || w.leads.Context == of.Name)
	if w.noKubeconfig(noWay) && (named || early) {
		return nil
	}
	return o.otherSettings(of, used, w, here, noWay)
}

// way is how a configuration leads to a cluster: by its file first. --context and --kubeconfig count
// for what that file leaves open.
type way struct {
	file  *config.Config // without the flags
	leads *config.Config
}

func (o options) way() (w way, err error) {
	flags := o.Flags
	o.Context, o.Kubeconfig = "", ""
	w.file, err = o.Read()
	if err != nil {
		return w, err
	}
	if w.file.Context == "" {
		o.Context = flags.Context
	}
	if w.file.Kubeconfig == "" {
		o.Kubeconfig = flags.Kubeconfig
	}
	w.leads, err = o.Read()
	return w, err
}

// noKubeconfig reports whether lightsout found no kubeconfig: the usual places have none, and neither file
// nor flag names one. noWay is the error of looking for it.
func (w way) noKubeconfig(noWay error) bool {
	none := (*cluster.NoKubeconfigError)(nil)
	return errors.As(noWay, &none) && w.leads.Kubeconfig == ""
}

// otherSettings is the error of ownSettings. here is the cluster to which w leads, unless noWay.
func (o options) otherSettings(of power.Cluster, used string, w way, here power.Cluster, noWay error) error {
	name := power.Clean(cmp.Or(of.Name, "(unnamed)"))
	why := "the settings of bastion, ssh or power are not those that switched it off, and "
	if used == "" {
		why = "nothing shows that the drivers are those of its cluster: "
	}
	file := "the config file " + power.Clean(o.AbsPath())
	advice := "Name the config file of cluster " + name + " with --config"
	byHand := "; if it is this one, use: lightsout power on NODE --context " + name
	switch {
	case w.noKubeconfig(noWay) && w.file.Context != "" && w.file.Context != of.Name:
		return fmt.Errorf("%s%s leads to context %s. %s; if it is this one, correct context in it and add --context %s", why, file, power.Clean(w.file.Context), advice, name)
	case w.file.Context != "" && w.file.Context != of.Name:
		return fmt.Errorf("%s%s leads to context %s. %s%s", why, file, power.Clean(w.file.Context), advice, byHand)
	case w.noKubeconfig(noWay):
		return fmt.Errorf("%sno kubeconfig shows to which cluster %s leads. %s; if it is this one, add --context %s", why, file, advice, name)
	case w.leads.Context != "" && w.leads.Context != of.Name:
		return fmt.Errorf("%s--context is %s. %s", why, power.Clean(w.leads.Context), advice)
	case noWay != nil && w.file.Kubeconfig != "":
		return fmt.Errorf("%s%s leads to no cluster by its own kubeconfig, which counts before --kubeconfig (%w). Correct kubeconfig in that file", why, file, noWay)
	case noWay != nil:
		advice += "; if it is this one, choose the kubeconfig of cluster " + name + " with --kubeconfig"
	case w.leads.Context == "":
		advice += "; if it is this one, add --context " + name
	default:
		advice += byHand
	}
	switch {
	case noWay != nil:
		return fmt.Errorf("%s%s leads to no cluster (%w). %s", why, file, noWay, advice)
	case here.Name == of.Name:
		return fmt.Errorf("%s%s leads to another API server or CA than then. %s", why, file, advice)
	}
	return fmt.Errorf("%s%s leads to cluster %s. %s", why, file, power.Clean(here.Name), advice)
}
