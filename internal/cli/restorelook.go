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

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// look is what restore has found at one moment.
type look struct {
	facts
	damaged []power.Entry
	notices []string // of machines about which there is nothing to do
	back    []string // nodes that the journal lists as off and that are on already
	unread  error    // why the journal cannot be read
	unseen  error    // why lightsout has not read the annotations on nodes
}

// nodesWait bounds the wait for a cluster's nodes: a credential plugin may be slow. hurriedWait bounds
// it while machines wait to be powered on and nobody has to be asked about those of others.
const (
	nodesWait   = 10 * time.Second
	hurriedWait = 3 * time.Second
)

// noticeAfter is how long lightsout waits for something without a word.
const noticeAfter = 2 * time.Second

// showReadsWithin bounds the poll of the machines before lightsout powers them on: it polls
// each of them again then. Tests shorten it.
var showReadsWithin = 10 * time.Second

// lateReadsWithin bounds that poll when no machine waits for it.
const lateReadsWithin = time.Minute

// within bounds a step. If the step takes long, within prints what lightsout does, and for
// how long at most. The caller must call end after it.
func within(ctx context.Context, most time.Duration, what string) (_ context.Context, end func()) {
	ctx, cancel := context.WithTimeout(ctx, most)
	notice := time.AfterFunc(noticeAfter, func() { fmt.Fprintf(os.Stderr, "%s, %s at most\n", what, most) })
	return ctx, func() { notice.Stop(); cancel() }
}

// firstLook polls the machines that are off or may go off, or may have gone off since they were on: restore
// powers them on whether they answer or not.
func (r *restoration) firstLook(ctx context.Context, wait time.Duration) look {
	machines, _ := r.journal.Machines() // look reports the error
	most := showReadsWithin
	if r.dryRun {
		most = lateReadsWithin
	}
	ours := r.ours(machines)
	slices.SortStableFunc(ours, func(a, b power.LeftOff) int { return cmp.Compare(b.Certainty, a.Certainty) }) // those that are on first
	return r.look(ctx, ours, most, wait)
}

// lastLook polls once more the machines that may go off by a refused request, or did not answer before.
func (r *restoration) lastLook(ctx context.Context) look {
	machines, _ := r.journal.Machines() // look reports the error
	poll := slices.DeleteFunc(r.ours(machines), func(m power.LeftOff) bool {
		return !(m.IsOn() && r.reading(m).State == power.Unknown || !m.IsOn() && m.Refused != "")
	})
	return r.look(ctx, poll, lateReadsWithin, nodesWait)
}

// look polls machines, reads the journal and the annotations on the nodes, and tells the journal what it saw.
func (r *restoration) look(ctx context.Context, poll []power.LeftOff, most, wait time.Duration) (l look) {
	var nodes []*cluster.Node
	var wg sync.WaitGroup
	wg.Go(func() { r.poll(ctx, poll, most) })
	wg.Go(func() { nodes, l.unseen = r.nodes(ctx, wait) })
	wg.Wait()
	l.at = time.Now()
	s := justListed(nodes, r.api)
	if l.unseen == nil {
		l.notes = r.readNotes(s)
	}
	l.damaged, _ = r.journal.Damaged() // its error is the same as of Machines
	r.tell(&l, poll, s)
	machines, err := r.journal.Machines()
	l.unread = err
	cordoned, _ := r.journal.LeftCordonedAll()
	l.elsewhere = r.others(machines, cordoned)
	for _, e := range cordoned {
		if r.journal.Cluster().Same(e.Cluster) {
			l.cordoned = append(l.cordoned, e.Node)
		}
	}
	for _, m := range r.ours(machines) {
		if m.IsOn() {
			continue
		}
		is := offMachine{m, r.reading(m), outage.Now{}}
		if n := s.Node(m.Node); n != nil && n.Ready == cluster.TriTrue {
			seen := session.BootSeen(s, n)
			is.now = outage.Now{ID: seen.Node.BootID, Ready: seen.ReadySince}
		}
		if m.Refused != "" && is.isOn() {
			l.back = append(l.back, m.Node)
			l.notice("%s is on; its power API refused the request of %s to %s %s (%s), but may carry it out until %s", m.Node, m.Before.Asked.Local().Format(time.TimeOnly), power.Verb(m.Action), m.Node, m.Refused, m.Until.Local().Format(time.TimeOnly))
			continue
		}
		l.off = append(l.off, is)
	}
	return l
}

// ours returns the machines that this call restores.
func (r *restoration) ours(all []power.LeftOff) []power.LeftOff {
	return slices.DeleteFunc(slices.Clone(all), func(l power.LeftOff) bool { return !r.mine(l.Entry) })
}

// poll polls machines.
func (r *restoration) poll(ctx context.Context, machines []power.LeftOff, most time.Duration) {
	if r.machines.fleet == nil || len(machines) == 0 {
		return
	}
	ctx, end := within(ctx, most, "polling "+text.Count(len(machines), "machine", "machines"))
	defer end()
	bindings := make([]power.Binding, len(machines))
	for i, l := range machines {
		bindings[i] = l.Binding
	}
	for i, reading := range r.machines.fleet.Read(ctx, bindings) {
		r.readings[machineName(machines[i])] = reading.Reading
	}
}

// machineName distinguishes the machines of the journal.
func machineName(m power.LeftOff) string { return m.Node + " " + view.MachineText(m.Binding) }

// reading is the last one of a machine.
func (r *restoration) reading(m power.LeftOff) power.Reading { return r.readings[machineName(m)] }

// tell tells the journal what was seen of machines. A node that has booted counts only if its machine is on.
// In a dry run only this program knows it then.
func (r *restoration) tell(l *look, polled []power.LeftOff, s *cluster.Snapshot) {
	for _, m := range polled {
		reading := r.reading(m)
		if r.machines.fleet == nil {
			return
		}
		seen, ok := r.machines.fleet.Evidence(m.Binding, reading)
		if !ok {
			continue
		}
		changed, err := r.journal.Saw(seen)
		if n := s.Node(m.Node); !changed && reading.State == power.On && n != nil && n.Ready == cluster.TriTrue {
			changed, err = r.journal.Saw(session.BootSeen(s, n))
		}
		if !r.dryRun {
			l.notWritten(m.Node, err)
		}
		switch {
		case changed && reading.State == power.On:
			l.back = append(l.back, m.Node)
			l.notice("%s is on already (%s)", m.Node, reading.Detail)
		case changed:
			l.notice("%s is off (%s): the power API may have carried out lightsout's request of %s late, or somebody has switched it off since", m.Node, reading.Detail, m.Before.Asked.Local().Format(time.TimeOnly))
		}
	}
}

func (l *look) notWritten(node string, err error) {
	if err != nil {
		l.notice("%s  lightsout could not write that to the journal: %v", node, err)
	}
}

func (l *look) notice(format string, args ...any) {
	l.notices = append(l.notices, fmt.Sprintf(format, args...))
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

// findUnnamed polls every machine of the cluster if lines of the journal are damaged: they may have
// contained a machine that is off.
func (r *restoration) findUnnamed(ctx context.Context, l *look) {
	s, err := r.switcher(ctx, true)
	if err != nil {
		return // Restore reports the error
	}
	ctx, end := within(ctx, showReadsWithin, "polling every machine of cluster "+power.Clean(r.journal.Cluster().Name))
	defer end()
	l.unnamed, _ = s.Unaccounted(ctx) // Restore polls them all, and returns the error
}

// unknown returns an error about each named node that no item has and that is not on again.
func (l look) unknown(named []string, items []item) (err error) {
	for _, n := range named {
		if slices.Contains(l.back, n) || slices.ContainsFunc(items, func(i item) bool { return i.node == n }) {
			continue
		}
		err = errors.Join(err, fmt.Errorf("neither the journal nor an annotation lists %s as off or cordoned; power it on with: lightsout power on %s", power.Clean(n), text.ShellWord(power.Clean(n))))
	}
	return err
}

// print prints what the look has found, before restore changes anything.
func (l look) print(items []item) {
	if len(l.notices) > 0 {
		fmt.Println(strings.Join(l.notices, "\n"))
	}
	showItems(items)
}
