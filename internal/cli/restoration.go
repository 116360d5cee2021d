package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/text"
	"lightsout/power"
)

// restoration is what restore needs of one cluster and one config file.
type restoration struct {
	options
	config   *config.Config
	way                     // here has a UID if the API server has revealed it
	machines *machines      // has no fleet if the drivers' settings are unusable
	journal  *power.Journal // of the cluster that is restored
	// proving is held while lightsout asks api which cluster it is.
	proving sync.Mutex
	cluster power.ClusterReader // as of the last look; nil if the nodes could not be listed then
}

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
	r := &restoration{options: o, config: cfg, machines: &machines{}}
	r.way, err = reach(cfg, sshAsker{secret: askOnTerminal(), keepGoing: true})
	if err != nil {
		return nil, err
	}
	if r.api != nil {
		ctx, cancel := context.WithTimeout(ctx, hurriedWait)
		_ = r.identify(ctx) // proven asks again
		cancel()
	}
	if o.dryRun {
		r.journal = power.JournalToRead(state, power.Cluster{})
	} else {
		r.journal = power.OpenJournal(state, power.Cluster{}, o.AbsPath())
	}
	r.journal.Settings = cfg.DriverSettings()
	r.journal.Identify(r.choose(named))
	r.machines, err = newMachines(cfg, o, r.ssh, r.journal, nil)
	return r, err
}

func (r *restoration) close() {
	r.machines.close()
	r.way.close()
	closeJournal(r.journal)
}

// identify asks the API server for the cluster's UID, unless it is known.
func (r *restoration) identify(ctx context.Context) error {
	if r.here.UID != "" {
		return nil
	}
	id, err := r.api.Identity(ctx)
	r.here = identified(r.here.Name, id)
	return err
}

// proven returns the API server once it has confirmed that it belongs to the cluster that is restored.
func (r *restoration) proven(ctx context.Context) (*cluster.Client, error) {
	if r.api == nil {
		return nil, r.noAPI
	}
	r.proving.Lock()
	defer r.proving.Unlock()
	err := r.identify(ctx)
	switch of := r.journal.Cluster(); {
	case !of.Same(r.here):
		return nil, cmp.Or(err, fmt.Errorf("the context %s leads to another cluster now", power.Clean(r.here.Name)))
	case of.UID != "" && r.here.UID == "": // a tunnel may lead to another cluster
		return nil, fmt.Errorf("lightsout cannot tell whether this is the cluster in the journal: %w", err)
	}
	r.journal.Identify(r.here)
	return r.api, nil
}

// entries are the journal's machines that are off or may go off, and lightsout's cordons, of all clusters.
func (r *restoration) entries() []power.LeftOff {
	all, _ := r.journal.Machines() // look reports the error
	cordoned, _ := r.journal.LeftCordonedAll()
	cordoned = slices.DeleteFunc(cordoned, func(e power.Entry) bool { return e.Action == power.ForItself })
	return append(all, text.Each(cordoned, func(e power.Entry) power.LeftOff { return power.LeftOff{Entry: e} })...)
}

// choose returns the cluster that this call restores: the one to which the configuration leads. If no
// API server confirms that one, or the operator names a node that was switched off in another one, it is the
// cluster of the journal's entry.
func (r *restoration) choose(named []string) power.Cluster {
	unsure := r.here.UID == ""
	for _, here := range []bool{true, false} {
		for _, e := range r.entries() {
			if r.here.Same(e.Cluster) != here || !r.fits(e.Entry) || !unsure && !slices.Contains(named, e.Node) {
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
