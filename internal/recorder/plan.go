package recorder

import (
	"maps"
	"slices"
	"time"

	"lightsout/cluster"
	boots "lightsout/internal/outage"
	"lightsout/power"
)

// plannedOff is the planned switch-off of a node's machine: lightsout annotates the node before,
// and removes that when the node is back.
type plannedOff struct {
	note power.Note
	text string // of the annotation
	// since is when the recorder saw the annotation, removed when it was gone.
	since, removed time.Time
	// down: the node has been silent or not Ready.
	down bool
	// back is when the node had returned, though the annotation may stay: somebody else powered
	// it on. ended is then, or returnsWithin after removed.
	back, ended time.Time
}

const (
	// returnsWithin is how long after the end of a plan its machine may boot: servers test
	// their memory for minutes.
	returnsWithin = 10 * time.Minute
	// plannedGoes is how long an annotated node may stay up until its machine goes off. A
	// lightsout that ended before its request leaves a node that stays up.
	plannedGoes = 45 * time.Second
)

// plans are the newest planned switch-offs of each node.
type plans map[string]*plannedOff

// overdue reports whether the node should be back since its plan ended.
func (all plans) overdue(node string) bool {
	p := all[node]
	return p != nil && p.back.IsZero() && !p.ended.IsZero()
}

// follow follows which nodes lightsout has switched off, and returns those that have gone down.
// One that isDown before it is annotated was not planned.
func (all plans) follow(s *cluster.Snapshot, isDown func(node string) bool, now time.Time) (went []string) {
	for _, n := range s.Nodes() {
		text := n.Annotations[power.AnnotationSwitchedOff]
		switch p := all[n.Name]; {
		case text == "":
			if p != nil && p.removed.IsZero() {
				p.removed = now
			}
		case p == nil || p.text != text && !p.back.IsZero():
			if !isDown(n.Name) {
				all[n.Name] = &plannedOff{note: power.NotesOn(n.Annotations)[0], text: text, since: now}
			}
		case p.text != text: // somebody else annotated the node too: it is the same outage
			p.text, p.note, p.removed = text, power.NotesOn(n.Annotations)[0], time.Time{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		was := p.down
		if p.back.IsZero() {
			p.observe(s, s.Node(name), now)
		}
		if p.down && !was {
			went = append(went, name)
		}
	}
	return went
}

// observe finds out whether the node is down, or back.
func (p *plannedOff) observe(s *cluster.Snapshot, n *cluster.Node, now time.Time) {
	if n == nil {
		p.back = now
	} else {
		_, heard := n.Heartbeat()
		_, silent := s.Silent(n, now)
		// A kubelet renews its Lease before its node is Ready, and the object may be older than its machine's boot.
		up := n.Ready == cluster.TriTrue && !silent && (heard.IsZero() || heard.After(p.removed))
		boot := boots.Before{ID: p.note.Boot, Asked: p.since}.Seen(s.Boot(n))
		stayed := !p.down && now.Sub(p.since) > plannedGoes
		if up && (boot == boots.Booted || p.down && boot == boots.CantTell || stayed || !p.removed.IsZero()) {
			p.back = now
		}
		p.down = p.down || !up
	}
	overdue := !p.removed.IsZero() && now.Sub(p.removed) >= returnsWithin
	if p.ended.IsZero() && (overdue || !p.back.IsZero()) {
		p.ended = now
	}
}
