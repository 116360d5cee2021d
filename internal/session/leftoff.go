package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/restore"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// readLeftOff reads from the journal which machines lightsout has left off.
func (m *machines) readLeftOff() bool {
	left, err := m.opt.Journal.LeftOff()
	if err != nil {
		m.warn(view.LanePower, "journal", err.Error())
		return false
	}
	m.leftOff, m.resolvedIn = make(map[string]power.LeftOff, len(left)), nil
	for _, l := range left {
		m.leftOff[l.Node] = l
		m.learn(l.Node, outage.Fact{Kind: outage.Listed, Before: l.Before})
	}
	for node, o := range m.outages {
		if _, listed := m.leftOff[node]; !listed {
			o.Apply(outage.Fact{Kind: outage.Settled, At: m.now()})
		}
	}
	return true
}

// off names the nodes whose machines are off according to the journal.
func (m *machines) off() []string { return slices.Sorted(maps.Keys(m.leftOff)) }

// down names the nodes whose machines are off or on their way off: by the journal, by their
// drivers, or because lightsout is switching them.
func (m *machines) down() []string {
	out := m.off()
	for node, v := range m.views {
		busy := v.Busy.GoesOff() && v.Stage != power.StageFailed
		if (busy || v.Reading.State == power.Off) && !slices.Contains(out, node) {
			out = append(out, node)
		}
	}
	slices.Sort(out)
	return out
}

// whyLeft says why lightsout leaves a machine off unless the operator chooses it: who else has switched it off.
// It is empty if lightsout powers it on: see restore.DecideOwn.
func (m *machines) whyLeft(node string) string {
	by := power.OwnershipOf(node, []power.LeftOff{m.leftOff[node]}, []power.NodeNote{m.taken[node].Other})
	if restore.DecideOwn(node, by).Do != restore.Leave {
		return ""
	}
	return by.SwitchedOff()
}

// own names the nodes whose machines are off because of us, and that lightsout powers on again: none if it may not.
func (m *machines) own() []string {
	return slices.DeleteFunc(m.off(), func(node string) bool { return m.opt.ReadOnly || m.whyLeft(node) != "" })
}

// standing returns how a node's machine stands. One that is being switched off may go off before the journal lists it.
func (m *machines) standing(node string) power.Standing {
	left, listed := m.leftOff[node]
	switch {
	case listed:
		return left.Standing(m.views[node].Reading)
	case m.views[node].GoesOff():
		return power.MayGoOff
	}
	return power.StandsOn
}

// word describes what is known of a machine of own.
func (m *machines) word(node string) string {
	switch standing, running := m.standing(node), m.leftOff[node].Running(); {
	case running != "":
		return fmt.Sprintf("listed as %s, requested %s", standing, running)
	case m.views[node].GoesOff():
		return "being switched off"
	case standing == power.StandsOff && !m.leftOff[node].WasOn.IsZero():
		return fmt.Sprintf("off again: it was on at %s, and went off later; lightsout counts it as its own for %.0f minutes after the request",
			m.leftOff[node].WasOn.Local().Format(time.TimeOnly), power.CarriedOutWithin.Minutes())
	case m.views[node].Reading.RequestedAt.IsZero(): // not polled yet
		return fmt.Sprintf("listed as %s after a request of %s, and not polled yet", standing, m.leftOff[node].Before.Asked.Local().Format(time.DateTime))
	case standing == power.MayGoOff:
		return "on, but may still go off by a request from here"
	case standing == power.MayBeOff:
		return "still off (requested, outcome unknown)"
	case m.snapshot == nil || m.snapshot.Link.State != cluster.LinkLive:
		return "last seen off"
	}
	return "still off"
}

// stillOff is a sentence about machines of own.
func (m *machines) stillOff(nodes []string) string {
	return strings.Join(alike(nodes, m.word, func(nodes []string, word string) string {
		return text.List(nodes) + text.Noun(len(nodes), " is ", " are ") + word
	}), "; ")
}

// alike writes the nodes of each word, in the order of the words.
func alike[T any](nodes []string, word func(node string) string, write func(nodes []string, word string) T) []T {
	by := map[string][]string{}
	for _, n := range nodes {
		by[word(n)] = append(by[word(n)], n)
	}
	return text.Each(slices.Sorted(maps.Keys(by)), func(word string) T { return write(by[word], word) })
}

// takenLines lists the machines that lightsout leaves off, with who has switched them off; nil if there are none.
func (m *machines) takenLines() []view.Line {
	nodes := slices.DeleteFunc(m.off(), func(node string) bool { return m.whyLeft(node) == "" })
	return listed("lightsout leaves these off:", nodes, func(node string) string { return " " + m.whyLeft(node) })
}

// lines lists the machines of own below a title; nil if there are none.
func (m *machines) lines(title string) []view.Line {
	return listed(title, m.own(), func(node string) string { return ": " + m.word(node) })
}

// listed are nodes below a title, with a note on those that are alike.
func listed(title string, nodes []string, note func(node string) string) []view.Line {
	if len(nodes) == 0 {
		return nil
	}
	return append([]view.Line{{Heading: true, Text: title}}, alike(nodes, note, func(nodes []string, note string) view.Line {
		return view.Line{Level: view.Warning, Text: "  " + text.List(nodes) + note}
	})...)
}

// settleReading tells the journal of a machine that its driver proves on or off: it may be on again, or off
// by a request that was carried out late, unless an annotation names who has switched it off. Another program may
// have told the journal already.
func (m *machines) settleReading(node string, r power.Reading) {
	seen, ok := m.opt.Fleet.Evidence(m.bindings[node], r)
	_, left := m.leftOff[node]
	if !ok || !left && (r.State == power.On || len(m.notes(node)) > 0) {
		return
	}
	if _, err := m.opt.Journal.Saw(seen); err != nil {
		m.warn(view.LanePower, node, err.Error())
	}
	m.readLeftOff()
}

// sayPlanned reports the machines that somebody else switches off by plan. was is the snapshot before.
func (m *machines) sayPlanned(was, s *cluster.Snapshot) {
	if s.Link.State != cluster.LinkLive {
		return
	}
	for _, node := range m.plans.Follow(was, s, m.now()) {
		if m.standing(node) == power.StandsOn { // otherwise the timeline has the request
			by := m.plans[node].By
			e := view.NewEvent(view.CodePlannedOff, node, view.Facts{Name: by})
			e.Kind = string(cluster.KindNode)
			m.say(e)
			m.guest.Handle(PlannedOff{node, by})
		}
	}
}

// notes returns the annotations that name who has switched a node's machine off.
func (m *machines) notes(node string) []power.Note {
	if m.snapshot == nil || m.snapshot.Node(node) == nil {
		return nil
	}
	return power.NotesOn(m.snapshot.Node(node).Annotations)
}

// settleBoots marks machines that we switched off as on again when their node is Ready
// after another boot, and says once of each other one that is Ready again that it can't tell. was is
// the snapshot before.
func (m *machines) settleBoots(was, s *cluster.Snapshot) {
	if s.Link.State != cluster.LinkLive {
		return
	}
	settled := false
	for name, l := range m.leftOff {
		n := s.Node(name)
		if n == nil || n.Ready != cluster.TriTrue {
			continue
		}
		answer := l.Before.Seen(s.Boot(n))
		if answer == outage.NotBooted {
			continue
		}
		over, err := m.opt.Journal.Saw(BootSeen(s, n))
		if err != nil {
			m.warn(view.LanePower, name, err.Error())
		}
		if !over && answer == outage.CantTell && (was == nil || l.Before.Seen(was.Boot(was.Node(name))) != outage.CantTell) {
			m.warn(view.LanePower, name, l.CantTell(s.Boot(n)))
		}
		settled = true // perhaps by another program
	}
	if settled {
		m.readLeftOff()
	}
}
