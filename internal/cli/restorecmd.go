package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/power"
	"lightsout/power/ssh"
)

func newRestoreCommand(o *options) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Power on and uncordon what lightsout switched off or cordoned and has not undone",
		Args:  takes(0, 0, ""),
		RunE:  func(cmd *cobra.Command, _ []string) error { return restore(cmd.Context(), *o, yes) },
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	o.clusterFlags(cmd)
	o.dryRunFlag(cmd)
	return cmd
}

// restoration is what is to be undone of one cluster by one configuration.
type restoration struct {
	of       power.Cluster
	config   *config.Config
	journal  *power.Journal
	client   *ssh.Client     // nil when the settings can't be used
	server   *cluster.Client // nil before api
	certain  bool            // the API server has proven to be the cluster's
	machines *machines       // without a fleet when the settings can't be used
	left     []power.LeftOff
	cordoned []power.Entry
	damaged  []power.Entry
}

// restore undoes what the journal says is not undone.
func restore(ctx context.Context, o options, yes bool) error {
	all, err := restorations(o)
	signals.inOrder.Store(true)
	defer func() {
		for _, r := range all {
			r.close()
		}
	}()
	todo := 0
	for _, r := range all {
		todo += r.show(ctx, len(all) > 1, o.dryRun)
	}
	switch {
	case todo == 0:
		seen, others := sayOthers(ctx, all, o.dryRun)
		switch {
		case err != nil || seen && others != nil:
		case seen:
			fmt.Println("nothing is off that lightsout switched off")
		default:
			fmt.Println("nothing is off by the journal; whether somebody else has switched a machine off is not known, as the notes on the nodes were not seen")
		}
		return errors.Join(err, others)
	case o.dryRun:
		_, others := sayOthers(ctx, all, true)
		return errors.Join(err, errors.New("nothing is done: --dry-run is given"), others)
	case !yes:
		c := newConsole(false, "")
		if c.in == nil {
			return errors.Join(err, errors.New("nobody can be asked here; repeat with --yes"))
		}
		fmt.Print("power on and uncordon? [y/N] ")
		if text, e := c.line(ctx); e != nil || (text != "y" && text != "yes") {
			return errors.Join(err, errNotDone)
		}
	}
	undone := make([]error, len(all)) // side by side: one may have to wait
	var wg sync.WaitGroup
	for i, r := range all {
		wg.Go(func() { undone[i] = r.undo(ctx) })
	}
	wg.Wait()
	_, others := sayOthers(ctx, all, o.dryRun)
	return errors.Join(err, errors.Join(undone...), others)
}

// restorations reads the journal of all clusters, and makes what brings their
// machines back: by the configuration that they were switched off with.
func restorations(o options) (all []*restoration, err error) {
	cfg, err := o.Read()
	if err != nil {
		return nil, err
	}
	state, err := cfg.StateDir()
	if err != nil {
		return nil, err
	}
	j := power.OpenJournal(state, power.Cluster{}, "")
	defer j.Close()
	left, err := j.LeftOffAll()
	errs := []error{err}
	cordoned, _ := j.LeftCordonedAll() // its error is the same
	here, noWay := clusterHere(cfg)
	path := configPath(o)
	find := func(of power.Cluster, config string) *restoration {
		for _, r := range all {
			if r.of.Same(of) && r.journal.Config() == config {
				return r
			}
		}
		r, err := newRestoration(o, state, of, config)
		if err != nil {
			errs = append(errs, err)
		}
		all = append(all, r)
		return r
	}
	for _, l := range left {
		r := find(l.Of(), o.configFor(l.Of(), here, l.Config))
		r.left = append(r.left, l)
	}
	for _, e := range cordoned {
		r := find(e.Of(), o.configFor(e.Of(), here, e.Config))
		r.cordoned = append(r.cordoned, e)
	}
	// Of which cluster a damaged line told can't be read: this one is looked at.
	named := here
	named.Name = cmp.Or(here.Name, "default")
	of := power.OpenJournal(state, named, "")
	defer of.Close()
	if damaged, _ := of.Damaged(); len(damaged) > 0 {
		find(named, path).damaged = damaged
	}
	// What others have switched off there is said as well; that needs no driver.
	known := slices.ContainsFunc(all, func(r *restoration) bool { return r.of.Same(here) })
	if !known && (noWay == nil || len(all) == 0) {
		r, _ := newRestoration(o, state, here, path)
		all = append(all, r)
	}
	return all, errors.Join(errs...)
}

// configFor is the config file for a cluster: a file that is named counts more than
// the one that was used for switching off, where it leads to that cluster.
func (o options) configFor(of, here power.Cluster, used string) string {
	if used == "" || o.File != "" && (here.CA == "" || here.Same(of)) {
		return configPath(o)
	}
	return used
}

// clusterHere is the cluster that the configuration leads to, as far as that can
// be told: nothing here needs it.
func clusterHere(cfg *config.Config) (power.Cluster, error) {
	access, err := apiAccess(cfg, nil)
	if err != nil {
		return power.Cluster{}, err
	}
	return clusterOf(access), nil
}

// newRestoration makes what powers the machines of a cluster on. It is there
// also when it can't: then it has no fleet, and the error says why.
func newRestoration(o options, state string, of power.Cluster, path string) (*restoration, error) {
	r := &restoration{of: of, journal: power.OpenJournal(state, of, path), machines: &machines{}}
	if path != "" {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			o.File = path
		}
	}
	var err error
	if r.config, err = o.Read(); err != nil {
		return r, err
	}
	ask := newConsole(false, "")
	if r.client, err = newSSH(r.config, sshAsker{askOnTerminal(), ask.hostKeys()}); err != nil {
		return r, err
	}
	r.machines, err = newMachines(r.config, o, r.client, r.journal, nil)
	return r, err
}

func (r *restoration) close() {
	r.machines.close()
	if r.server != nil {
		r.server.Close()
	}
	if r.client != nil {
		_ = r.client.Close()
	}
	_ = r.journal.Close()
}

// show looks at the machines and says how each is. It settles those that are on,
// unless nothing is to be done, and returns how much there is to undo.
func (r *restoration) show(ctx context.Context, named, nothing bool) (todo int) {
	if named && len(r.damaged)+len(r.left)+len(r.cordoned) > 0 {
		fmt.Printf("cluster %s:\n", power.Clean(cmp.Or(r.of.Name, "not named")))
	}
	if len(r.damaged) > 0 {
		fmt.Println(power.DamageText(r.journal, r.damaged) + ": every machine is looked at")
		todo++
	}
	var bindings []power.Binding
	for _, l := range r.left {
		bindings = append(bindings, l.Binding)
	}
	readings := make([]power.NamedReading, len(bindings))
	fleet := r.machines.fleet
	if fleet != nil {
		readings = fleet.Read(ctx, bindings)
	}
	boots := sync.OnceValue(func() map[string]power.Seen { return r.boots(ctx) })
	var still []power.LeftOff
	for i, l := range r.left {
		var seen power.Seen
		var on bool
		reading := readings[i].Reading
		if fleet != nil {
			seen, on = fleet.Evidence(l.Binding, reading)
		}
		if on && !r.journal.Over(l, seen) { // unless it has booted since
			seen = boots()[l.Node]
		}
		if on && r.journal.Over(l, seen) {
			fmt.Printf("%s is on already (%s)\n", l.Node, reading.Detail)
			if nothing {
				continue
			}
			if _, err := r.journal.SeenOn(seen); err != nil {
				fmt.Printf("%s  that is not in the journal: %v\n", l.Node, err)
			}
			continue
		}
		if len(still) == 0 {
			fmt.Println("switched off by lightsout and not seen on again:")
		}
		still = append(still, l)
		word := offWord(reading)
		if on || reading.State == power.Transitioning {
			word = fmt.Sprintf("was asked to %s %d s ago and is still %s (%s): it may go off within %d s",
				power.Verb(l.Action), int(time.Since(l.Asked).Seconds()), reading.State, reading.Detail, int(time.Until(l.Until).Seconds())+1)
		}
		fmt.Printf("  %s  %s  %s\n", l.Node, word, view.MachineText(l.Binding))
	}
	r.left = still
	for _, e := range r.cordoned {
		fmt.Println("cordoned by lightsout: " + e.Node)
	}
	return todo + len(r.left) + len(r.cordoned)
}

// boots is what the cluster's Ready nodes tell by their boots, where its API
// server answers and is proven to be this cluster's. Nobody depends on it.
func (r *restoration) boots(ctx context.Context) map[string]power.Seen {
	nodes, err := r.nodes(ctx)
	if err != nil || !r.certain {
		return nil
	}
	out := map[string]power.Seen{}
	for _, n := range nodes {
		if n.Ready == cluster.TriTrue {
			out[n.Name] = power.Seen{Node: session.NodeRef(n), At: time.Now(), Text: "Ready with a new boot id"}
		}
	}
	return out
}

// offWord says how well it is known that a machine is off.
func offWord(r power.Reading) string {
	text := r.State.String()
	switch {
	case r.State == power.Off && r.Proof != power.Proven:
		text = "presumed off"
	case r.State == power.Unknown:
		text = "state not known"
	}
	return r.With(text)
}

// undo powers on, and then uncordons.
func (r *restoration) undo(ctx context.Context) error {
	var failed error
	if len(r.left)+len(r.damaged) > 0 {
		if failed = r.powerOn(ctx); failed != nil && ctx.Err() != nil {
			return failed
		}
	}
	return errors.Join(failed, r.uncordon(ctx, failed))
}

func (r *restoration) powerOn(ctx context.Context) error {
	if r.machines.fleet == nil {
		return fmt.Errorf("nothing of cluster %s can be powered on: %s", power.Clean(r.of.Name), cmp.Or(r.machines.missing, errNoSettings.Error()))
	}
	s := &power.Switcher{Fleet: r.machines.fleet, Journal: r.journal}
	if api, err := r.api(); err == nil { // the notes on the nodes; without it they stay for the next start
		s.Marks = noteOn(r.config, api, nil)
	}
	if len(r.damaged) > 0 {
		watcher, stop, err := r.watch(ctx)
		if err != nil {
			fmt.Println(err)
		} else {
			defer stop()
			s.World = session.NewWorld(watcher, nil, time.Now)
		}
	}
	return s.Restore(ctx, power.Request{Report: func(p power.Progress) { fmt.Printf("%s  %s\n", p.Node, p.Text) }}, power.Automatic{})
}

// watch looks at the cluster until stop is called.
func (r *restoration) watch(ctx context.Context) (w *cluster.Watcher, stop func(), err error) {
	api, err := r.api()
	if err != nil {
		return nil, nil, err
	}
	w = cluster.NewWatcher(api, cluster.WatchOptions{})
	stop, err = watch(ctx, w, viewWait)
	return w, stop, err
}

// errNoSettings stands beside the error that says why.
var errNoSettings = errors.New("its settings can't be used")

// api is the way to the cluster that the entries are of: the context of that
// name, if it leads to the same one by what the kubeconfig says.
func (r *restoration) api() (*cluster.Client, error) {
	if r.client == nil {
		return nil, errNoSettings
	}
	if r.server != nil {
		return r.server, nil
	}
	cfg := *r.config
	cfg.Context = r.of.Name
	access, err := apiAccess(&cfg, bastionDialer(r.client))
	if err != nil {
		return nil, noWayError{err}
	}
	if !clusterOf(access).Same(r.of) {
		return nil, r.elsewhere()
	}
	r.server, err = cluster.NewClient(access)
	return r.server, err
}

// proven is api, when the API server says that it is the same cluster.
func (r *restoration) proven(ctx context.Context) (*cluster.Client, error) {
	api, err := r.api()
	if err != nil {
		return nil, err
	}
	id := api.Identity(ctx)
	is := power.Cluster{Name: r.of.Name, UID: id.UID, CA: id.CA}
	if !r.of.Same(is) {
		return nil, r.elsewhere()
	}
	r.certain = r.of.UID+r.of.CA != "" && r.of.Proves(is)
	return api, nil
}

// nodes gives the nodes of the cluster as its API server has them now.
func (r *restoration) nodes(ctx context.Context) ([]*cluster.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, nodesWait)
	defer cancel()
	api, err := r.proven(ctx)
	if err != nil {
		return nil, err
	}
	return api.Nodes(ctx)
}

// noWayError says that no way to a cluster's API server is configured.
type noWayError struct{ error }

func (r *restoration) elsewhere() error {
	return noWayError{fmt.Errorf("the context %s leads to another cluster now", power.Clean(r.of.Name))}
}

// uncordon uncordons the nodes, but for those that could not be powered on.
func (r *restoration) uncordon(ctx context.Context, failed error) error {
	if len(r.cordoned) == 0 {
		return nil
	}
	api, err := r.proven(ctx)
	var action *power.ActionError
	errors.As(failed, &action)
	var left []string
	for _, e := range r.cordoned {
		if action != nil && action.Failed[e.Node] != "" {
			left = append(left, e.Node)
			continue
		}
		text, why := "", err
		if why == nil {
			text, why = session.Uncordon(ctx, api, r.journal, e.Node)
		}
		if why != nil {
			fmt.Printf("%s  %v; by hand: kubectl uncordon %s\n", e.Node, why, e.Node)
			left = append(left, e.Node)
			continue
		}
		fmt.Printf("%s  %s\n", e.Node, text)
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	return fmt.Errorf("still cordoned: %s; repeat this command, or: kubectl uncordon %s", strings.Join(left, ", "), strings.Join(left, " "))
}
