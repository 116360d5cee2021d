package cluster

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

func (e *Endpoints) id() Key { return e.Service }

func (sl *slice) id() Key { return sl.name }

func (sl *slice) put(s *state, seen time.Time, quiet bool) {
	old := s.slices[sl.name]
	if old != nil && old.service != sl.service {
		old.drop(s, seen)
		old = nil
	}
	s.slices[sl.name] = sl
	s.exchange(sl.service, old, sl, seen, quiet)
}

func (sl *slice) drop(s *state, seen time.Time) {
	if old := s.slices[sl.name]; old != nil {
		delete(s.slices, sl.name)
		s.exchange(old.service, old, nil, seen, false)
	}
}

// service sums the slices of a service up. An endpoint counts once, in however many of them
// it is: those of two address families have the same pods, and the control plane may have
// an endpoint in two slices for a while.
type service struct {
	slices int
	of     map[string]*tally
	sum    Endpoints
}

// tally counts in how many slices an endpoint is, ready and terminating.
type tally struct {
	node                       string
	slices, ready, terminating int
}

// add adds a slice's endpoints, or takes them away if by is -1; diff is by how much the
// number of ready ones on each node changes.
func (v *service) add(sl *slice, by int, diff map[string]int) {
	if sl == nil {
		return
	}
	v.slices += by
	for _, e := range sl.endpoints {
		t := v.of[e.id]
		if t == nil {
			t = &tally{node: e.node}
			v.of[e.id] = t
		}
		v.count(t, -1, diff)
		t.slices += by
		t.ready += by * btoi(e.ready)
		t.terminating += by * btoi(e.terminating)
		v.count(t, 1, diff)
		if t.slices == 0 {
			delete(v.of, e.id)
		}
	}
}

func (v *service) count(t *tally, by int, diff map[string]int) {
	v.sum.Total += by * btoi(t.slices > 0)
	v.sum.Ready += by * btoi(t.ready > 0)
	v.sum.Terminating += by * btoi(t.slices > 0 && t.terminating == t.slices)
	if t.node != "" && t.ready > 0 {
		diff[t.node] += by
	}
}

// exchange puts a slice in the place of its old state; either may be nil. Its cost follows
// the endpoints of that slice.
func (s *state) exchange(name Key, old, now *slice, seen time.Time, quiet bool) {
	v := s.services[name]
	if v == nil {
		v = &service{of: map[string]*tally{}, sum: Endpoints{Service: name}}
		s.services[name] = v
	}
	diff := map[string]int{}
	v.add(old, -1, diff)
	v.add(now, 1, diff)
	s.countReady(diff, seen, quiet)
	var e *Endpoints
	if v.slices > 0 {
		sum := v.sum
		e = &sum
	}
	s.putService(name, e, seen, quiet)
}

// putService shows a service's endpoints; nil if it has no slices any more.
func (s *state) putService(service Key, e *Endpoints, seen time.Time, quiet bool) {
	old := keyed(s.t.endpoints.view, service)
	from, to := "", ""
	if old != nil {
		from = strconv.Itoa(old.Ready)
	}
	if e != nil {
		to = strconv.Itoa(e.Ready)
	}
	changed := from != to && !quiet
	switch {
	case e == nil && old == nil:
		return
	case e == nil:
		delete(s.services, service)
		s.t.endpoints.del(old)
	default:
		if old != nil {
			e.Changed = old.Changed
		}
		if changed {
			e.Changed = seen
		}
		if old != nil && *e == *old {
			return
		}
		s.t.endpoints.set(e)
	}
	s.dirty = true
	if changed {
		s.transit(Transition{Subject: Ref{KindEndpointSlice, service}, Change: ChangeEndpoints, From: from, To: to, Why: "ready", When: At(seen)})
	}
}

// endpointsSettle is how long the number of ready endpoints on a node must stay the
// same before it counts as a state rather than a step of a change: the control plane
// marks pods and slices one by one.
const endpointsSettle = 2 * time.Second

// readyCount follows the ready endpoints on one node.
type readyCount struct {
	n int
	// told is n as the sink knows it, crossed when n last left 0 or fell to it, and changed when n
	// last changed.
	told             int
	crossed, changed time.Time
}

// countReady follows how many endpoints are ready on each node, from by how much that
// changes.
func (s *state) countReady(diff map[string]int, seen time.Time, quiet bool) {
	for _, name := range slices.Sorted(maps.Keys(diff)) {
		if diff[name] == 0 {
			continue
		}
		c := s.readyOn[name]
		if c == nil {
			c = &readyCount{}
			s.readyOn[name] = c
		}
		crossed := c.n == 0
		c.n += diff[name]
		crossed = crossed || c.n == 0
		c.changed = seen
		if crossed {
			c.crossed = seen
		}
		if quiet {
			c.told = c.n
		} else {
			s.unsettled[name] = c
		}
		if n := s.node(name); n != nil && n.Gone.IsZero() {
			x := *n
			x.ReadyEndpoints = c.n
			if crossed {
				x.Changed = seen
			}
			s.t.nodes.set(&x)
			s.dirty = true
		}
	}
}

// settleEndpoints tells that a node has lost its last ready endpoint, or how many it has again, once
// the number is settled.
func (s *state) settleEndpoints(now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(s.unsettled)) {
		c := s.unsettled[name]
		if now.Sub(c.changed) < endpointsSettle {
			continue
		}
		delete(s.unsettled, name)
		n, from := s.node(name), c.told
		c.told = c.n
		if n != nil && n.Gone.IsZero() && (from == 0) != (c.n == 0) {
			s.transit(Transition{Subject: nodeRef(n), Change: ChangeEndpoints, From: strconv.Itoa(from), To: strconv.Itoa(c.n),
				Why: "ready on this node", SourceTime: c.crossed, When: At(now)})
		}
	}
}
