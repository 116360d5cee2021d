// Package planned follows which machines somebody has switched off by plan: lightsout annotates a node before
// it switches its machine off, and removes that when the node is back. The session and the recorder ask it.
package planned

import (
	"maps"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/power"
)

// Off is the planned switch-off of a node's machine.
type Off struct {
	By   string // who, by the annotation
	text string // of the annotation
	// Since is when the annotation was seen first, Removed when it was gone, Back when the node had
	// returned, though the annotation may stay: somebody else powered it on. Zero: not yet.
	Since, Removed, Back time.Time
	// Went is when the node was first silent or not Ready, Heard since when it has not been silent.
	Went, Heard time.Time
}

const (
	// ReturnsWithin is how long after the end of a plan its machine may boot: servers test
	// their memory for minutes.
	ReturnsWithin = 10 * time.Minute
	// goesWithin is how long an annotated node may stay up until its machine goes off. A
	// lightsout that ended before its request leaves a node that stays up.
	goesWithin = 45 * time.Second
)

// Until is when the plan explains the node's outage no longer; zero: nobody knows yet.
func (p *Off) Until() time.Time {
	overdue := p.Removed.Add(ReturnsWithin)
	if p.Removed.IsZero() || !p.Back.IsZero() && p.Back.Before(overdue) {
		return p.Back
	}
	return overdue
}

// Offs are the newest planned switch-offs of each node.
type Offs map[string]*Off

// Overdue reports whether the node should be back since its plan ended.
func (all Offs) Overdue(node string, now time.Time) bool {
	p := all[node]
	return p != nil && p.Back.IsZero() && !p.Removed.IsZero() && !p.Until().After(now)
}

// Follow follows which nodes lightsout has switched off, and returns those that have gone down.
// One that was down before it was annotated was not planned. was is the snapshot before; nil if there is none.
func (all Offs) Follow(was, s *cluster.Snapshot, now time.Time) (went []string) {
	wasDown := func(node string) bool {
		return was != nil && slices.ContainsFunc(was.Unwell(now), func(n *cluster.Node) bool { return n.Name == node })
	}
	for _, n := range s.Nodes() {
		text := n.Annotations[power.AnnotationSwitchedOff]
		p := all[n.Name]
		switch {
		case p == nil || text != "" && p.text != text && !p.Back.IsZero():
			if text != "" && !wasDown(n.Name) {
				all[n.Name] = &Off{By: power.NotesOn(n.Annotations)[0].By, text: text, Since: now}
			}
		case text == "" && p.Removed.IsZero():
			p.Removed = now
		case text != "" && p.text != text: // somebody else annotated the node too: it is the same outage
			p.text, p.By, p.Removed = text, power.NotesOn(n.Annotations)[0].By, time.Time{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if p := all[name]; p.Back.IsZero() && p.goesDown(s, s.Node(name), now) {
			went = append(went, name)
		}
	}
	return went
}

// goesDown takes a look at the node, and reports whether it has gone down.
func (p *Off) goesDown(s *cluster.Snapshot, n *cluster.Node, now time.Time) bool {
	if n == nil {
		p.Back = now
		return false
	}
	_, heard := n.Heartbeat()
	_, silent := s.Silent(n, now)
	switch {
	case silent:
		p.Heard = time.Time{}
	case p.Heard.IsZero():
		p.Heard = now
	}
	// A kubelet renews its Lease before its node is Ready, and the object may be older than its machine's boot.
	up := n.Ready == cluster.TriTrue && !silent && (heard.IsZero() || heard.After(p.Removed))
	if up && (!p.Went.IsZero() || !p.Removed.IsZero() || now.Sub(p.Since) > goesWithin) {
		p.Back = now
	}
	if up || !p.Went.IsZero() {
		return false
	}
	p.Went = now
	return true
}
