package cluster

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"lightsout/internal/clock"
)

// delta is one piece of news: a change of the state, made by its owner.
type delta func(*state)

// listed replaces the objects of a source by a whole list: objects that the list lacks
// are gone. The first list of a source makes no transitions.
func (s *state) listed(src *source, objects []object, seen time.Time) {
	first := !s.sources[src].Synced
	still := make(map[Key]bool, len(objects))
	for _, o := range objects {
		still[o.id()] = true
	}
	for _, o := range s.kept(src) {
		if !still[o.id()] {
			o.drop(s, seen)
		}
	}
	for _, o := range objects {
		if l, ok := o.(*lease); ok {
			s.setLease(l, seen, true)
			continue
		}
		o.put(s, seen, first)
	}
	s.setAccess(src, Access{Synced: true}, seen)
	s.unwatched[src] = seen
}

// kept gives the objects of a source that are known; those that are gone can be dropped
// once more. Leases stay with their nodes.
func (s *state) kept(src *source) []object {
	switch src.kind {
	case KindNode:
		return objectsIn(src.namespace, s.t.nodes.each)
	case KindPod:
		return objectsIn(src.namespace, s.t.pods.each)
	case KindDeployment:
		return objectsIn(src.namespace, s.t.deployments.each)
	case KindEndpointSlice:
		return objectsIn(src.namespace, maps.Values(s.slices))
	case kindComponent:
		return objectsIn("", maps.Values(s.components))
	case KindKnativeService, KindRevision:
		return slices.DeleteFunc(objectsIn(src.namespace, maps.Values(s.knative)), func(o object) bool { return o.(*knativePart).ref.Kind != src.kind })
	}
	return objectsIn(src.namespace, slices.Values(s.t.objects.span(
		func(o *Object) bool { return o.Kind >= src.kind }, func(o *Object) bool { return o.Kind > src.kind })))
}

// objectsIn lists the objects in a namespace; empty is all.
func objectsIn[T object](namespace string, all iter.Seq[T]) (out []object) {
	for o := range all {
		if namespace == "" || namespace == o.id().Namespace {
			out = append(out, o)
		}
	}
	return out
}

// watchEnded: the watch of a source, or its list, has ended, which delivered everything up to until.
func (s *state) watchEnded(src *source, until time.Time) {
	if s.sources[src].Synced {
		s.unwatched[src] = until
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

// followed: how far a source can be read has changed.
func (s *state) followed(src *source, access Access) {
	if s.sources[src].Synced {
		access.Synced = true
	}
	if access.Err == "" {
		delete(s.unwatched, src)
	} else {
		access.Until = clock.Earliest(access.Until, s.unwatched[src])
	}
	s.setAccess(src, access, time.Now())
}

// reading holds the number of objects of a list that have arrived.
func (s *state) reading(src *source, read int) {
	if a := s.sources[src]; !a.Synced {
		a.Read = read
		s.setAccess(src, a, time.Now())
	}
}

// linked reports a changed link; version is the server's version, if the server
// reported it.
func (s *state) linked(link Link, version string) {
	if link.State == LinkLive {
		now := time.Now()
		if s.link.State == LinkDisconnected {
			s.answersFrom = now
		}
		s.resetHeartbeatClocks(now)
		if version != "" {
			s.serverVersion = version
		}
		s.renewSettings()
	}
	s.link, s.dirty = link, true
}

// setAccess notes how far a source can be read, and sums up its kind.
func (s *state) setAccess(src *source, a Access, now time.Time) {
	old := s.sources[src]
	if a.Err != "" && a.Synced {
		a.Until = cmp.Or(clock.Earliest(old.Until, a.Until), now)
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
		sum.Err = cmp.Or(sum.Err, a.Err)
		sum.Until = clock.Earliest(sum.Until, a.Until)
	}
	if kind == KindLease && s.heartbeats.Err != "" && sum.Synced {
		sum.Err, sum.Until = s.heartbeats.Err, clock.Earliest(sum.Until, s.heartbeats.Until)
	}
	if sum.Synced {
		sum.Read = 0
	}
	s.access = maps.Clone(s.access)
	s.access[kind] = sum
}
