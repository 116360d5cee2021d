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
	node    string
	n       int
	changed time.Time
	// steady is n before the last series of changes, and full is n before it last fell
	// to 0.
	steady, full int
	// risen is when n left 0, until the rise is reported.
	risen time.Time
}

// countReady follows how many endpoints are ready on each node, from by how much that
// changes. A transition reports the loss of the last ready endpoint, and later the number
// of endpoints that are back, when all are or when no more come for a while.
func (s *state) countReady(diff map[string]int, seen time.Time, quiet bool) {
	for _, name := range slices.Sorted(maps.Keys(diff)) {
		if diff[name] == 0 {
			continue
		}
		c := s.readyOn[name]
		if c == nil {
			c = &readyCount{node: name}
			s.readyOn[name] = c
		}
		before := c.n
		c.n += diff[name]
		if quiet {
			c.steady = c.n
		} else {
			s.reportReady(c, before, seen)
		}
		if n := s.node(name); n != nil && n.Gone.IsZero() {
			x := *n
			x.ReadyEndpoints = c.n
			if (before == 0) != (c.n == 0) {
				x.Changed = seen
			}
			s.t.nodes.set(&x)
			s.dirty = true
		}
	}
}

// reportReady follows a change of c.n from before.
func (s *state) reportReady(c *readyCount, before int, seen time.Time) {
	if seen.Sub(c.changed) >= endpointsSettle {
		c.steady = before
	}
	c.changed = seen
	switch {
	case c.n == 0:
		s.reportRise(c, before, seen)
		c.full = max(c.steady, before)
		s.transitReady(c, c.full, 0, time.Time{}, seen)
		return
	case before == 0:
		c.risen = seen
		s.rising[c.node] = c
	}
	if c.full > 0 && c.n >= c.full {
		s.reportRise(c, c.n, seen) // all are back
	}
}

// settleEndpoints reports the rises that have ended.
func (s *state) settleEndpoints(now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(s.rising)) {
		if c := s.rising[name]; now.Sub(c.changed) >= endpointsSettle {
			s.reportRise(c, c.n, now)
		}
	}
}

func (s *state) reportRise(c *readyCount, to int, seen time.Time) {
	if !c.risen.IsZero() {
		s.transitReady(c, 0, to, c.risen, seen)
		c.risen = time.Time{}
		delete(s.rising, c.node)
	}
}

func (s *state) transitReady(c *readyCount, from, to int, at, seen time.Time) {
	if n := s.node(c.node); n != nil && n.Gone.IsZero() {
		s.transit(Transition{Subject: nodeRef(n), Change: ChangeEndpoints, From: strconv.Itoa(from), To: strconv.Itoa(to),
			Why: "ready on this node", SourceTime: at, When: At(seen)})
	}
}
