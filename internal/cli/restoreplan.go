package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/internal/outage"
	"lightsout/internal/view"
	"lightsout/power"
)

// facts are what lightsout knows, at one moment, of a cluster that it restores.
type facts struct {
	at time.Time
	// off are the machines that the journal lists as off or as ones that may go off.
	off []offMachine
	// notes are the annotations of other journals on nodes. unnamed are machines that are off and that
	// the journal, which is damaged, does not list.
	notes    []power.NodeNote
	unnamed  []power.OffMachine
	cordoned []string
	// elsewhere are machines and nodes in the journal that another call restores.
	elsewhere []elsewhere
}

// offMachine is a machine of the journal, with the last reading of its driver, and what is known of its
// node's boot now, if that is Ready.
type offMachine struct {
	power.LeftOff
	reading power.Reading
	now     outage.Now
}

// isOn reports whether the reading proves that the machine is on.
func (m offMachine) isOn() bool {
	return m.reading.Proves(power.On)
}

// elsewhere are nodes of the journal of another cluster or config file.
type elsewhere struct {
	nodes []string
	why   string // and which command restores them
}

// do is what restore does with a node.
type do string

const (
	doPowerOn  do = "power on"
	doUncordon do = "uncordon"
	doLeave    do = "leave" // this call changes nothing about it
)

// item is one node that is off or cordoned, or may be, and what to do about it.
type item struct {
	node string
	do   do
	why  string
	// ask: somebody else may have switched the machine off, so the operator decides about it alone.
	ask bool
}

// planRestore returns what is to be restored; it is empty if nothing is off or cordoned.
func planRestore(f facts) (items []item) {
	add := func(i item) {
		if !slices.ContainsFunc(items, func(o item) bool { return o.node == i.node && o.do == i.do && (i.do != doLeave || o.why == i.why) }) {
			items = append(items, i)
		}
	}
	for _, m := range f.off {
		i := item{m.Node, doPowerOn, offWhy(m, f.at), false}
		if n := slices.IndexFunc(f.notes, func(n power.NodeNote) bool { return n.Since(m.LeftOff) }); n >= 0 {
			i.why, i.ask = "another journal has switched it off since: "+f.notes[n].Note.String(), true
		}
		add(i)
	}
	for _, n := range f.notes {
		add(item{n.Node, doPowerOn, noteWhy(n), true})
	}
	for _, o := range f.unnamed {
		why := "it is off, and neither the journal nor an annotation names who switched it off"
		if o.By != (power.Note{}) {
			why = "it is off, and was switched off by " + o.By.String()
		}
		add(item{o.Node, doPowerOn, why, true})
	}
	for _, n := range f.cordoned {
		add(item{n, doUncordon, "cordoned by lightsout", false})
	}
	for _, e := range f.elsewhere {
		for _, n := range e.nodes {
			add(item{n, doLeave, e.why, false})
		}
	}
	return items
}

// among returns the items that an operator wants who names these nodes: all of them if none is named.
// With yes nobody is asked, so it omits the machines of others that are not named.
func among(items []item, named []string, yes bool) []item {
	return slices.DeleteFunc(slices.Clone(items), func(i item) bool {
		is := slices.Contains(named, i.node)
		return i.do == doLeave || len(named) > 0 && !is || i.ask && yes && !is
	})
}

// still returns the chosen items that hold by a later plan: meanwhile somebody else may have switched
// a machine off.
func still(chosen, later []item) []item {
	return slices.DeleteFunc(chosen, func(i item) bool {
		return !i.ask && slices.ContainsFunc(later, func(l item) bool { return l.ask && l.node == i.node && l.do == i.do })
	})
}

// nodesOf returns the nodes with something to do, asked about together or one by one.
func nodesOf(items []item, d do, ask bool) (nodes []string) {
	for _, i := range items {
		if i.do == d && i.ask == ask {
			nodes = append(nodes, i.node)
		}
	}
	return nodes
}

// offWhy describes a machine that the journal lists as off.
func offWhy(m offMachine, now time.Time) string {
	word := offWord(m.reading)
	switch cant := m.CantTell(m.now); {
	case cant != "":
		word = m.reading.With(m.reading.State.String()) + "; " + cant
	case (m.isOn() || m.reading.State == power.Transitioning) && m.Until.After(now):
		word = fmt.Sprintf("was asked to %s %d s ago and is still %s (%s): it may go off within %d s",
			power.Verb(m.Action), int(now.Sub(m.At).Seconds()), m.reading.State, m.reading.Detail, int(m.Until.Sub(now).Seconds())+1)
	}
	if m.Refused != "" {
		word += fmt.Sprintf("; its power API refused the request (%s) but may carry it out", m.Refused)
	}
	return fmt.Sprintf("%s  %s  requested %s", word, view.MachineText(m.Binding), m.At.Local().Format(time.DateTime+" MST"))
}

// offWord describes how certain it is that a machine is off.
func offWord(r power.Reading) string {
	word := r.State.String()
	switch {
	case r.State == power.Off && !r.Proves(power.Off):
		word = "presumed off"
	case r.State == power.Unknown:
		word = "state unknown"
	}
	return r.With(word)
}

// noteWhy describes the annotation of a machine that this journal does not list as off.
func noteWhy(n power.NodeNote) string {
	return "it was switched off by " + n.Note.String()
}

// showItems prints the items that restore can do something about.
func showItems(items []item) {
	if len(nodesOf(items, doPowerOn, false)) > 0 {
		fmt.Println("switched off by lightsout (in this journal), and not proven to be on again:")
	}
	for _, i := range items {
		switch {
		case i.ask:
			fmt.Printf("not in this journal: %s: %s\n", i.node, i.why)
		case i.do == doPowerOn:
			fmt.Printf("  %s  %s\n", i.node, i.why)
		case i.do == doUncordon:
			fmt.Printf("cordoned by lightsout: %s\n", i.node)
		}
	}
}

// leftErrors returns an error about each kind of item that is left, with the command that helps.
func leftErrors(items []item, dryRun bool) (errs []error) {
	again := "repeat this command"
	if dryRun {
		again += " without --dry-run"
	}
	say := func(nodes []string, format string, args ...any) {
		if len(nodes) > 0 {
			errs = append(errs, fmt.Errorf(format, append([]any{strings.Join(nodes, ", ")}, args...)...))
		}
	}
	with := func(nodes []string) string { return again + " with: " + strings.Join(nodes, " ") }
	own, others, cordoned := nodesOf(items, doPowerOn, false), nodesOf(items, doPowerOn, true), nodesOf(items, doUncordon, false)
	say(own, "the journal still lists as off: %s; %s", again)
	say(others, "others have switched off %s: use the commands above; to power on anyway, %s; if a machine is on, remove its annotation: kubectl annotate node NODE %s-",
		with(others), power.AnnotationSwitchedOff)
	say(cordoned, "lightsout has cordoned %s; to uncordon, %s, or: kubectl uncordon %s", with(cordoned), strings.Join(cordoned, " "))
	alike := map[string][]string{} // nodes, by why
	for _, i := range items {
		if i.do == doLeave {
			alike[i.why] = append(alike[i.why], i.node)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(alike)) {
		say(alike[why], "%s %s", why)
	}
	return errs
}
