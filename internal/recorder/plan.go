package recorder

import (
	"slices"
	"time"

	"lightsout/cluster"
	boots "lightsout/internal/outage"
	"lightsout/power"
)

// plannedOff is the planned switch-off of a node's machine: lightsout annotates the node before,
// and removes that when the node is back.
type plannedOff struct {
	node string
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
	// plansKept is for how long a plan is known after its end: a record names it.
	plansKept = 24 * time.Hour
)

// plans are the planned switch-offs, the oldest first.
type plans []*plannedOff

// of returns the newest plan of a node; nil if there is none.
func (all plans) of(node string) *plannedOff {
	for _, p := range slices.Backward(all) {
		if p.node == node {
			return p
		}
	}
	return nil
}

// overdue reports whether the node should be back since its plan ended.
func (all plans) overdue(node string) bool {
	p := all.of(node)
	return p != nil && p.back.IsZero() && !p.ended.IsZero()
}

// returning adds the plans that ended before the recorder began: lightsout powered the nodes on then.
func (all *plans) returning(on map[string]time.Time, now time.Time) {
	for name, at := range on {
		if ago := now.Sub(at); ago >= 0 && ago < returnsWithin {
			*all = append(*all, &plannedOff{node: name, since: at, removed: at, down: true})
		}
	}
}

// follow follows which nodes lightsout has switched off, and returns those that have gone down.
// One that isDown before it is annotated was not planned.
func (all *plans) follow(s *cluster.Snapshot, isDown func(node string) bool, now time.Time) (went []*plannedOff) {
	for _, n := range s.Nodes() {
		text := n.Annotations[power.AnnotationSwitchedOff]
		if text == "" && len(*all) == 0 {
			continue
		}
		switch p := all.of(n.Name); {
		case text == "":
			if p != nil && p.removed.IsZero() {
				p.removed = now
			}
		case p == nil || p.text != text && !p.back.IsZero():
			if !isDown(n.Name) {
				*all = append(*all, &plannedOff{node: n.Name, note: power.NotesOn(n.Annotations)[0], text: text, since: now})
			}
		case p.text != text: // somebody else annotated the node too: it is the same outage
			p.text, p.note, p.removed = text, power.NotesOn(n.Annotations)[0], time.Time{}
		}
	}
	*all = slices.DeleteFunc(*all, func(p *plannedOff) bool { return !p.back.IsZero() && now.Sub(p.back) > plansKept })
	for _, p := range *all {
		was := p.down
		if p.back.IsZero() {
			p.observe(s, now)
		}
		if p.down && !was {
			went = append(went, p)
		}
	}
	return went
}

// observe finds out whether the node is down, or back.
func (p *plannedOff) observe(s *cluster.Snapshot, now time.Time) {
	n := s.Node(p.node)
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

// since returns the plans of nodes that were down at that time or later. One that was annotated
// and stayed up is not among them.
func (all plans) downSince(at time.Time) (out plans) {
	for _, p := range all {
		if p.down && (p.ended.IsZero() || p.ended.After(at)) {
			out = append(out, p)
		}
	}
	return out
}
