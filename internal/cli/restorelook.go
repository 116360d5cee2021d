package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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

// restoreFacts are what lightsout knows, at one moment, of a cluster that it restores.
type restoreFacts struct {
	at time.Time
	// off are the machines that the journal lists as off or as ones that may go off, and back the nodes
	// of those that turned out to be on, or that the operator has cordoned.
	off  []offMachine
	back []string
	// notes are the annotations of other journals on nodes. unnamed are machines that are off and that
	// the journal, which is damaged, does not list.
	notes    []power.NodeNote
	unnamed  []power.NodeNote
	damaged  bool
	cordoned []string
	// elsewhere are nodes of the journal that another call restores.
	elsewhere []restoredElsewhere
	notices   []string // of nodes about which there is nothing to do
	unread    error    // why the journal cannot be read
	unseen    error    // why lightsout has not read the annotations on nodes
}

func (f *restoreFacts) notice(format string, args ...any) {
	f.notices = append(f.notices, fmt.Sprintf(format, args...))
}

// offMachine is a machine of the journal, with the last reading of its driver, and what is known of its
// node's boot now.
type offMachine struct {
	power.LeftOff
	reading power.Reading
	now     outage.Now
}

// restoredElsewhere is a node of the journal that another call restores: what is left of it, and the command.
type restoredElsewhere struct{ node, what, command string }

// nodesWait bounds the wait for a cluster's nodes: a credential plugin may be slow. hurriedWait bounds
// it while machines wait to be powered on and nobody has to be asked about those of others.
const (
	nodesWait   = 10 * time.Second
	hurriedWait = 3 * time.Second
)

// broughtOn omits the annotations on nodes whose machines restore has just brought on. It leaves them there
// while another operator's request may still be under way.
func (f *restoreFacts) broughtOn(nodes []string) {
	f.notes = slices.DeleteFunc(f.notes, func(n power.NodeNote) bool {
		is := slices.Contains(nodes, n.Node)
		if is {
			f.notice("%s is on; its annotation stays until the request of %s can't be under way any more", n.Node, power.Clean(n.Note.By))
		}
		return is
	})
}

// pollWithin bounds the poll of the machines: lightsout polls each of them again when it powers it on.
// Tests shorten it.
var pollWithin = 10 * time.Second

// look polls the machines that are off or may go off, or may have gone off since they were on, reads the
// journal and the annotations on the nodes, and tells the journal what it saw. If it asks, it waits for
// more: the machines that a damaged journal does not list, and a slow API server.
func (r *restoration) look(ctx context.Context, asks bool) restoreFacts {
	machines, _ := r.journal.Machines() // the error is the same below
	wait := hurriedWait
	if asks {
		wait = nodesWait
	}
	var f restoreFacts
	var nodes []*cluster.Node
	var readings map[string]power.Reading
	var wg sync.WaitGroup
	wg.Go(func() { readings = r.poll(ctx, r.ours(machines)) })
	wg.Go(func() { nodes, f.unseen = r.nodes(ctx, wait) })
	wg.Wait()
	f.at = time.Now()
	s := justListed(nodes, r.api)
	r.cluster = nil
	if f.unseen != nil {
		f.unseen = fmt.Errorf("cannot read the annotations on the nodes of cluster %s: %w", power.Clean(r.journal.Cluster().Name), f.unseen)
	} else {
		r.cluster = listing(powerNodes(s))
	}
	for _, m := range r.ours(machines) {
		if reading, polled := readings[machineName(m)]; polled {
			r.tell(&f, m, reading, s)
		}
	}
	if f.unseen == nil { // after the journal knows what is on: annotations follow it
		f.notes = othersNotes(annotationsOf(r.config, r.proven, nil), r.journal, r.dryRun, s)
	}
	machines, f.unread = r.journal.Machines()
	for _, m := range r.ours(machines) {
		if !m.IsOn() {
			f.off = append(f.off, offMachine{m, readings[machineName(m)], s.Boot(s.Node(m.Node))})
		}
	}
	left, _ := leftBehind(r.journal) // the error is the same
	f.cordoned, f.back = left.cordoned, append(f.back, left.wanted...)
	left.wanted = slices.DeleteFunc(left.wanted, func(n string) bool { return s.Node(n) != nil && !s.Node(n).Unschedulable })
	f.notices = append(f.notices, text.Each(left.wanted, func(n string) string { return "cordoned by the operator: kubectl uncordon " + n })...)
	f.elsewhere = r.elsewhere()
	if damaged, _ := r.journal.Damaged(); len(damaged) > 0 {
		f.damaged = true
		f.notice("%s: lightsout polls every machine", power.DamageText(r.journal, damaged))
		if asks {
			f.unnamed = r.unnamed(ctx)
		}
	}
	return f
}

// ours returns the machines that this call restores, first those that count as on, and then those that may be:
// restore powers the others on whether they answer or not.
func (r *restoration) ours(all []power.LeftOff) []power.LeftOff {
	ours := slices.DeleteFunc(slices.Clone(all), func(m power.LeftOff) bool { return !r.restores(m.Entry) })
	slices.SortStableFunc(ours, func(a, b power.LeftOff) int { return cmp.Compare(a.Stands, b.Stands) })
	return ours
}

// restores reports whether this call restores an entry's machine or node: another one does if it is of another
// cluster, or needs other drivers.
func (r *restoration) restores(e power.Entry) bool {
	return r.journal.Cluster().Same(e.Cluster) && (e.Kind == power.EntryCordoned || r.fits(e))
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
	bindings := text.Each(machines, func(m power.LeftOff) power.Binding { return m.Binding })
	readings := map[string]power.Reading{}
	for i, reading := range r.machines.fleet.Read(ctx, bindings) {
		readings[machineName(machines[i])] = reading.Reading
	}
	return readings
}

// tell tells the journal what was seen of a machine. A node that has booted counts only if its machine is
// on. In a dry run only this program knows it then.
func (r *restoration) tell(f *restoreFacts, m power.LeftOff, reading power.Reading, s *cluster.Snapshot) {
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
func (r *restoration) unnamed(ctx context.Context) []power.NodeNote {
	s, err := r.switcher(r.cluster)
	if err != nil {
		return nil // apply reports the error
	}
	ctx, end := within(ctx, pollWithin, "polling every machine of cluster "+power.Clean(r.journal.Cluster().Name))
	defer end()
	off, _ := s.Unaccounted(ctx) // SettleDamage polls them all, and returns the error
	return off
}

// elsewhere returns the nodes of the journal that another call restores, with its command.
func (r *restoration) elsewhere() (all []restoredElsewhere) {
	for _, e := range r.entries() {
		what := "off"
		switch {
		case e.IsOn(), r.restores(e.Entry):
			continue
		case r.journal.Cluster().Same(e.Cluster):
			what = "off by other settings of bastion, ssh or power"
		case e.Kind == power.EntryCordoned:
			what = "cordoned"
		}
		by := config.Flags{File: e.Config, Context: e.Cluster.Name, State: r.State}
		if e.Config == r.AbsPath() {
			by.Kubeconfig, by.Bastion = r.Kubeconfig, r.Bastion
		}
		name := power.Clean(cmp.Or(e.Cluster.Name, "(unnamed)"))
		all = append(all, restoredElsewhere{e.Node, "of cluster " + name + ": " + what, by.CommandLine("restore", r.config)})
	}
	return all
}
