package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/internal/outage"
	"lightsout/internal/restore"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// restoreItem is one node that is off or cordoned, or may be, with the decision of this call about it.
type restoreItem struct {
	restore.Decision
	why     string // in which state it is
	command string // of restore.Elsewhere: the one that restores the node, if its name follows
}

// leaves reports whether this call does nothing with the node.
func (i restoreItem) leaves() bool { return i.Do == restore.Leave }

// planRestore decides about each node that is off or cordoned; it is empty if none is.
func planRestore(f restoreFacts, c restore.Caller) (items []restoreItem) {
	add := func(node string, k restore.Kind, by power.Ownership, why, command string) {
		if by.Owner != power.Ours {
			why = "it " + cmp.Or(by.SwitchedOff(), "is off, and neither the journal nor an annotation names who switched it off")
		}
		if !slices.ContainsFunc(items, func(o restoreItem) bool { return o.Node == node && o.Kind == k }) {
			items = append(items, restoreItem{c.Decide(node, k, by), why, command})
		}
	}
	ours := power.Ownership{Owner: power.Ours}
	for _, m := range f.off {
		add(m.Node, restore.Machine, power.OwnershipOf(m.Node, []power.LeftOff{m.LeftOff}, f.notes), offWhy(m, f.at), "")
	}
	for _, n := range slices.Concat(f.notes, f.unnamed) {
		add(n.Node, restore.Machine, power.OwnershipOf(n.Node, nil, []power.NodeNote{n}), "", "")
	}
	for _, n := range f.cordoned {
		add(n, restore.Cordon, ours, "", "")
	}
	for _, e := range f.elsewhere {
		add(e.node, restore.Elsewhere, ours, e.what, e.command)
	}
	return items
}

// nodesOf returns the nodes of the items of a kind that these owners have left so.
func nodesOf(items []restoreItem, k restore.Kind, owners ...power.Owner) (nodes []string) {
	for _, i := range items {
		if i.Kind == k && slices.Contains(owners, i.Ownership.Owner) {
			nodes = append(nodes, i.Node)
		}
	}
	return nodes
}

// unknownNodes returns an error about each named node that no item has and that is not back.
func unknownNodes(named, back []string, items []restoreItem) (err error) {
	for _, n := range named {
		if slices.Contains(back, n) || slices.ContainsFunc(items, func(i restoreItem) bool { return i.Node == n }) {
			continue
		}
		err = errors.Join(err, fmt.Errorf("neither the journal nor an annotation lists %s as off or cordoned; power it on with: %s power on %s", power.Clean(n), text.Self, text.ShellWord(power.Clean(n))))
	}
	return err
}

// offWhy describes a machine that the journal lists as off, with the program that switched it off if that still runs.
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
	return fmt.Sprintf("%s  %s  requested %s", word, view.MachineText(m.Binding), cmp.Or(m.Running(), m.At.Local().Format(time.DateTime+" MST")))
}

// showItems prints notices, and of each item its state and, if this call leaves it as it is, the reason.
func showItems(notices []string, items []restoreItem) {
	for _, n := range notices {
		fmt.Println(n)
	}
	if len(nodesOf(items, restore.Machine, power.Ours)) > 0 {
		fmt.Println("switched off by lightsout (in this journal), and not proven to be on again:")
	}
	for _, i := range items {
		form, left := "not in this journal: %s: %s%s\n", ""
		switch {
		case i.Kind == restore.Elsewhere:
			form = "%s %s%s\n"
		case i.Kind == restore.Cordon:
			form = "cordoned by lightsout: %s%s%s\n"
		case i.Ownership.Owner == power.Ours:
			form = "  %s  %s%s\n"
		case i.Ownership.Owner == power.TakenOver:
			form = "in this journal: %s: %s%s\n"
		}
		if i.leaves() {
			left = "; left as it is: " + i.Reason
		}
		fmt.Printf(form, i.Node, i.why, left)
	}
}

// leftErrors returns an error about each kind of item that is left, with the command that helps.
func leftErrors(items []restoreItem, command string) (errs []error) {
	errs = leftover{off: nodesOf(items, restore.Machine, power.Ours), cordoned: nodesOf(items, restore.Cordon, power.Ours)}.errors(command)
	if nodes := strings.Join(nodesOf(items, restore.Machine, power.TakenOver, power.Others), " "); nodes != "" {
		errs = append(errs, fmt.Errorf("others have asked %s to go off: use the commands above; to power on anyway: %s %s; if a machine is on, remove its annotation: kubectl annotate node NODE %s-", nodes, command, nodes, power.AnnotationSwitchedOff))
	}
	if nodes := strings.Join(nodesOf(items, restore.Machine, power.Nobody), " "); nodes != "" {
		errs = append(errs, fmt.Errorf("nobody knows who has switched off %s; to power on: %s %s", nodes, command, nodes))
	}
	nodes := map[string]string{} // with the same command
	for _, i := range items {
		if i.Kind == restore.Elsewhere {
			nodes[i.why+"; restore with: "+i.command] += " " + i.Node
		}
	}
	for _, left := range slices.Sorted(maps.Keys(nodes)) {
		errs = append(errs, fmt.Errorf("%s %s%s", strings.TrimSpace(nodes[left]), left, nodes[left]))
	}
	return errs
}
