package forecast

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/place"
	"lightsout/internal/text"
)

// Hits is the impact of an outage on the pods that lightsout watches; it only counts those
// of other namespaces.
type Hits struct {
	// Unread states in one sentence that the impact is unknown, because lightsout is
	// still reading pods or deployments, or may not; empty once it has read them.
	Unread string
	// Pods is how many pods that have not ended are on the nodes; of a drain, how many it evicts.
	Pods int
	// Unwatched is how many of the pods on the nodes are in namespaces that lightsout does
	// not watch. UnwatchedUnknown is why it cannot tell; empty if it can.
	Unwatched        int
	UnwatchedUnknown string
	// Deployments are those with such a pod, by key; last those that lose none that is available.
	Deployments []Impact
	// ReadyWorkersLeft counts nodes that are Ready, not silent, schedulable,
	// not of the control plane, not selected and not down already.
	ReadyWorkersLeft int
	// Place forecasts the nodes that the pods of all nodes that are down get: of the
	// selected ones, and of those that are down already.
	Place *place.Outcome
	// Already names the nodes that are down already and have pods that need a place.
	Already []string
	// LocalData are the pods with an emptyDir that a drain evicts: their contents go with
	// them.
	LocalData []cluster.Key
	// BlockingsUnknown is why lightsout cannot tell whether a disruption budget blocks the drain; empty if it can.
	BlockingsUnknown string

	// What happens to those that are evicted and not replaced, and to those that
	// are not evicted: bare are those without a controller, which a drain leaves.
	stateful, bare, forever []cluster.Key
	staying, evicted        int
	// least and most are how long the evicted ones tolerate it.
	least, most time.Duration
}

// Impact is what an outage does to one deployment.
type Impact struct {
	cluster.Key
	// Wanted is spec.replicas; the available ones before and after.
	Wanted, AvailableBefore, AvailableAfter int
	// CapacityBefore and CapacityAfter are Snapshot.Capacity's; 0 and 0 when
	// no limit is known.
	CapacityBefore, CapacityAfter int
	// Minimum is the Knative min-scale, else replicas - maxUnavailable.
	Minimum int
	// BelowMinimum: the outage leaves fewer than Minimum available.
	BelowMinimum bool
	// Knative is the deployment's; nil if it has none.
	Knative *cluster.Knative
}

// already reports whether the outage takes none of the pods that are available now.
func (d *Impact) already() bool { return d.AvailableAfter >= d.AvailableBefore }

// Hits counts the objects that the outage hits. The first call costs about 30 ms for
// 1,000 nodes with 30,000 pods; later calls return the same value.
func (f *Forecast) Hits() Hits {
	f.once.Do(func() { f.hits = f.count() })
	return f.hits
}

func (f *Forecast) count() (h Hits) {
	if why := cluster.WhyUnknown(f.s, cluster.KindPod, cluster.KindDeployment); why != "" {
		h.Unread = "impact unknown: " + why
	}
	h.countUnwatched(f)
	nodes, already := text.Each(f.Nodes, func(n Node) string { return n.Node }), text.Each(f.already, func(n *cluster.Node) string { return n.Name })
	for _, name := range slices.Concat(f.drained, nodes) {
		for _, p := range stopping(f.s, name, f.emptied) {
			switch {
			case f.drained == nil:
				h.lose(p)
			case !p.Drained():
				h.lose(p)
				continue
			case p.LocalData:
				h.LocalData = append(h.LocalData, p.Key)
			}
			h.Pods++
		}
	}
	h.Already = slices.DeleteFunc(slices.Clone(already), func(name string) bool {
		return !slices.ContainsFunc(stopping(f.s, name, f.emptied), func(p *cluster.Pod) bool {
			_, evicted := p.Evictable(cluster.TaintUnreachable)
			return evicted && p.Deleting.IsZero()
		})
	})
	h.Deployments = Impacts(f.s, nodes, already, f.emptied)
	h.ReadyWorkersLeft = survivors(f.s, f.away)
	stay, _ := f.Staying()
	h.Place = place.New(f.s).Lose(slices.Sorted(maps.Keys(f.away)), place.Options{Stay: stay, Drained: slices.Concat(f.drained, f.emptied)})
	if f.drained != nil {
		h.Pods -= h.Place.Held.Low
		h.BlockingsUnknown = cluster.WhyUnknown(f.s, cluster.KindBudget)
	}
	return h
}

// Off counts the pods without a controller as lost that a drain leaves: their machines go off after it.
func (h Hits) Off() Hits {
	o, left := *h.Place, slices.DeleteFunc(slices.Clone(h.bare), func(k cluster.Key) bool { return h.Place.Of(k).Key == k })
	o.Workloads = slices.Concat(o.Workloads, text.Each(left, func(k cluster.Key) place.Workload {
		return place.Workload{Key: k, Running: 1, Lost: 1, Wanted: 1, Losses: place.Losses{Orphans: place.Range{Low: 1, High: 1}}}
	}))
	h.Place = &o
	return h
}

// stopping are the pods on a node that have not ended, without those that a drain has moved.
func stopping(s *cluster.Snapshot, node string, emptied []string) []*cluster.Pod {
	return slices.DeleteFunc(slices.Clone(s.PodsOn(node)), func(p *cluster.Pod) bool {
		return p.Finished() || !p.Gone.IsZero() || p.Drained() && slices.Contains(emptied, node)
	})
}

// Impacts are what the loss of nodes leaves, until pods are replaced, of the deployments with pods on them, as Hits.Deployments has
// them. Pods of nodes that are down already serve nobody, also those that the API server still calls ready; emptied nodes were drained before.
func Impacts(s *cluster.Snapshot, nodes, already, emptied []string) (out []Impact) {
	impacts := map[cluster.Key]*Impact{}
	for _, name := range nodes {
		for _, p := range stopping(s, name, emptied) {
			countPod(s, impacts, p)
		}
	}
	for _, name := range already {
		for _, p := range stopping(s, name, emptied) {
			im := impacts[cluster.Key{Namespace: p.Namespace, Name: p.Deployment}]
			if im == nil || !p.Serving() {
				continue
			}
			im.AvailableBefore, im.AvailableAfter = max(0, im.AvailableBefore-1), im.AvailableAfter-1
			limit := slots(im.Knative, p)
			im.CapacityBefore, im.CapacityAfter = max(0, im.CapacityBefore-limit), im.CapacityAfter-limit
		}
	}
	for _, im := range impacts {
		im.AvailableAfter = max(0, im.AvailableAfter)
		im.CapacityAfter = max(0, im.CapacityAfter)
		im.BelowMinimum = im.AvailableAfter < min(im.Minimum, im.AvailableBefore)
		out = append(out, *im)
	}
	last := map[bool]int{true: 1}
	slices.SortFunc(out, func(a, b Impact) int { return cmp.Or(last[a.already()]-last[b.already()], a.Key.Compare(b.Key)) })
	return out
}

// Staying names the nodes that are down and of which the control plane evicts no pod, with the
// reason in one sentence; both are empty if it evicts pods of all nodes. A node that has the
// taint keeps it as long as any node is Ready.
func (f *Forecast) Staying() (nodes []string, why string) {
	for _, name := range slices.Sorted(maps.Keys(f.away)) {
		x := f.s.Node(name)
		if x == nil || f.limits[x.Zone] == nil || f.limits[x.Zone].why == "" {
			continue
		}
		if _, tainted := x.EvictionTaint(); !tainted || allFull(f.zones) {
			nodes, why = append(nodes, name), cmp.Or(f.ZoneRule, f.limits[x.Zone].why)
		}
	}
	return nodes, why
}

// countUnwatched counts the pods of namespaces that lightsout does not watch.
func (h *Hits) countUnwatched(f *Forecast) {
	h.UnwatchedUnknown = cluster.WhyUnknown(f.s, cluster.KindNeighbour)
	for _, o := range f.s.Objects(cluster.KindNeighbour) {
		if p, ok := o.Value.(*cluster.Pod); ok && (f.down[p.Node] || p.Drained() && slices.Contains(f.drained, p.Node)) {
			h.Unwatched++
		}
	}
}

// lose counts a pod whose node goes down.
func (h *Hits) lose(p *cluster.Pod) {
	if !p.Deleting.IsZero() {
		return
	}
	wait, evicted := p.Evictable(cluster.TaintUnreachable)
	if evicted {
		if h.evicted == 0 || wait < h.least {
			h.least = wait
		}
		h.most = max(h.most, wait)
		h.evicted++
	}
	switch {
	case p.Static, p.OwnerKind == "DaemonSet":
		h.staying++
	case !evicted:
		h.forever = append(h.forever, p.Key)
	case p.OwnerKind == "StatefulSet":
		h.stateful = append(h.stateful, p.Key)
	case p.OwnerKind == "":
		h.bare = append(h.bare, p.Key)
	}
}

func countPod(s *cluster.Snapshot, impacts map[cluster.Key]*Impact, p *cluster.Pod) {
	k := cluster.Key{Namespace: p.Namespace, Name: p.Deployment}
	d := s.Deployment(k)
	if d == nil || !d.Gone.IsZero() {
		return
	}
	im := impacts[k]
	if im == nil {
		now, _, _ := s.Capacity(k)
		im = &Impact{
			Key: k, Wanted: d.Replicas,
			AvailableBefore: d.Available, AvailableAfter: d.Available,
			CapacityBefore: now, CapacityAfter: now,
			Minimum: max(0, d.Replicas-d.MaxUnavailable), Knative: d.Knative,
		}
		if d.Knative != nil && d.Knative.MinScale > 0 {
			im.Minimum = d.Knative.MinScale
		}
		impacts[k] = im
	}
	if !p.Serving() {
		return
	}
	im.AvailableAfter--
	im.CapacityAfter -= slots(d.Knative, p)
}

// slots returns how many requests a pod serves at once; 0 without a known limit.
func slots(k *cluster.Knative, p *cluster.Pod) int {
	if k != nil && k.ContainerConcurrency > 0 {
		return k.ContainerConcurrency
	}
	return p.Concurrency
}

// StartTime is the longest that a pod of the deployment took from its creation
// to being ready, of those that are ready and have never been restarted; false
// when there is none. Both times have whole seconds.
func StartTime(s *cluster.Snapshot, dep cluster.Key) (most time.Duration, known bool) {
	for _, p := range s.PodsOf(dep) {
		if p.Serving() && p.Restarts == 0 && !p.ReadySince.Before(p.Created) {
			most, known = max(most, p.ReadySince.Sub(p.Created)), true
		}
	}
	return most, known
}

// survivors counts the Ready workers that are not down and take pods.
func survivors(s *cluster.Snapshot, down map[string]bool) (n int) {
	unwell := s.Unwell(s.At) // sorted by name, as the nodes are
	for _, node := range s.Nodes() {
		if len(unwell) > 0 && unwell[0] == node {
			unwell = unwell[1:]
			continue
		}
		if !down[node.Name] && !node.ControlPlane && node.TakesPods() {
			n++
		}
	}
	return n
}
