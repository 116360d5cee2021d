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
	if old := s.slices[sl.name]; old != nil && old.service != sl.service {
		old.drop(s, seen)
	}
	s.countReady(s.slices[sl.name], sl, seen, quiet)
	s.slices[sl.name] = sl
	of := s.services[sl.service]
	if of == nil {
		of = map[Key]*slice{}
		s.services[sl.service] = of
	}
	of[sl.name] = sl
	s.sumService(sl.service, seen, quiet)
}

func (sl *slice) drop(s *state, seen time.Time) {
	old := s.slices[sl.name]
	if old == nil {
		return
	}
	delete(s.slices, sl.name)
	delete(s.services[old.service], sl.name)
	s.countReady(old, nil, seen, false)
	s.sumService(old.service, seen, false)
}

// sumService sums up a service's slices. A service with two address families
// has each pod in both; the family with more endpoints is counted.
func (s *state) sumService(service Key, seen time.Time, quiet bool) {
	families := map[string]*Endpoints{}
	var e *Endpoints
	for _, sl := range s.services[service] {
		f := families[sl.addressType]
		if f == nil {
			f = &Endpoints{Service: service}
			families[sl.addressType] = f
		}
		f.Ready += sl.ready
		f.Serving += sl.serving
		f.Terminating += sl.terminating
		f.Total += sl.total
	}
	for _, family := range []string{"IPv6", "IPv4", "FQDN"} {
		if f := families[family]; f != nil && (e == nil || f.Total >= e.Total) {
			e = f
		}
	}
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
		s.transit(Transition{Subject: Ref{KindEndpointSlice, service}, Change: ChangeEndpoints, From: from, To: to, Why: "ready", Seen: seen})
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

// countReady follows how many endpoints are ready on each node, from the old and the
// new state of one slice; either may be nil. Its cost follows the nodes of that slice.
// A transition reports the loss of the last ready endpoint, and later the number of
// endpoints that are back, when all are or when no more come for a while.
func (s *state) countReady(old, now *slice, seen time.Time, quiet bool) {
	diff := map[string]int{}
	if old != nil {
		for node, n := range old.readyOn {
			diff[node] -= n
		}
	}
	if now != nil {
		for node, n := range now.readyOn {
			diff[node] += n
		}
	}
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
			Why: "ready on this node", SourceTime: at, Seen: seen})
	}
}
