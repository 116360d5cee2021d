package recorder

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/power"
)

// plannedOff is the planned switch-off of a node's machine: lightsout annotates the node before,
// and removes that when the node is back.
type plannedOff struct {
	by, text string // of the annotation
	// since is when the recorder saw the annotation, removed when it was gone, back when the node had
	// returned, though the annotation may stay: somebody else powered it on.
	since, removed, back time.Time
	// went is when the node was first silent or not Ready, heard since when it has not been silent.
	went, heard time.Time
}

const (
	// returnsWithin is how long after the end of a plan its machine may boot: servers test
	// their memory for minutes.
	returnsWithin = 10 * time.Minute
	// plannedGoes is how long an annotated node may stay up until its machine goes off. A
	// lightsout that ended before its request leaves a node that stays up.
	plannedGoes = 45 * time.Second
	// plannedSettles is how long after its node went down a planned switch-off explains failures that begin:
	// Kubernetes takes 50 s to mark the node, waits for the tolerations, 300 s by default, and starts pods.
	plannedSettles = 8 * time.Minute
	// plannedReturn is how long after its return the node explains them.
	plannedReturn = time.Minute
)

// until is when the plan explains the node's outage no longer; zero: nobody knows yet.
func (p *plannedOff) until() time.Time {
	overdue := p.removed.Add(returnsWithin)
	if p.removed.IsZero() || !p.back.IsZero() && p.back.Before(overdue) {
		return p.back
	}
	return overdue
}

// beside are the mutes of what may fail beside the node: with its switch-off, for as long as that goes on,
// and with its return, from the first heartbeat on.
func (p *plannedOff) beside() mutes {
	until := p.until()
	goes := mute{why: besidePlan, from: p.since, stage: muted}
	comes := goes
	if !p.went.IsZero() {
		goes.takes = p.went.Add(plannedSettles)
	}
	comes.from = cmp.Or(p.heard, until)
	comes.to = comes.from.Add(returnsWithin)
	if !until.IsZero() {
		goes.to = until.Add(plannedReturn)
		comes.to = goes.to
	}
	if comes.from.IsZero() {
		return mutes{goes}
	}
	return mutes{goes, comes}
}

// plans are the newest planned switch-offs of each node.
type plans map[string]*plannedOff

// overdue reports whether the node should be back since its plan ended.
func (all plans) overdue(node string, now time.Time) bool {
	p := all[node]
	return p != nil && p.back.IsZero() && !p.removed.IsZero() && !p.until().After(now)
}

// follow follows which nodes lightsout has switched off, and returns those that have gone down.
// One that isDown before it is annotated was not planned.
func (all plans) follow(s *cluster.Snapshot, isDown func(node string) bool, now time.Time) (went []string) {
	for _, n := range s.Nodes() {
		text := n.Annotations[power.AnnotationSwitchedOff]
		p := all[n.Name]
		switch {
		case p == nil || text != "" && p.text != text && !p.back.IsZero():
			if text != "" && !isDown(n.Name) {
				all[n.Name] = &plannedOff{by: power.NotesOn(n.Annotations)[0].By, text: text, since: now}
			}
		case text == "" && p.removed.IsZero():
			p.removed = now
		case text != "" && p.text != text: // somebody else annotated the node too: it is the same outage
			p.text, p.by, p.removed = text, power.NotesOn(n.Annotations)[0].By, time.Time{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if p := all[name]; p.back.IsZero() && p.goesDown(s, s.Node(name), now) {
			went = append(went, name)
		}
	}
	return went
}

// goesDown takes a look at the node, and reports whether it has gone down.
func (p *plannedOff) goesDown(s *cluster.Snapshot, n *cluster.Node, now time.Time) bool {
	if n == nil {
		p.back = now
		return false
	}
	_, heard := n.Heartbeat()
	_, silent := s.Silent(n, now)
	switch {
	case silent:
		p.heard = time.Time{}
	case p.heard.IsZero():
		p.heard = now
	}
	// A kubelet renews its Lease before its node is Ready, and the object may be older than its machine's boot.
	up := n.Ready == cluster.TriTrue && !silent && (heard.IsZero() || heard.After(p.removed))
	if up && (!p.went.IsZero() || !p.removed.IsZero() || now.Sub(p.since) > plannedGoes) {
		p.back = now
	}
	if up || !p.went.IsZero() {
		return false
	}
	p.went = now
	return true
}
