package cluster

import (
	"cmp"
	"sync/atomic"
	"time"

	"lightsout/internal/outage"
)

// ZoneCount is how many nodes a zone has, as the node lifecycle controller
// counts them: without those labelled node.kubernetes.io/exclude-disruption.
type ZoneCount struct {
	Zone            string // empty: the unlabelled nodes
	Nodes, NotReady int
}

// census is what all nodes of a Snapshot tell together. Snapshots whose nodes are the same share it.
type census struct {
	ready, total int
	zones        []ZoneCount
	// unwell are gone, not Ready or overdue, whatever the time is.
	unwell []*Node
	// proves has the boot IDs that prove a boot.
	proves map[string]bool
	quiet  atomic.Pointer[quiet]
}

// quiet is the time until which no other node than the unwell ones can turn silent: a renewal can
// only make it later.
type quiet struct{ watchedSince, until time.Time }

func (n *Node) unwell() bool { return !n.Gone.IsZero() || n.Ready != TriTrue || n.Overdue }

// census counts the nodes once.
func (s *Snapshot) census() *census {
	whole := cmp.Or(s.nodes.whole, &whole[Node]{})
	if known, ok := whole.note.Load().(*census); ok {
		return known
	}
	c := &census{}
	zones, ids := map[string]int{}, []string{}
	for n := range s.nodes.each {
		if n.unwell() {
			c.unwell = append(c.unwell, n)
		}
		if !n.Gone.IsZero() {
			continue
		}
		ids = append(ids, n.BootID)
		c.total++
		c.ready += btoi(n.Ready == TriTrue)
		if n.ExcludeDisruption {
			continue
		}
		i, known := zones[n.Zone]
		if !known {
			i = len(c.zones)
			zones[n.Zone], c.zones = i, append(c.zones, ZoneCount{Zone: n.Zone})
		}
		c.zones[i].Nodes++
		c.zones[i].NotReady += btoi(n.Ready != TriTrue)
	}
	c.proves = outage.Proving(ids)
	whole.note.Store(c)
	return c
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// NodeCount is how many nodes are Ready, of how many, those gone left out.
func (s *Snapshot) NodeCount() (ready, total int) {
	c := s.census()
	return c.ready, c.total
}

// Zones counts the nodes of every zone, in no order.
func (s *Snapshot) Zones() []ZoneCount { return s.census().zones }

// Unwell gives the nodes that are gone, not Ready or silent at now, by name. It checks all nodes only
// when one has changed or may have turned silent since the last time.
func (s *Snapshot) Unwell(now time.Time) (out []*Node) {
	c, seeing := s.census(), seeingUntil(s, now)
	if q := c.quiet.Load(); q != nil && q.watchedSince.Equal(s.HeartbeatsSince) && !seeing.After(q.until) {
		return c.unwell
	}
	next := quiet{s.HeartbeatsSince, seeing.Add(time.Hour)}
	for n := range s.nodes.each {
		at, ok := overdueAt(n, s.HeartbeatsSince)
		if n.unwell() || ok && seeing.After(at) {
			out = append(out, n)
		}
		if !n.unwell() && ok && at.Before(next.until) {
			next.until = at
		}
	}
	c.quiet.Store(&next)
	return out
}
