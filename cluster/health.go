package cluster

import (
	"sync/atomic"
	"time"
)

// ZoneCount is how many nodes a zone has, as the node lifecycle controller
// counts them: without those labelled node.kubernetes.io/exclude-disruption.
type ZoneCount struct {
	Zone            string // empty: the unlabelled nodes
	Nodes, NotReady int
}

// nodeHealth is the cached result for a piece of the nodes.
type nodeHealth struct {
	ready, total int
	zones        []ZoneCount
	// unwell are gone, not Ready or overdue, whatever the time is.
	unwell []*Node
	// quiet is the time until which no other node can turn silent.
	quiet atomic.Pointer[quiet]
}

// quiet: a renewal can only make the time later.
type quiet struct{ watchedSince, until time.Time }

func (n *Node) unwell() bool { return !n.Gone.IsZero() || n.Ready != TriTrue || n.Overdue }

func healthOf(nodes []*Node) *nodeHealth {
	h := &nodeHealth{}
	for _, n := range nodes {
		if n.unwell() {
			h.unwell = append(h.unwell, n)
		}
		if !n.Gone.IsZero() {
			continue
		}
		h.total++
		h.ready += btoi(n.Ready == TriTrue)
		if !n.ExcludeDisruption {
			h.zones = addZone(h.zones, ZoneCount{n.Zone, 1, btoi(n.Ready != TriTrue)})
		}
	}
	return h
}

func addZone(all []ZoneCount, z ZoneCount) []ZoneCount {
	for i := range all {
		if all[i].Zone == z.Zone {
			all[i].Nodes += z.Nodes
			all[i].NotReady += z.NotReady
			return all
		}
	}
	return append(all, z)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// eachHealth calls f with the cached results of every piece of the nodes.
func eachHealth(s *Snapshot, f func(h *nodeHealth, nodes []*Node)) {
	for _, c := range s.nodes.chunks {
		f(noted(c, healthOf), c.items)
	}
}

// NodeCount is how many nodes are Ready, of how many, those gone left out.
func (s *Snapshot) NodeCount() (ready, total int) {
	eachHealth(s, func(h *nodeHealth, _ []*Node) { ready, total = ready+h.ready, total+h.total })
	return ready, total
}

// Zones counts the nodes of every zone, in no order.
func (s *Snapshot) Zones() (out []ZoneCount) {
	eachHealth(s, func(h *nodeHealth, _ []*Node) {
		for _, z := range h.zones {
			out = addZone(out, z)
		}
	})
	return out
}

// Unwell gives the nodes that are gone, not Ready or silent at now, by name. Its
// cost follows their number; it checks all nodes only when one of them may
// have turned silent since the last time.
func (s *Snapshot) Unwell(now time.Time) (out []*Node) {
	seeing := seeingUntil(s, now)
	eachHealth(s, func(h *nodeHealth, nodes []*Node) {
		if q := h.quiet.Load(); q != nil && q.watchedSince.Equal(s.heartbeatsSince) && !seeing.After(q.until) {
			out = append(out, h.unwell...)
			return
		}
		next := quiet{s.heartbeatsSince, seeing.Add(time.Hour)}
		for _, n := range nodes {
			at, ok := overdueAt(n, s.heartbeatsSince)
			switch {
			case n.unwell():
				out = append(out, n)
				continue
			case ok && seeing.After(at):
				out = append(out, n)
			}
			if ok && at.Before(next.until) {
				next.until = at
			}
		}
		h.quiet.Store(&next)
	})
	return out
}
