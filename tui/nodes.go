package tui

import (
	"slices"
	"strings"

	"lightsout/cluster"
)

var nodesSpec = &paneSpec{
	name: "Nodes", names: []string{"no", "node", "nodes"}, place: placeLeft,
	keys: append([]binding{
		bind(markNode, "mark", "space", "mark or unmark the node", "space").needs(needLive),
		bind(markAll, "mark all", "*", "mark or unmark all workers", "*").needs(needLive),
	}, rowKeys...),
	bar:  []string{"mark", "shut down", "power on", "details", "filter", "pull the plug", "YAML", "sort"},
	open: func() pane { return newNodesPane() },
}

// nodesPane lists the nodes with their words, their machines' power and their
// pods as dots.
type nodesPane struct {
	list[string, *cluster.Node]
}

func newNodesPane() *nodesPane {
	return &nodesPane{list[string, *cluster.Node]{
		id: func(n *cluster.Node) string { return n.Name }, object: func(_ *scene, n *cluster.Node) object { return nodeObject(n.Name) },
		trouble: nodeTrouble, has: nodeHas, labels: func(n *cluster.Node) string { return n.Labels },
		lead: nodeLead, leadWidth: 3,
		kind: cluster.KindNode, none: "no nodes",
		chosen: func(s *scene, name string) {
			s.node = name
			s.showPods(scopeNode)
		},
		columns: []column[*cluster.Node]{
			{fitting{ease: 16, min: 8, middle: true}, "NODE", nodeName, nil},
			{fitting{least: 23, leastShort: 14, min: 14, short: 1}, "STATUS", nodeStatus, nil},
			{fitting{least: 5, leastShort: 3, short: 2, brief: "PWR", drop: 1}, "POWER", nodePower, nil},
			{fitting{least: 4, leastShort: 4, short: 3, drop: 2}, "PODS", podDots, morePods},
			{fitting{least: 16, extra: true}, "NEXT", nodeNext, nil},
			{fitting{extra: true}, "ROLE", nodeRole, nil},
			{fitting{least: 4, extra: true, right: true}, "FOR", func(s *scene, n *cluster.Node) cell { return ageCell(s, n.ReadySince) }, func(_ *scene, a, b *cluster.Node) int { return b.ReadySince.Compare(a.ReadySince) }},
			{fitting{least: 7, extra: true, right: true}, "CPU", nodeCPU, moreCPU},
			{fitting{extra: true, right: true}, "AGE", func(s *scene, n *cluster.Node) cell { return ageCell(s, n.Created) }, func(_ *scene, a, b *cluster.Node) int { return b.Created.Compare(a.Created) }},
			{fitting{extra: true}, "ADDRESS", nodeAddress, nil},
			{fitting{extra: true}, "MACHINE", nodeMachine, nil},
		},
	}}
}

func (p *nodesPane) settle(s *scene) {
	if p.stale(nil, s.snap, s.now.Unix()) { // silence grows with time alone
		all, deleted := s.snap.Nodes(), leftOffDeleted(s)
		if p.by.on() || p.sort > 0 {
			p.take(s, slices.Concat(deleted, all))
		} else {
			p.rows = troubledFirst(s, all)
			if len(deleted) > 0 { // a copy of 5,000 nodes costs more than the drawing
				p.rows = slices.Concat(deleted, p.rows)
			}
			p.follow()
		}
		p.begin(func(n *cluster.Node) bool { return !n.ControlPlane })
	}
	s.node = p.cursor
}

// leftOffDeleted returns a row for each machine that lightsout has left off and whose node
// the cluster has deleted, so that the operator can power it on.
func leftOffDeleted(s *scene) (out []*cluster.Node) {
	for name, m := range s.f.Power {
		if m.LeftOff && s.snap.Node(name) == nil && s.snap.Access[cluster.KindNode].Synced {
			out = append(out, &cluster.Node{Name: name, Gone: s.now})
		}
	}
	slices.SortFunc(out, func(a, b *cluster.Node) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// troubledFirst orders the nodes as nodeTrouble does, and looks only at those in
// trouble.
func troubledFirst(s *scene, all []*cluster.Node) []*cluster.Node {
	unwell := s.snap.Unwell(s.now)
	if len(unwell) == 0 {
		return all
	}
	ranks := ranked(s, unwell, nodeTrouble)
	well := slices.DeleteFunc(slices.Clone(all), func(n *cluster.Node) bool {
		is := len(unwell) > 0 && unwell[0] == n
		if is {
			unwell = unwell[1:]
		}
		return is
	})
	return slices.Concat(ranks[0], ranks[1], ranks[2], well, ranks[3])
}

func (p *nodesPane) want(*scene, int) want { return want{least: 3, most: p.lines(), share: 1} }

func (p *nodesPane) draw(s *scene, w, h int, active bool) drawing {
	lines := p.list.draw(s, w, h, active)
	return drawing{"Nodes", "", s.facts(some(len(s.marks), "marked"), readyOf(s.snap.NodeCount())), p.position(s), lines}
}

// markAll marks all workers in the list, or takes all marks away.
func markAll(m *Model) {
	s, p := &m.s, m.find("Nodes").pane.(*nodesPane)
	if len(s.marks) > 0 {
		clear(s.marks)
	} else {
		for _, n := range p.rows {
			if !n.ControlPlane && n.Gone.IsZero() {
				s.marks[n.Name] = true
			}
		}
	}
	s.showPods(scopeAuto)
}

func nodeTrouble(s *scene, n *cluster.Node) int {
	switch _, silent := s.snap.Silent(n, s.now); {
	case !n.Gone.IsZero() && !s.f.Power[n.Name].LeftOff:
		return 3
	case !n.Gone.IsZero(), n.Ready != cluster.TriTrue:
		return 0
	case silent:
		return 1
	}
	return 2
}

func nodeHas(s *scene, n *cluster.Node, contains func(string) bool) bool {
	if contains(n.Name) || contains(s.snap.NodeWord(n, s.now)) || slices.ContainsFunc(n.Roles, contains) || slices.ContainsFunc(n.Addresses, contains) {
		return true
	}
	m, known := s.f.Power[n.Name]
	word, _ := powerWord(s.t, m, known)
	return contains(word) || contains(machineText(m))
}

func nodeLead(s *scene, r *row, n *cluster.Node) {
	sign, st := nodeSign(s, n)
	r.flag(s.marks[n.Name], s.t.fresh, s.t.mark).put(st, sign).space(1)
}
