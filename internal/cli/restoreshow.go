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
	"lightsout/internal/outage"
	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// show prints the state of each machine, as poll found it. It settles those that are on,
// unless dryRun is true, and returns how many there are to undo.
func (r *restoration) show(ctx context.Context, named, dryRun bool) (todo int) {
	if named && len(r.damaged)+len(r.left)+len(r.cordoned) > 0 {
		fmt.Printf("cluster %s:\n", power.Clean(cmp.Or(r.of.Name, "(unnamed)")))
	}
	if len(r.damaged) > 0 {
		fmt.Println(power.DamageText(r.journal, r.damaged) + ": lightsout polls every machine")
		todo++
	}
	r.showRefused()
	fleet := r.machines.fleet
	boots := sync.OnceValue(func() map[string]power.Seen { return r.boots(ctx) })
	var still []power.LeftOff
	for _, l := range r.left {
		var seen power.Seen
		var on bool
		reading := r.readings[l.Ops[0]]
		if fleet != nil {
			seen, on = fleet.Evidence(l.Binding, reading)
		}
		if on && !r.journal.Over(l, seen) { // the machine has not booted since
			seen = boots()[l.Node]
		}
		if on && r.journal.Over(l, seen) {
			fmt.Printf("%s is on already (%s)\n", l.Node, reading.Detail)
			r.back = append(r.back, l.Node)
			if dryRun {
				continue
			}
			if _, err := r.journal.SeenOn(seen); err != nil {
				fmt.Printf("%s  lightsout could not write that to the journal: %v\n", l.Node, err)
			}
			continue
		}
		if len(still) == 0 {
			fmt.Println("switched off by lightsout (in this journal), and not proven to be on again:")
		}
		still = append(still, l)
		word := offWord(reading)
		switch cant := l.CantTell(outage.Now{ID: seen.Node.BootID, Ready: seen.ReadySince}); {
		case cant != "":
			word = reading.With(reading.State.String()) + "; " + cant
		case (on || reading.State == power.Transitioning) && l.Until.After(time.Now()):
			word = fmt.Sprintf("was asked to %s %d s ago and is still %s (%s): it may go off within %d s",
				power.Verb(l.Action), int(time.Since(l.At).Seconds()), reading.State, reading.Detail, int(time.Until(l.Until).Seconds())+1)
		}
		fmt.Printf("  %s  %s  %s  requested %s\n", l.Node, word, view.MachineText(l.Binding), l.At.Local().Format(time.DateTime+" MST"))
	}
	r.left = still
	for _, e := range r.cordoned {
		fmt.Println("cordoned by lightsout: " + e.Node)
	}
	return todo + len(r.left) + len(r.cordoned)
}

// poll polls the machines that a request may still switch off, and then those that are off:
// restore powers on the latter whether they answer or not. lateAgain polls the former once
// more if they do not answer in time.
func (r *restoration) poll(ctx context.Context, dryRun bool) {
	most := showReadsWithin
	if dryRun {
		most = lateReadsWithin
	}
	ctx, end := within(ctx, most, "polling "+text.Count(len(r.left)+len(r.late), "machine", "machines"))
	defer end()
	r.read(ctx, r.late)
	r.read(ctx, r.left)
}

// read polls machines.
func (r *restoration) read(ctx context.Context, machines []power.LeftOff) {
	if r.machines.fleet == nil {
		return
	}
	bindings := make([]power.Binding, len(machines))
	for i, l := range machines {
		bindings[i] = l.Binding
	}
	for i, reading := range r.machines.fleet.Read(ctx, bindings) {
		r.readings[machines[i].Ops[0]] = reading.Reading
	}
}

// lateAgain is findLate in all clusters for the machines that did not answer before, or that a
// refused request may still switch off, after the others were powered on. The end lists those
// that it finds.
func lateAgain(ctx context.Context, all []*restoration) {
	var wg sync.WaitGroup
	for _, r := range all {
		r.late = slices.DeleteFunc(r.late, func(l power.LeftOff) bool {
			return r.readings[l.Ops[0]].State != power.Unknown && l.Refused == ""
		})
		wg.Go(func() {
			ctx, end := within(ctx, lateReadsWithin, "polling once more "+text.Count(len(r.late), "machine that was on again or whose power API refused", "machines that were on again or whose power APIs refused"))
			defer end()
			r.read(ctx, r.late)
		})
	}
	wg.Wait()
	for _, r := range all {
		r.findLate(false)
	}
}

// findLate finds machines that were on again, or whose power API refused the request, and that
// poll found off: the power API may have carried out a request of this journal all the same. It
// moves them to those that are off, and reopens their operations, unless dryRun is true.
func (r *restoration) findLate(dryRun bool) {
	r.late = slices.DeleteFunc(r.late, func(l power.LeftOff) bool { return r.found(l, dryRun) })
}

// found reports whether poll found a machine off, as findLate does.
func (r *restoration) found(l power.LeftOff, dryRun bool) bool {
	reading := r.readings[l.Ops[0]]
	m := cmp.Or(l.Binding.On, l.Binding.Off)
	if reading.State != power.Off || reading.Proof != power.Proven || m == nil {
		return false
	}
	if !dryRun {
		n, err := r.journal.SeenOff(l.Node, *m, reading)
		if err != nil {
			fmt.Printf("%s  lightsout could not write that to the journal: %v\n", l.Node, err)
		}
		if n == 0 {
			return false
		}
	}
	fmt.Printf("%s is off (%s): the power API may have carried out lightsout's request of %s late or after refusing it, or somebody has switched it off since\n", l.Node, reading.Detail, l.Before.Asked.Local().Format(time.TimeOnly))
	r.left = append(r.left, l)
	return true
}

// mayGoOff reports whether a power API refused to switch a machine off, and the last poll did not
// prove that the machine is on.
func (r *restoration) mayGoOff(l power.LeftOff) bool { return l.Refused != "" && !r.isOn(l) }

// isOn reports whether the last poll proved that a machine is on.
func (r *restoration) isOn(l power.LeftOff) bool {
	reading := r.readings[l.Ops[0]]
	return reading.State == power.On && reading.Proof == power.Proven
}

// refused returns an error about each machine that mayGoOff.
func (r *restoration) refused() (err error) {
	for _, l := range r.late {
		if !r.mayGoOff(l) {
			continue
		}
		may := "may be off"
		if time.Now().Before(l.Until) {
			may += " or go off until " + l.Until.Local().Format(time.TimeOnly)
		}
		err = errors.Join(err, fmt.Errorf("%s %s: its power API refused the request to %s %s (%s) but may carry it out, and it is not proven to be on (%s); repeat this command",
			l.Node, may, power.Verb(l.Action), l.Node, l.Refused, offWord(r.readings[l.Ops[0]])))
	}
	return err
}

// showRefused prints the machines that are on, and that a power API may still switch off although
// it refused to.
func (r *restoration) showRefused() {
	for _, l := range r.late {
		if l.Refused != "" && r.isOn(l) && time.Now().Before(l.Until) {
			fmt.Printf("%s is on; its power API refused the request of %s to %s %s (%s), but may carry it out until %s\n",
				l.Node, l.Before.Asked.Local().Format(time.TimeOnly), power.Verb(l.Action), l.Node, l.Refused, l.Until.Local().Format(time.TimeOnly))
		}
	}
}

// boots returns the boots of the cluster's Ready nodes, if its API server answers and
// proves that it belongs to this cluster. No caller depends on the result.
func (r *restoration) boots(ctx context.Context) map[string]power.Seen {
	nodes, err := r.nodes(ctx)
	if err != nil || !r.certain {
		return nil
	}
	out, s := map[string]power.Seen{}, justListed(nodes, r.server)
	for _, n := range nodes {
		if n.Ready == cluster.TriTrue {
			out[n.Name] = session.BootSeen(s, n)
		}
	}
	return out
}

// offWord describes how certain it is that a machine is off.
func offWord(r power.Reading) string {
	text := r.State.String()
	switch {
	case r.State == power.Off && r.Proof != power.Proven:
		text = "presumed off"
	case r.State == power.Unknown:
		text = "state unknown"
	}
	return r.With(text)
}

// ownNames returns the nodes of this journal that are off; if named is not empty, only
// those.
func (r *restoration) ownNames(named []string) (names []string) {
	for _, l := range r.left {
		names = append(names, l.Node)
	}
	return among(names, named)
}

// cordonedNames returns the nodes that lightsout cordoned; if named is not empty, only
// those.
func (r *restoration) cordonedNames(named []string) (names []string) {
	for _, e := range r.cordoned {
		names = append(names, e.Node)
	}
	return among(names, named)
}

// stillCordoned returns the nodes that lightsout cordoned and was not asked to uncordon. An
// error names those that it could not uncordon.
func (r *restoration) stillCordoned() []string {
	return slices.DeleteFunc(r.cordonedNames(nil), func(n string) bool { return slices.Contains(r.uncordoned, n) })
}

func among(names, named []string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return len(named) > 0 && !slices.Contains(named, n) })
}

// foreignOn returns the foreign machine of the node; nil if there is none.
func (r *restoration) foreignOn(node string) *foreign {
	for i := range r.foreign {
		if r.foreign[i].node == node {
			return &r.foreign[i]
		}
	}
	return nil
}

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

// stillOff returns the nodes that the journal lists as off now, including those that
// another program has switched off meanwhile, and those of r.left to whichever cluster the
// configuration led. It omits machines that a dry run found on, which stay in the journal,
// and those that an earlier error named: others are the nodes whose notes by others are
// still there.
func (r *restoration) stillOff(dryRun bool, others []string) (names []string) {
	left, _ := r.journal.LeftOffAll() // an earlier line reported its error
	for _, l := range left {
		if !l.Of().Same(r.journal.Cluster()) && !slices.ContainsFunc(r.left, func(was power.LeftOff) bool { return sharesOp(was, l) }) {
			continue
		}
		named := r.foreignOn(l.Node) != nil && slices.Contains(others, l.Node)
		if name := leftName(l, r.journal.Config()); !named && !slices.Contains(r.withheld, l.Node) && !slices.Contains(names, name) && (!dryRun || !slices.Contains(r.back, l.Node)) {
			names = append(names, name)
		}
	}
	return names
}

// sharesOp reports whether two entries of machines that are off have an operation in common.
func sharesOp(a, b power.LeftOff) bool {
	return slices.ContainsFunc(a.Ops, func(op string) bool { return slices.Contains(b.Ops, op) })
}
