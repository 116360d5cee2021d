package place

import "slices"

// Fits reports whether every new pod is certain to find a node when the nodes are lost,
// in every order and with every random choice; left is the number of their pods that
// nobody recreates while the nodes are away, or that wait for a volume, without those of
// DaemonSets and static pods.
// It costs a small part of Lose. When certain is false, call Lose.
func (w *World) Fits(nodes ...string) (left int, certain bool) {
	lost := sortedNodes(w, nodes)
	w.mark(lost)
	certain = w.roomy(lost)
	return w.scratch.left, certain
}

// mark marks the nodes that are down, and no others.
func (w *World) mark(lost []int) {
	if slices.Equal(lost, w.marked) {
		return
	}
	for _, i := range w.marked {
		w.dead[i] = w.nodes[i].unwell
	}
	for _, i := range lost {
		w.dead[i] = true
	}
	w.marked = lost
}

// movers are the pods that need a node in an outage, by class, including those that
// waited before.
type movers struct {
	w       *World
	of      []int // by class
	classes []*class
	total   []int64 // by resource
	pods    int
	evicted []*pod
	left    int // pods that nobody recreates while the nodes are away, or that wait for a volume
	hurt    map[*budget]int32
	limits  []int32 // scratch space
}

func (m *movers) add(c *class, n int) {
	if m.of[c.id] == 0 {
		m.classes = append(m.classes, c)
	}
	m.of[c.id] += n
	m.pods += n
	for _, a := range c.requests {
		m.total[a.resource] += a.n * int64(n)
	}
}

// collect collects the pods that move when nodes are lost; false when that takes a
// simulation.
func (m *movers) collect(w *World, evicted []int) bool {
	m.w = w
	if len(m.of) != len(w.classes) {
		m.of, m.total, m.hurt = make([]int, len(w.classes)), make([]int64, len(w.names)), map[*budget]int32{}
	}
	for _, c := range m.classes {
		m.of[c.id] = 0
	}
	clear(m.total)
	clear(m.hurt)
	m.classes, m.evicted, m.pods = m.classes[:0], m.evicted[:0], 0
	m.left = 0
	for _, c := range w.idle {
		m.add(c, c.waiting)
	}
	for _, i := range evicted {
		for _, p := range w.nodes[i].pods {
			if p.ending {
				continue
			}
			_, moves := w.moves(p)
			if moves {
				m.evicted = append(m.evicted, p)
			}
			switch {
			case moves && w.frees(i):
				return false
			case moves && (p.kind == "ReplicaSet" || p.kind == "ReplicationController"):
				m.add(p.class, 1)
				if len(p.alone) == 0 {
					continue
				}
				m.left++ // it gets a node, and waits for its volume
			case moves && p.kind != "StatefulSet" && p.kind != "":
				return false
			case !p.bound():
				m.left++
			}
			if !p.serves {
				continue // no budget counts it
			}
			for _, b := range p.class.budgetsIn(w) {
				m.hurt[b]++
				if b.Status.CurrentHealthy-m.hurt[b] < b.Status.DesiredHealthy {
					return false
				}
			}
		}
	}
	return true
}

// roomy reports whether each pod of the nodes certainly fits. To keep one pod out, the
// others would have to fill or block all nodes that could take it; roomy shows that
// they are too few for that.
func (w *World) roomy(evicted []int) bool {
	m := &w.scratch
	if !m.collect(w, evicted) {
		return false
	}
	return !slices.ContainsFunc(m.classes, func(c *class) bool { return m.of[c.id] > c.waiting && !m.certain(c) })
}

// certain reports whether a pod of the class finds a node although all others move as
// well. The others can only raise counts that keep pods out, and cannot lower counts
// that let pods in.
func (m *movers) certain(c *class) bool {
	w := m.w
	u := w.rulesOf(c)
	if u.never != "" || len(w.quotas[c.namespace]) > 0 || len(c.spec.SchedulingGates) > 0 || c.spec.SchedulerName != "" {
		return false
	}
	blocking := 0 // nodes that the others may block by their presence
	for _, list := range [][]blocker{u.ports, u.anti} {
		for i := range list {
			k := list[i].counter
			n := m.matching(k)
			if n > 0 && len(k.names) != len(w.nodes) {
				return false // one pod may block many nodes
			}
			blocking += n
		}
	}
	m.limits = m.limits[:0]
	for i := range u.spreads {
		m.limits = append(m.limits, m.bound(&u.spreads[i]))
	}
	kinds := 1.0 // resources that the others may use up, including the number of pods
	for _, a := range c.requests {
		if m.total[a.resource] > a.n {
			kinds++
		}
	}
	// To fill a node, the others must put a part of all that they have of some resource
	// on it. The parts for all nodes add up to more than they have.
	parts, largest := 0.0, make([]float64, 0, 8)
	for i := range w.nodes {
		part := m.part(c, u, i)
		if part <= 0 {
			continue
		}
		if len(largest) < blocking {
			largest = append(largest, part)
			slices.Sort(largest)
		} else if blocking > 0 && part > largest[0] {
			parts += largest[0]
			largest[0] = part
			slices.Sort(largest)
		} else {
			parts += part
		}
		if parts > kinds {
			return true
		}
	}
	return false
}

// part is the share of the others' total of some resource that fills a node for the
// class; 0 when the node takes no pod of the class now.
func (m *movers) part(c *class, u *rules, node int) float64 {
	w := m.w
	if w.dead[node] || at(u.before, node) != "" || at(u.after, node) != "" {
		return 0
	}
	n := w.nodes[node]
	part := float64(n.maxPods-w.load[node].pods) / float64(max(1, m.pods-1))
	used := w.used[node*len(w.names):]
	for _, a := range c.requests {
		free := n.capacity[a.resource] - used[a.resource] - a.n
		if free < 0 {
			return 0
		}
		if rest := m.total[a.resource] - a.n; rest > 0 {
			part = min(part, float64(free+1)/float64(rest))
		}
	}
	for _, list := range [][]blocker{u.ports, u.anti} {
		for i := range list {
			if d := list[i].counter.of[node]; d >= 0 && list[i].counter.base[d] > 0 {
				return 0
			}
		}
	}
	for i := range u.spreads {
		k := u.spreads[i].counter
		if d := k.of[node]; d < 0 || k.base[d] > m.limits[i] {
			return 0
		}
	}
	for _, k := range u.affinity {
		if d := k.of[node]; d < 0 || k.base[d] <= 0 {
			return 0
		}
	}
	return part
}

// matching counts the moving pods that a counter counts.
func (m *movers) matching(k *counter) (n int) {
	for _, c := range m.classes {
		if k.match[c.id] {
			n += m.of[c.id]
		}
	}
	return n
}

// bound is the largest number of pods that a domain may hold at first so that a
// constraint admits one more, whatever the others do: all pods that count may come to
// this domain, and the minimum only grows. The domains of nodes that are down have none
// of their own pods any more.
func (m *movers) bound(s *spread) int32 {
	n := int32(m.matching(s.counter))
	if !s.self {
		n++
	}
	move := func(by int32) {
		for _, p := range m.evicted {
			if s.match[p.class.id] {
				s.count(s.base, p.node, by)
			}
		}
	}
	move(-1)
	least := s.minimum(s.base, m.w.dead)
	move(1)
	return s.skew + least - n
}
