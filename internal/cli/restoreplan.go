package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/internal/outage"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// kind is what restore found out about a node.
type kind int

// Kinds. What lightsout did here, restore undoes; somebody else may need a machine of the other kinds off.
const (
	ours      kind = iota // this journal lists its machine as off, or as one that may go off
	takenOver             // so it does, and another journal has switched it off since
	others                // another journal has switched its machine off
	nobodys               // its machine is off, and nobody names who switched it off
	cordoned              // lightsout has cordoned it
	elsewhere             // another call restores it
)

// machine reports whether a kind is about a machine of this call that is off, or may be.
func (k kind) machine() bool { return k < cordoned }

// do is what restore does with a node, or why it leaves it as it is.
type do string

const (
	doPowerOn    do = "power on"
	doUncordon   do = "uncordon"
	leaveAway    do = "leave: another call restores it"
	leaveUnnamed do = "leave: this call names other nodes"
	leaveUnasked do = "leave: it is not lightsout's here, and nobody is asked"
)

// ask is how the operator agrees to what restore does.
type ask int

const (
	askNobody   ask = iota // --yes, or there is nothing to do
	askTogether            // one question for all
	askAlone               // one question for this node
)

// item is one node that is off or cordoned, or may be, and what this call decides about it.
type item struct {
	node string
	kind kind
	why  string // of elsewhere, it ends with the command that restores the node
	do   do
	ask  ask
}

// leaves reports whether this call does nothing with the node.
func (i item) leaves() bool { return i.do != doPowerOn && i.do != doUncordon }

// call is how restore was called: with these nodes, with --yes, and at a terminal or not.
type call struct {
	named         []string
	yes, terminal bool
}

// decide is the one place that says what restore does with a node, and why it leaves a machine off. Two things
// can still end otherwise: the operator says no, or the machine can't be powered on. A machine that
// is on is not listed: see power/evidence.go.
func (c call) decide(i item) item {
	named := slices.Contains(c.named, i.node)
	switch {
	case i.kind == elsewhere:
		i.do = leaveAway
	case len(c.named) > 0 && !named:
		i.do = leaveUnnamed
	case i.kind == cordoned:
		i.do, i.ask = doUncordon, askTogether
	case i.kind == ours:
		i.do, i.ask = doPowerOn, askTogether
	case !named && (c.yes || !c.terminal):
		i.do = leaveUnasked
	default:
		i.do, i.ask = doPowerOn, askAlone
	}
	if c.yes {
		i.ask = askNobody
	}
	return i
}

// planRestore decides about each node that is off or cordoned; it is empty if none is.
func planRestore(f facts, c call) (items []item) {
	add := func(i item) {
		if !slices.ContainsFunc(items, func(o item) bool {
			return o.node == i.node && (o.kind == i.kind || o.kind.machine() && i.kind.machine())
		}) {
			items = append(items, c.decide(i))
		}
	}
	for _, m := range f.off {
		i := item{node: m.Node, kind: ours, why: offWhy(m, f.at)}
		if o := power.OwnershipOf(m.Node, []power.LeftOff{m.LeftOff}, f.notes); o.Owner == power.TakenOver {
			i.kind, i.why = takenOver, "it "+o.SwitchedOff()
		}
		add(i)
	}
	for _, n := range f.notes {
		add(item{node: n.Node, kind: others, why: noteWhy(n)})
	}
	for _, o := range f.unnamed {
		i := item{node: o.Node, kind: nobodys, why: "it is off, and neither the journal nor an annotation names who switched it off"}
		if o.Note != (power.Note{}) {
			i.kind, i.why = others, noteWhy(o)
		}
		add(i)
	}
	for _, n := range f.cordoned {
		add(item{node: n, kind: cordoned})
	}
	for _, e := range f.elsewhere {
		add(e)
	}
	return items
}

// nodesOf returns the nodes of these kinds.
func nodesOf(items []item, kinds ...kind) (nodes []string) {
	for _, i := range items {
		if slices.Contains(kinds, i.kind) {
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
	switch {
	case m.Before.Seen(m.now) == outage.CantTell:
		word = m.reading.With(word) + "; " + m.CantTell(m.now)
	case m.Standing(m.reading) == power.MayGoOff && m.Until.After(now):
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
func noteWhy(n power.NodeNote) string { return "it " + power.Ownership{Other: n}.SwitchedOff() }

// showItems prints notices, and the items that restore can do something about.
func showItems(notices []string, items []item) {
	for _, n := range notices {
		fmt.Println(n)
	}
	if len(nodesOf(items, ours)) > 0 {
		fmt.Println("switched off by lightsout (in this journal), and not proven to be on again:")
	}
	for _, i := range items {
		switch i.kind {
		case takenOver:
			fmt.Printf("in this journal: %s: %s\n", i.node, i.why)
		case others, nobodys:
			fmt.Printf("not in this journal: %s: %s\n", i.node, i.why)
		case ours:
			fmt.Printf("  %s  %s\n", i.node, i.why)
		case cordoned:
			fmt.Printf("cordoned by lightsout: %s\n", i.node)
		}
	}
}

// leftErrors returns an error about each kind of item that is left, with the command that helps.
func leftErrors(items []item, command string) (errs []error) {
	errs = leftover{off: nodesOf(items, ours), cordoned: nodesOf(items, cordoned)}.errors(command)
	if nodes := strings.Join(nodesOf(items, takenOver, others), " "); nodes != "" {
		errs = append(errs, fmt.Errorf("others have switched off %s: use the commands above; to power on anyway: %s %s; if a machine is on, remove its annotation: kubectl annotate node NODE %s-", nodes, command, nodes, power.AnnotationSwitchedOff))
	}
	if nodes := strings.Join(nodesOf(items, nobodys), " "); nodes != "" {
		errs = append(errs, fmt.Errorf("nobody knows who has switched off %s; to power on: %s %s", nodes, command, nodes))
	}
	nodes := map[string]string{} // with the same command
	for _, i := range items {
		if i.kind == elsewhere {
			nodes[i.why] += " " + i.node
		}
	}
	for _, why := range slices.Sorted(maps.Keys(nodes)) {
		errs = append(errs, fmt.Errorf("%s%s%s", strings.TrimSpace(nodes[why]), why, nodes[why]))
	}
	return errs
}
