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
	// unanswered: the API server did not answer in settingsWait, so lightsout powers on
	// without waiting for annotations.
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
		return "neither the journal nor an annotation names who switched it off"
	}
	return "it was switched off by " + f.by.String()
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
	closeJournal(r.journal)
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
		why := cmp.Or(r.machines.missing, errNoSettings.Error())
		if r.unfit != nil && len(r.left)+len(r.late)+len(r.damaged) == 0 { // otherwise reported already
			why = r.unfit.Error()
		}
		return nil, fmt.Errorf("lightsout can power on no machine of cluster %s: %s", power.Clean(r.of.Name), why)
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
	stop, err := watch(ctx, watcher, viewWait, synced)
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
