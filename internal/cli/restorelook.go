package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"lightsout/cluster"
	"lightsout/internal/config"
	"lightsout/internal/outage"
	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// facts are what lightsout knows, at one moment, of a cluster that it restores.
type facts struct {
	at time.Time
	// off are the machines that the journal lists as off or as ones that may go off, and back the nodes
	// of those that turned out to be on.
	off  []offMachine
	back []string
	// notes are the annotations of other journals on nodes. unnamed are machines that are off and that
	// the journal, which is damaged, does not list.
	notes    []power.NodeNote
	unnamed  []power.OffMachine
	damaged  bool
	cordoned []string
	// elsewhere are nodes of the journal that another call restores.
	elsewhere []item
	notices   []string // of machines about which there is nothing to do
	unread    error    // why the journal cannot be read
	unseen    error    // why lightsout has not read the annotations on nodes
}

func (f *facts) notice(format string, args ...any) {
	f.notices = append(f.notices, fmt.Sprintf(format, args...))
}

// offMachine is a machine of the journal, with the last reading of its driver, and what is known of its
// node's boot now, if that is Ready.
type offMachine struct {
	power.LeftOff
	reading power.Reading
	now     outage.Now
}

// nodesWait bounds the wait for a cluster's nodes: a credential plugin may be slow. hurriedWait bounds
// it while machines wait to be powered on and nobody has to be asked about those of others.
const (
	nodesWait   = 10 * time.Second
	hurriedWait = 3 * time.Second
)

// pollWithin bounds the poll of the machines: lightsout polls each of them again when it powers it on.
// Tests shorten it.
var pollWithin = 10 * time.Second

// look polls the machines that are off or may go off, or may have gone off since they were on, reads the
// journal and the annotations on the nodes, and tells the journal what it saw. If it asks, it waits for
// more: the machines that a damaged journal does not list, and a slow API server.
func (r *restoration) look(ctx context.Context, asks bool) facts {
	machines, _ := r.journal.Machines() // the error is the same below
	wait := hurriedWait
	if asks {
		wait = nodesWait
	}
	var f facts
	var nodes []*cluster.Node
	var readings map[string]power.Reading
	var wg sync.WaitGroup
	wg.Go(func() { readings = r.poll(ctx, r.ours(machines)) })
	wg.Go(func() { nodes, f.unseen = r.nodes(ctx, wait) })
	wg.Wait()
	f.at = time.Now()
	s := justListed(nodes, r.api)
	if f.unseen == nil {
		f.notes = othersNotes(annotationsOf(r.config, r.proven, nil), r.journal, r.dryRun, s)
	}
	for _, m := range r.ours(machines) {
		if reading, polled := readings[machineName(m)]; polled {
			r.tell(&f, m, reading, s)
		}
	}
	machines, f.unread = r.journal.Machines()
	cordoned, _ := r.journal.LeftCordonedAll()
	f.elsewhere = r.elsewhere(machines, cordoned)
	for _, e := range cordoned {
		if r.journal.Cluster().Same(e.Cluster) {
			f.cordoned = append(f.cordoned, e.Node)
		}
	}
	for _, m := range r.ours(machines) {
		if m.IsOn() {
			continue
		}
		is := offMachine{m, readings[machineName(m)], outage.Now{}}
		if n := s.Node(m.Node); n != nil && n.Ready == cluster.TriTrue {
			seen := session.BootSeen(s, n)
			is.now = outage.Now{ID: seen.Node.BootID, Ready: seen.ReadySince}
		}
		f.off = append(f.off, is)
	}
	if damaged, _ := r.journal.Damaged(); len(damaged) > 0 {
		f.damaged = true
		f.notice("%s: lightsout polls every machine", power.DamageText(r.journal, damaged))
		if asks {
			f.unnamed = r.unnamed(ctx)
		}
	}
	return f
}

// ours returns the machines that this call restores, first those that are on: restore powers the others on
// whether they answer or not.
func (r *restoration) ours(all []power.LeftOff) []power.LeftOff {
	ours := slices.DeleteFunc(slices.Clone(all), func(m power.LeftOff) bool { return !r.mine(m.Entry) })
	slices.SortStableFunc(ours, func(a, b power.LeftOff) int { return strings.Compare(string(b.Certainty), string(a.Certainty)) })
	return ours
}

// machineName distinguishes the machines of the journal.
func machineName(m power.LeftOff) string { return m.Node + " " + view.MachineText(m.Binding) }

// poll returns the readings of machines, by their names.
func (r *restoration) poll(ctx context.Context, machines []power.LeftOff) map[string]power.Reading {
	if r.machines.fleet == nil || len(machines) == 0 {
		return nil
	}
	ctx, end := within(ctx, pollWithin, "polling "+text.Count(len(machines), "machine", "machines"))
	defer end()
	bindings := make([]power.Binding, len(machines))
	for i, m := range machines {
		bindings[i] = m.Binding
	}
	readings := map[string]power.Reading{}
	for i, reading := range r.machines.fleet.Read(ctx, bindings) {
		readings[machineName(machines[i])] = reading.Reading
	}
	return readings
}

// tell tells the journal what was seen of a machine. A node that has booted counts only if its machine is
// on. In a dry run only this program knows it then.
func (r *restoration) tell(f *facts, m power.LeftOff, reading power.Reading, s *cluster.Snapshot) {
	seen, ok := r.machines.fleet.Evidence(m.Binding, reading)
	if !ok {
		return
	}
	changed, err := r.journal.Saw(seen)
	if n := s.Node(m.Node); !changed && reading.State == power.On && n != nil && n.Ready == cluster.TriTrue {
		changed, err = r.journal.Saw(session.BootSeen(s, n))
	}
	if err != nil && !r.dryRun {
		f.notice("%s  lightsout could not write that to the journal: %v", m.Node, err)
	}
	switch {
	case changed && reading.State == power.On:
		f.back = append(f.back, m.Node)
		f.notice("%s is on already (%s)", m.Node, reading.Detail)
	case changed:
		f.notice("%s is off (%s): the power API may have carried out lightsout's request of %s late, or somebody has switched it off since", m.Node, reading.Detail, m.Before.Asked.Local().Format(time.TimeOnly))
	}
}

// nodes lists the nodes of the cluster from its API server.
func (r *restoration) nodes(ctx context.Context, wait time.Duration) ([]*cluster.Node, error) {
	ctx, end := within(ctx, wait, "waiting for the API server of cluster "+power.Clean(r.journal.Cluster().Name))
	defer end()
	api, err := r.proven(ctx)
	if err != nil {
		return nil, err
	}
	return api.Nodes(ctx)
}

// unnamed polls every machine of the cluster and returns those that are off and that nothing lists: the
// damaged lines of the journal may have contained them.
func (r *restoration) unnamed(ctx context.Context) []power.OffMachine {
	s, err := r.switcher(ctx, true)
	if err != nil {
		return nil // apply reports the error
	}
	ctx, end := within(ctx, pollWithin, "polling every machine of cluster "+power.Clean(r.journal.Cluster().Name))
	defer end()
	off, _ := s.Unaccounted(ctx) // SettleDamage polls them all, and returns the error
	return off
}

// elsewhere returns the nodes of the journal that another call restores, with its command.
func (r *restoration) elsewhere(machines []power.LeftOff, cordoned []power.Entry) (all []item) {
	add := func(e power.Entry, what string) {
		by := config.Flags{File: e.Config, Context: e.Cluster.Name, State: r.State}
		if e.Config == r.AbsPath() {
			by.Kubeconfig, by.Bastion = r.Kubeconfig, r.Bastion
		}
		if r.journal.Cluster().Same(e.Cluster) {
			what += " by other settings of bastion, ssh or power"
		}
		why := fmt.Sprintf(" of cluster %s: %s; restore with: %s", power.Clean(cmp.Or(e.Cluster.Name, "(unnamed)")), what, by.RestoreCommand(r.config))
		all = append(all, item{e.Node, doLeave, why, ours})
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

// justListed is the snapshot of nodes that an API server has just listed.
func justListed(nodes []*cluster.Node, api *cluster.Client) *cluster.Snapshot {
	c := cluster.Contents{Nodes: nodes}
	if api != nil {
		c.Link.Ahead = api.Ahead()
	}
	return cluster.NewSnapshot(c)
}

// othersNotes returns the annotations of other journals on the nodes just listed. It removes those that are
// out of date, unless it is a dry run. The Ready condition alone proves nothing: while
// kube-controller-manager is down, nobody changes it for a machine that is off.
func othersNotes(store power.NoteStore, j *power.Journal, dryRun bool, listed *cluster.Snapshot) []power.NodeNote {
	fleet, err := power.NewFleet(power.Config{Locks: power.OpenLocks(hostDir), DryRun: dryRun}, j)
	if err != nil {
		return nil // without drivers there is none
	}
	var marked []power.Node
	for _, n := range listed.Nodes() {
		node := power.Node{NodeRef: session.NodeRef(listed, n), Ready: n.Ready == cluster.TriTrue, Notes: power.NotesOn(n.Annotations), Ahead: listed.Ahead()}
		if node.Ready && !n.Renewed.IsZero() {
			node.Heard = n.Renewed.Add(-listed.Ahead()) // nodes and API server are taken to have the same time
			if now := time.Now(); node.Heard.After(now) {
				node.Heard = now
			}
		}
		marked = append(marked, node)
	}
	return (&power.Switcher{Fleet: fleet, Annotations: store}).Sweep(marked)
}
