package cluster

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// delta is one piece of news for the owner of the state.
type delta interface{ apply(*state) }

type (
	// listed: these are all the objects of a source.
	listed struct {
		src     *source
		objects []object
		seen    time.Time
	}
	// changed: an object is new or has changed.
	changed struct {
		object object
		seen   time.Time
	}
	// deleted: an object is gone.
	deleted struct {
		object object
		seen   time.Time
	}
	// watchEnded: the watch of a source, or its list, has ended, which delivered everything up to until.
	watchEnded struct {
		src   *source
		until time.Time
	}
	// followed: how far a source can be read has changed.
	followed struct {
		src    *source
		access Access
	}
	// reading holds the number of objects of a list that have arrived.
	reading struct {
		src  *source
		read int
	}
	// linked reports a changed link; version is the server's version, if the server
	// reported it.
	linked struct {
		link    Link
		version string
	}
)

func (d changed) apply(s *state) { d.object.put(s, d.seen, false) }

func (d deleted) apply(s *state) { d.object.drop(s, d.seen) }

// apply replaces the objects of a source by a whole list: objects that the list lacks
// are gone. The first list of a source makes no transitions.
func (d listed) apply(s *state) {
	first := !s.sources[d.src].Synced
	still := make(map[Key]bool, len(d.objects))
	for _, o := range d.objects {
		still[o.id()] = true
	}
	for _, o := range s.kept(d.src) {
		if !still[o.id()] {
			o.drop(s, d.seen)
		}
	}
	for _, o := range d.objects {
		if l, ok := o.(*lease); ok {
			s.setLease(l, d.seen, true)
			continue
		}
		o.put(s, d.seen, first)
	}
	s.setAccess(d.src, Access{Synced: true}, d.seen)
	s.unwatched[d.src] = d.seen
}

// kept gives the objects of a source that are known, without those that are
// gone. Leases stay with their nodes.
func (s *state) kept(src *source) (out []object) {
	add := func(o object, gone time.Time) bool {
		if gone.IsZero() && (src.namespace == "" || src.namespace == o.id().Namespace) {
			out = append(out, o)
		}
		return true
	}
	switch src.kind {
	case KindNode:
		s.t.nodes.each(func(n *Node) bool { return add(n, n.Gone) })
	case KindPod:
		s.t.pods.each(func(p *Pod) bool { return add(p, p.Gone) })
	case KindDeployment:
		s.t.deployments.each(func(d *Deployment) bool { return add(d, d.Gone) })
	case KindEndpointSlice:
		for _, sl := range s.slices {
			add(sl, time.Time{})
		}
	case kindComponent:
		for _, c := range s.components {
			out = append(out, c)
		}
	case KindKnativeService, KindRevision:
		for _, o := range s.keptKnative(src.kind) {
			add(o, time.Time{})
		}
	default:
		for _, o := range s.t.objects.span(func(o *Object) bool { return o.Kind >= src.kind }, func(o *Object) bool { return o.Kind > src.kind }) {
			add(o, time.Time{})
		}
	}
	return out
}

func (d watchEnded) apply(s *state) {
	if s.sources[d.src].Synced {
		s.unwatched[d.src] = d.until
	}
}

// unwatchedFor is how long the owner goes on as if a source were watched after its watch has ended.
const unwatchedFor = 5 * time.Second

// dateUnwatched reports the sources that are not watched again: the new list or watch may take long,
// while everything else on its line is answered.
func (s *state) dateUnwatched(now time.Time) {
	for src, until := range s.unwatched {
		if a := s.sources[src]; now.Sub(until) > unwatchedFor && a.Err == "" {
			s.setAccess(src, Access{Synced: true, Err: "lightsout waits for a new list or watch", Until: until}, now)
		}
	}
}

func (d followed) apply(s *state) {
	if s.sources[d.src].Synced {
		d.access.Synced = true
	}
	if d.access.Err == "" {
		delete(s.unwatched, d.src)
	} else {
		d.access.Until = earliest(d.access.Until, s.unwatched[d.src])
	}
	s.setAccess(d.src, d.access, time.Now())
}

func (d reading) apply(s *state) {
	if a := s.sources[d.src]; !a.Synced {
		a.Read = d.read
		s.setAccess(d.src, a, time.Now())
	}
}

func (d linked) apply(s *state) {
	if d.link.State == LinkLive {
		s.resetHeartbeatClocks(time.Now())
		if d.version != "" {
			s.serverVersion = d.version
		}
		s.renewSettings()
	}
	s.link, s.dirty = d.link, true
}

// setAccess notes how far a source can be read, and sums up its kind.
func (s *state) setAccess(src *source, a Access, now time.Time) {
	old := s.sources[src]
	if a.Err != "" && a.Synced {
		a.Until = earliest(old.Until, a.Until)
		if a.Until.IsZero() {
			a.Until = now
		}
	} else {
		a.Until = time.Time{}
	}
	s.sources[src] = a
	switch {
	case old == a:
	case src.kind == kindComponent:
		s.settingsRead, s.dirty = s.settingsRead || a.Synced || a.Forbidden || a.Err != "", true
	default:
		s.sumAccess(src.kind)
	}
	if src.kind == KindLease {
		s.heartbeatsWatched(now)
	}
}

// earliest of two times, of which one may be zero.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// sumAccess sums up how far the sources of a kind can be read.
func (s *state) sumAccess(kind Kind) {
	s.dirty = true
	sum := Access{Synced: true, Forbidden: true}
	for _, one := range slices.SortedFunc(maps.Keys(s.sources), func(a, b *source) int {
		return cmp.Compare(a.namespace, b.namespace)
	}) {
		if one.kind != kind {
			continue
		}
		a := s.sources[one]
		sum.Read += a.Read
		sum.Synced = sum.Synced && a.Synced
		sum.Forbidden = sum.Forbidden && a.Forbidden
		if sum.Err == "" {
			sum.Err = a.Err
		}
		sum.Until = earliest(sum.Until, a.Until)
	}
	if kind == KindLease && s.heartbeats.Err != "" && sum.Synced {
		sum.Err, sum.Until = s.heartbeats.Err, earliest(sum.Until, s.heartbeats.Until)
	}
	if sum.Synced {
		sum.Read = 0
	}
	s.access = maps.Clone(s.access)
	s.access[kind] = sum
}
