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
	"lightsout/power"
)

// look is what restore has found at one moment.
type look struct {
	facts
	damaged []power.Entry
	notices []string // of machines about which there is nothing to do
	back    []string // nodes that the journal lists as off and that are on already
	kept    []string // about annotations of this journal that are out of date
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

// firstLook polls the machines that a request may still switch off, and then those that are off: restore
// powers on the latter whether they answer or not.
func (r *restoration) firstLook(ctx context.Context, wait time.Duration) look {
	left, _ := r.journal.LeftOffAll() // look reports the error
	late := r.ours(r.journal.LateAll())
	most := showReadsWithin
	if r.dryRun {
		most = lateReadsWithin
	}
	return r.look(ctx, late, slices.Concat(late, r.ours(left)), most, wait)
}

// lastLook polls once more the machines that did not answer before or that a refused request may still
// switch off.
func (r *restoration) lastLook(ctx context.Context, before look) look {
	var late []power.LeftOff
	for _, m := range before.late {
		if m.Refused != "" || m.reading.State == power.Unknown {
			late = append(late, m.LeftOff)
		}
	}
	return r.look(ctx, late, late, lateReadsWithin, nodesWait)
}

// look polls machines and reads the journal and the annotations on the nodes. It settles the machines
// that are on again, and reopens those of late that are off, except in a dry run.
func (r *restoration) look(ctx context.Context, late, poll []power.LeftOff, most, wait time.Duration) (l look) {
	var nodes []*cluster.Node
	var wg sync.WaitGroup
	wg.Go(func() { r.poll(ctx, poll, most) })
	wg.Go(func() { nodes, l.unseen = r.nodes(ctx, wait) })
	wg.Wait()
	l.at = time.Now()
	s := justListed(nodes, r.api)
	l.notes, l.kept = r.readNotes(s, l.unseen == nil)
	l.damaged, _ = r.journal.Damaged() // its error is the same as of LeftOffAll
	reopened := r.findLate(&l, late)
	left, err := r.journal.LeftOffAll()
	l.unread = err
	cordoned, _ := r.journal.LeftCordonedAll()
	l.elsewhere = r.others(left, r.journal.LateAll(), cordoned)
	for _, e := range cordoned {
		if r.journal.Cluster().Same(e.Of()) {
			l.cordoned = append(l.cordoned, e.Node)
		}
	}
	if r.dryRun { // otherwise the journal lists them
		left = append(left, reopened...)
	}
	for _, m := range r.ours(left) {
		is := offMachine{m, r.readings[m.Ops[0]], outage.Now{}}
		if n := s.Node(m.Node); n != nil && n.Ready == cluster.TriTrue {
			seen := session.BootSeen(s, n)
			is.now = outage.Now{ID: seen.Node.BootID, Ready: seen.ReadySince}
		}
		if !r.settle(&l, m, is.reading, s) {
			l.off = append(l.off, is)
		}
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
		r.readings[machines[i].Ops[0]] = reading.Reading
	}
}

// findLate sorts the machines that were on again, or whose power API refused the request. It returns
// those that are off, and reopens their operations in the journal: the power API may have carried out a
// request of this journal all the same.
func (r *restoration) findLate(l *look, late []power.LeftOff) (off []power.LeftOff) {
	for _, m := range late {
		is := offMachine{LeftOff: m, reading: r.readings[m.Ops[0]]}
		reopened := 0
		if on := cmp.Or(m.Binding.On, m.Binding.Off); is.reading.State == power.Off && is.reading.Proof == power.Proven && on != nil {
			reopened = 1
			if !r.dryRun {
				var err error
				reopened, err = r.journal.SeenOff(m.Node, *on, is.reading)
				l.notWritten(m.Node, err)
			}
		}
		at := m.Before.Asked.Local().Format(time.TimeOnly)
		if reopened > 0 {
			l.notice("%s is off (%s): the power API may have carried out lightsout's request of %s late or after refusing it, or somebody has switched it off since", m.Node, is.reading.Detail, at)
			off = append(off, m)
			continue
		}
		l.late = append(l.late, is)
		if m.Refused != "" && is.isOn() && l.at.Before(m.Until) {
			l.notice("%s is on; its power API refused the request of %s to %s %s (%s), but may carry it out until %s", m.Node, at, power.Verb(m.Action), m.Node, m.Refused, m.Until.Local().Format(time.TimeOnly))
		}
	}
	return off
}

// settle reports whether a machine is on again, and settles its operations in the journal.
func (r *restoration) settle(l *look, m power.LeftOff, reading power.Reading, s *cluster.Snapshot) bool {
	if r.machines.fleet == nil {
		return false
	}
	seen, on := r.machines.fleet.Evidence(m.Binding, reading)
	if n := s.Node(m.Node); on && !r.journal.Over(m, seen) && n != nil && n.Ready == cluster.TriTrue { // by its node it may have booted since
		seen = session.BootSeen(s, n)
	}
	if !on || !r.journal.Over(m, seen) {
		return false
	}
	l.back = append(l.back, m.Node)
	l.notice("%s is on already (%s)", m.Node, reading.Detail)
	if !r.dryRun {
		_, err := r.journal.SeenOn(seen)
		l.notWritten(m.Node, err)
	}
	return true
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

// unknown returns an error about each named node that no item and no machine of the look has.
func (l look) unknown(named []string, items []item) (err error) {
	for _, n := range named {
		refused := slices.ContainsFunc(l.late, func(m offMachine) bool { return m.Node == n && m.Refused != "" })
		if refused || slices.Contains(l.back, n) || slices.ContainsFunc(items, func(i item) bool { return i.node == n }) {
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
