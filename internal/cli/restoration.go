package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/power"
	"lightsout/power/ssh"
)

// restoration is what restore needs of one cluster and one config file.
type restoration struct {
	options
	config   *config.Config
	client   *ssh.Client
	machines *machines      // has no fleet if the drivers' settings are unusable
	journal  *power.Journal // of the cluster that is restored
	// here is the cluster to which the configuration leads, with a UID if its API server has revealed it;
	// api is that server, nil if noAPI is the reason why there is none.
	here  power.Cluster
	api   *cluster.Client
	noAPI error
	// proving is held while lightsout asks api which cluster it is.
	proving sync.Mutex
	// readings are those of the machines, by their names in the journal.
	readings map[string]power.Reading
	reader   power.ClusterReader // nil unless powering on needs a view of the cluster
	stop     func()              // ends that view
}

// identityWait bounds the wait for the API server's answer to which cluster it is.
const identityWait = 3 * time.Second

// openRestoration reads the configuration and the journal, and chooses the cluster. An error beside a
// restoration is the reason why it can power nothing on.
func openRestoration(ctx context.Context, o options, named []string) (*restoration, error) {
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
	r := &restoration{options: o, config: cfg, machines: &machines{}, readings: map[string]power.Reading{}}
	r.client, err = newSSH(cfg, sshAsker{secret: askOnTerminal(), hostKey: newConsole(false, "").hostKeys(), keepGoing: true})
	if err != nil {
		return nil, err
	}
	r.connect(ctx)
	if o.dryRun {
		r.journal = power.JournalToRead(state, power.Cluster{})
	} else {
		r.journal = power.OpenJournal(state, power.Cluster{}, o.AbsPath())
	}
	r.journal.Settings = cfg.DriverSettings()
	r.journal.Identify(r.choose(named))
	r.machines, err = newMachines(cfg, o, r.client, r.journal, nil)
	return r, err
}

func (r *restoration) close() {
	if r.stop != nil {
		r.stop()
	}
	r.machines.close()
	if r.api != nil {
		r.api.Close()
	}
	_ = r.client.Close()
	closeJournal(r.journal)
}

// connect finds the API server, and asks it which cluster it is.
func (r *restoration) connect(ctx context.Context) {
	access, err := apiAccess(r.config, bastionDialer(r.client))
	if err == nil {
		r.here = clusterOf(access)
		r.api, err = cluster.NewClient(access)
	}
	if err != nil {
		r.here.Name, r.noAPI = cmp.Or(r.here.Name, r.config.Context, "default"), err
		return
	}
	ctx, cancel := context.WithTimeout(ctx, identityWait)
	defer cancel()
	_, _ = r.identify(ctx) // proven asks again
}

// noKubeconfig reports whether there is no API server because nobody has chosen a kubeconfig.
func (r *restoration) noKubeconfig() bool {
	none := (*cluster.NoKubeconfigError)(nil)
	return errors.As(r.noAPI, &none) && os.Getenv("KUBECONFIG") == ""
}

// identify asks the API server for the cluster's UID, unless it is known.
func (r *restoration) identify(ctx context.Context) (power.Cluster, error) {
	if r.here.UID != "" {
		return r.here, nil
	}
	id, err := r.api.Identity(ctx)
	r.here = identified(r.here.Name, id)
	return r.here, err
}

// proven returns the API server once it has confirmed that it belongs to the cluster that is restored.
func (r *restoration) proven(ctx context.Context) (*cluster.Client, error) {
	if r.api == nil {
		return nil, r.noAPI
	}
	r.proving.Lock()
	defer r.proving.Unlock()
	is, err := r.identify(ctx)
	switch of := r.journal.Cluster(); {
	case !of.Same(is):
		return nil, cmp.Or(err, fmt.Errorf("the context %s leads to another cluster now", power.Clean(is.Name)))
	case of.UID != "" && is.UID == "": // a tunnel may lead to another cluster
		return nil, fmt.Errorf("lightsout cannot tell whether this is the cluster in the journal: %w", err)
	}
	r.journal.Identify(is)
	return r.api, nil
}

// entries are the journal's machines that are off or may go off, and its cordons, of all clusters.
func (r *restoration) entries() (all []power.Entry) {
	machines, _ := r.journal.Machines() // look reports the error
	cordoned, _ := r.journal.LeftCordonedAll()
	for _, l := range machines {
		all = append(all, l.Entry)
	}
	return append(all, cordoned...)
}

// choose returns the cluster that this call restores: the one to which the configuration leads. If no
// API server confirms that one, or the operator names a node that was switched off in another one, it is the
// cluster of the journal's entry.
func (r *restoration) choose(named []string) power.Cluster {
	unsure := r.here.UID == ""
	for _, here := range []bool{true, false} {
		for _, e := range r.entries() {
			if r.here.Same(e.Cluster) != here || !r.fits(e) || !unsure && !slices.Contains(named, e.Node) {
				continue
			}
			if here && !unsure {
				return r.here
			}
			return e.Cluster
		}
	}
	return r.here
}

// fits reports whether the drivers of this configuration are those of the entry's machine: those of
// another cluster may know machines of the same names. Settings that differ from those that switched it
// off are in the same file, or lead to the same cluster.
func (r *restoration) fits(e power.Entry) bool {
	return e.Settings == r.journal.Settings || e.Config == r.AbsPath() || r.here.Proves(e.Cluster)
}

// mine reports whether this call restores the machine of the entry.
func (r *restoration) mine(e power.Entry) bool {
	return r.journal.Cluster().Same(e.Cluster) && r.fits(e)
}

// others returns the nodes of the journal that another call restores, with its command.
func (r *restoration) others(machines []power.LeftOff, cordoned []power.Entry) (all []elsewhere) {
	add := func(e power.Entry, what string) {
		why := r.otherWhy(e, what)
		if n := slices.IndexFunc(all, func(o elsewhere) bool { return o.why == why }); n >= 0 {
			all[n].nodes = append(all[n].nodes, e.Node)
			return
		}
		all = append(all, elsewhere{[]string{e.Node}, why})
	}
	for _, l := range machines {
		if !l.IsOn() && !r.mine(l.Entry) {
			add(l.Entry, "off")
		}
	}
	for _, e := range cordoned {
		if !r.journal.Cluster().Same(e.Cluster) {
			add(e, "cordoned")
		}
	}
	return all
}

// otherWhy names the command that restores the entry's node.
func (r *restoration) otherWhy(e power.Entry, what string) string {
	by := config.Flags{File: e.Config, Context: e.Cluster.Name, State: r.State}
	if e.Config == r.AbsPath() {
		by.Kubeconfig, by.Bastion = r.Kubeconfig, r.Bastion
	}
	name, command := power.Clean(cmp.Or(e.Cluster.Name, "(unnamed)")), by.RestoreCommand(r.config)
	switch is := r.journal.Cluster(); {
	case what != "cordoned" && !r.fits(e):
		return fmt.Sprintf("of cluster %s: %s; lightsout neither polls nor switches it, because other settings of bastion, ssh or power switched it off; restore with those: %s", name, what, command)
	case e.Cluster.Name == is.Name && !is.Same(e.Cluster):
		return fmt.Sprintf("of cluster %s: %s, but the context %s leads to another cluster now; restore with the kubeconfig of then or, if the machine is the same, name the node: %s NODE", name, what, name, command)
	default:
		return fmt.Sprintf("of cluster %s: %s, and this call restores cluster %s; restore with: %s", name, what, power.Clean(is.Name), command)
	}
}
