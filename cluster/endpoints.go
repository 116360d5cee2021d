package cluster

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

func (s *state) setSlice(sl *slice, seen time.Time, quiet bool) {
	if old := s.slices[sl.key]; old != nil && old.service != sl.service {
		s.dropSlice(sl.key, seen)
	}
	s.countReady(s.slices[sl.key], sl, seen, quiet)
	s.slices[sl.key] = sl
	of := s.services[sl.service]
	if of == nil {
		of = map[Key]*slice{}
		s.services[sl.service] = of
	}
	of[sl.key] = sl
	s.sumService(sl.service, seen, quiet)
}

func (s *state) dropSlice(k Key, seen time.Time) {
	sl := s.slices[k]
	if sl == nil {
		return
	}
	delete(s.slices, k)
	delete(s.services[sl.service], k)
	s.countReady(sl, nil, seen, false)
	s.sumService(sl.service, seen, false)
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
	old := s.t.endpoints.first(func(x *Endpoints) bool { return !x.Service.less(service) })
	if old != nil && old.Service != service {
		old = nil
	}
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
		s.transit(Transition{Subject: Ref{KindEndpointSlice, service}, What: "endpoints", From: from, To: to, Why: "ready", Seen: seen})
	}
}

// countReady follows how many endpoints are ready on each node, from what one
// slice said and says; either may be nil. It costs the nodes of that slice. A
// transition tells when the last one of a node went, and when the first came.
func (s *state) countReady(old, now *slice, seen time.Time, quiet bool) {
	diff := map[string]int{}
	if old != nil {
		for _, c := range old.readyOn {
			diff[c.node] -= c.n
		}
	}
	if now != nil {
		for _, c := range now.readyOn {
			diff[c.node] += c.n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(diff)) {
		d := diff[name]
		if d == 0 {
			continue
		}
		before := s.readyOn[name]
		after := before + d
		s.readyOn[name] = after
		if after == 0 {
			delete(s.readyOn, name)
		}
		n := s.node(name)
		if n == nil || !n.Gone.IsZero() {
			continue
		}
		x := *n
		x.ReadyEndpoints = after
		if !quiet && (before == 0) != (after == 0) {
			x.Changed = seen
			s.transit(Transition{Subject: nodeRef(n), What: "endpoints", From: strconv.Itoa(before), To: strconv.Itoa(after), Why: "ready on this node", Seen: seen})
		}
		s.t.nodes.set(&x)
		s.dirty = true
	}
}
