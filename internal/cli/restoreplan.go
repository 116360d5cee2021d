package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// Why restore leaves a machine off: planRestore and among decide what a call is about, elsewhere (restorelook.go)
// names what another call restores, and confirm (restore.go) has what the operator does not agree to. A machine that
// is on is not listed: see power/evidence.go.

// do is what restore does with a node.
type do string

const (
	doPowerOn  do = "power on"
	doUncordon do = "uncordon"
	doLeave    do = "leave" // another call restores it
)

// item is one node that is off or cordoned, or may be, and what to do about it.
type item struct {
	node string
	do   do
	why  string // of doLeave, it ends with the command that restores the node
	by   power.Owner
}

// asks reports whether the operator decides about the node alone, as somebody else may need it off.
func (i item) asks() bool { return i.by != power.Ours }

// planRestore returns what is to be restored; it is empty if nothing is off or cordoned.
func planRestore(f facts) (items []item) {
	add := func(i item) {
		if !slices.ContainsFunc(items, func(o item) bool { return o.node == i.node && o.do == i.do }) {
			items = append(items, i)
		}
	}
	for _, m := range f.off {
		i := item{m.Node, doPowerOn, offWhy(m, f.at), power.Ours}
		if o := power.OwnershipOf(m.Node, []power.LeftOff{m.LeftOff}, f.notes); o.Owner == power.TakenOver {
			i.why, i.by = "another journal has switched it off since: "+o.Other.Note.String(), power.TakenOver
		}
		add(i)
	}
	for _, n := range f.notes {
		add(item{n.Node, doPowerOn, noteWhy(n.Note), power.Others})
	}
	for _, o := range f.unnamed {
		i := item{o.Node, doPowerOn, "it is off, and neither the journal nor an annotation names who switched it off", power.Nobody}
		if o.By != (power.Note{}) {
			i.why, i.by = noteWhy(o.By), power.Others
		}
		add(i)
	}
	for _, n := range f.cordoned {
		add(item{n, doUncordon, "", power.Ours})
	}
	for _, e := range f.elsewhere {
		add(e)
	}
	return items
}

// among returns the items that an operator wants who names these nodes: all of them if none is named.
// With yes nobody is asked, so it omits the machines of others that are not named.
func among(items []item, named []string, yes bool) []item {
	return slices.DeleteFunc(slices.Clone(items), func(i item) bool {
		is := slices.Contains(named, i.node)
		return i.do == doLeave || len(named) > 0 && !is || i.asks() && yes && !is
	})
}

// nodesOf returns the nodes with something to do whose machines one of these has switched off.
func nodesOf(items []item, d do, by ...power.Owner) (nodes []string) {
	for _, i := range items {
		if i.do == d && slices.Contains(by, i.by) {
			nodes = append(nodes, i.node)
		}
	}
	return nodes
}

// unknownNodes returns an error about each named node that no item has and that is not back.
func unknownNodes(named, back []string, items []item) (err error) {
	for _, n := range named {
		if slices.Contains(back, n) || slices.ContainsFunc(items, func(i item) bool { return i.node == n }) {
			continue
		}
		err = errors.Join(err, fmt.Errorf("neither the journal nor an annotation lists %s as off or cordoned; power it on with: lightsout power on %s", power.Clean(n), text.ShellWord(power.Clean(n))))
	}
	return err
}

// offWhy describes a machine that the journal lists as off.
func offWhy(m offMachine, now time.Time) string {
	word, state := m.reading.State.String(), m.reading.State
	on := state == power.Transitioning || state == power.On && m.reading.Proof == power.Proven
	switch cant := m.CantTell(m.now); {
	case cant != "":
		word = m.reading.With(word) + "; " + cant
	case on && m.Until.After(now):
		word = fmt.Sprintf("was asked to %s %d s ago and is still %s (%s): it may go off within %d s",
			power.Verb(m.Action), int(now.Sub(m.At).Seconds()), state, m.reading.Detail, int(m.Until.Sub(now).Seconds())+1)
	case state == power.Off && m.reading.Proof != power.Proven:
		word = m.reading.With("presumed off")
	case state == power.Unknown:
		word = m.reading.With("state unknown")
	default:
		word = m.reading.With(word)
	}
	return fmt.Sprintf("%s  %s  requested %s", word, view.MachineText(m.Binding), m.At.Local().Format(time.DateTime+" MST"))
}

// noteWhy describes the annotation of a machine that this journal does not list as off.
func noteWhy(n power.Note) string { return "it was switched off by " + n.String() }

// showItems prints notices, and the items that restore can do something about.
func showItems(notices []string, items []item) {
	for _, n := range notices {
		fmt.Println(n)
	}
	if len(nodesOf(items, doPowerOn, power.Ours)) > 0 {
		fmt.Println("switched off by lightsout (in this journal), and not proven to be on again:")
	}
	for _, i := range items {
		switch {
		case i.by == power.TakenOver:
			fmt.Printf("in this journal: %s: %s\n", i.node, i.why)
		case i.asks():
			fmt.Printf("not in this journal: %s: %s\n", i.node, i.why)
		case i.do == doPowerOn:
			fmt.Printf("  %s  %s\n", i.node, i.why)
		case i.do == doUncordon:
			fmt.Printf("cordoned by lightsout: %s\n", i.node)
		}
	}
}

// leftErrors returns an error about each kind of item that is left, with the command that helps.
func leftErrors(items []item, command string) (errs []error) {
	errs = leftover{off: nodesOf(items, doPowerOn, power.Ours), cordoned: nodesOf(items, doUncordon, power.Ours)}.errors(command)
	if nodes := strings.Join(nodesOf(items, doPowerOn, power.TakenOver, power.Others), " "); nodes != "" {
		errs = append(errs, fmt.Errorf("others have switched off %s: use the commands above; to power on anyway: %s %s; if a machine is on, remove its annotation: kubectl annotate node NODE %s-", nodes, command, nodes, power.AnnotationSwitchedOff))
	}
	if nodes := strings.Join(nodesOf(items, doPowerOn, power.Nobody), " "); nodes != "" {
		errs = append(errs, fmt.Errorf("nobody knows who has switched off %s; to power on: %s %s", nodes, command, nodes))
	}
	nodes := map[string]string{} // with the same command
	for _, i := range items {
		if i.do == doLeave {
			nodes[i.why] += " " + i.node
		}
	}
	for _, why := range slices.Sorted(maps.Keys(nodes)) {
		errs = append(errs, fmt.Errorf("%s%s%s", strings.TrimSpace(nodes[why]), why, nodes[why]))
	}
	return errs
}
