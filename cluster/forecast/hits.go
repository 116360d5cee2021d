package forecast

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"lightsout/cluster"
)

// Hits is what an outage does to the pods, counted from what is watched: pods of
// namespaces that are not watched are in none of its numbers.
type Hits struct {
	// Pods is how many pods that have not ended are on the nodes.
	Pods int
	// Deployments are those with such a pod, by key.
	Deployments []Impact
	// ReadyWorkersLeft counts nodes that are Ready, not silent, schedulable,
	// not of the control plane and not selected.
	ReadyWorkersLeft int
	// Replacements is how many pods the control plane will want elsewhere,
	// WillNotFit how many of them find no room, by CPU requests and number
	// of pods alone: an estimate that knows nothing of memory, devices,
	// affinity or tolerations.
	Replacements, WillNotFit int
	// LocalData are the pods with an emptyDir, whose contents go with them.
	LocalData []cluster.Key

	// What happens to those that are evicted and not replaced, and to those that
	// are not evicted.
	stateful, bare, forever []cluster.Key
	staying, evicted        int
	// least and most are how long the evicted ones tolerate it.
	least, most time.Duration
}

// Impact is what an outage does to one deployment.
type Impact struct {
	cluster.Key
	// Pods of it on the selected nodes.
	Pods int
	// Wanted is spec.replicas; the available ones before and after.
	Wanted, AvailableBefore, AvailableAfter int
	// CapacityBefore and CapacityAfter are Snapshot.Capacity's; 0 and 0 when
	// no limit is known.
	CapacityBefore, CapacityAfter int
	// Minimum is the Knative min-scale, else replicas - maxUnavailable.
	Minimum int
	// MinScale: it is the Knative min-scale.
	MinScale bool
	// BelowMinimum: fewer than Minimum are left available.
	BelowMinimum bool
}

// Hits counts what the outage hits. Its cost follows the number of pods.
func (f *Forecast) Hits() Hits {
	var h Hits
	impacts := map[cluster.Key]*Impact{}
	var moving []*cluster.Pod
	for _, n := range f.Nodes {
		for _, p := range f.s.PodsOn(n.Node) {
			if p.Finished() || !p.Gone.IsZero() {
				continue
			}
			h.add(p)
			if replaceable(p) {
				moving = append(moving, p)
			}
			if p.Deployment != "" {
				countPod(f.s, impacts, p)
			}
		}
	}
	for _, im := range impacts {
		im.AvailableAfter = max(0, im.AvailableAfter)
		im.CapacityAfter = max(0, im.CapacityAfter)
		im.BelowMinimum = im.AvailableAfter < im.Minimum
		h.Deployments = append(h.Deployments, *im)
	}
	slices.SortFunc(h.Deployments, func(a, b Impact) int { return a.Key.Compare(b.Key) })
	left := survivors(f.s, f.down)
	h.ReadyWorkersLeft = len(left)
	h.Replacements, h.WillNotFit = len(moving), fit(moving, left)
	return h
}

// add counts a pod that has not ended.
func (h *Hits) add(p *cluster.Pod) {
	h.Pods++
	if p.LocalData {
		h.LocalData = append(h.LocalData, p.Key)
	}
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
		now, _ := s.Capacity(k)
		im = &Impact{
			Key: k, Wanted: d.Replicas,
			AvailableBefore: d.Available, AvailableAfter: d.Available,
			CapacityBefore: now, CapacityAfter: now,
			Minimum: max(0, d.Replicas-d.MaxUnavailable),
		}
		if d.Knative != nil && d.Knative.MinScale > 0 {
			im.Minimum, im.MinScale = d.Knative.MinScale, true
		}
		impacts[k] = im
	}
	im.Pods++
	if !p.Serving() {
		return
	}
	im.AvailableAfter--
	limit := p.Concurrency
	if d.Knative != nil && d.Knative.ContainerConcurrency > 0 {
		limit = d.Knative.ContainerConcurrency
	}
	im.CapacityAfter -= limit
}

// replaceable: some controller will make another pod elsewhere for it once it
// is evicted. A DaemonSet's and a static pod belong to their node, a StatefulSet
// waits for the old one, and a bare pod has nobody. One that tolerates the
// taints for ever is never evicted, one being deleted is replaced already.
func replaceable(p *cluster.Pod) bool {
	switch p.OwnerKind {
	case "ReplicaSet", "ReplicationController", "Job":
		return !p.Static && p.Deleting.IsZero() && p.UnreachableFor >= 0
	}
	return false
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

// room is what is free on one node.
type room struct {
	milli int64
	pods  int64
}

// survivors gives the free room on each Ready worker outside the selection.
func survivors(s *cluster.Snapshot, down map[string]bool) []room {
	var out []room
	unwell, asked := s.Unwell(s.At), s.Asked() // all three by name
	for _, n := range s.Nodes() {
		if len(unwell) > 0 && unwell[0] == n {
			unwell = unwell[1:]
			continue
		}
		if down[n.Name] || n.ControlPlane || n.Unschedulable {
			continue
		}
		if slices.ContainsFunc(n.Taints, func(t cluster.Taint) bool { return t.Effect == "NoSchedule" || t.Effect == "NoExecute" }) {
			continue
		}
		free := room{n.CPUMilli, n.MaxPods}
		if free.pods == 0 {
			free.pods = 110 // a kubelet's default
		}
		for len(asked) > 0 && asked[0].Node < n.Name {
			asked = asked[1:]
		}
		if len(asked) > 0 && asked[0].Node == n.Name {
			free.milli -= asked[0].CPUMilli
			free.pods -= asked[0].Pods
		}
		out = append(out, free)
	}
	return out
}

// fit places the pods, the largest first, each on the node with most CPU
// free, and gives how many find no place.
func fit(moving []*cluster.Pod, free []room) (left int) {
	moving = slices.Clone(moving)
	slices.SortFunc(moving, func(a, b *cluster.Pod) int { return cmp.Compare(b.CPUMilli, a.CPUMilli) })
	rooms := make(roomHeap, 0, len(free))
	for _, r := range free {
		if r.pods > 0 {
			rooms = append(rooms, r)
		}
	}
	heap.Init(&rooms)
	for _, p := range moving {
		if len(rooms) == 0 || rooms[0].milli < p.CPUMilli {
			left++
			continue
		}
		rooms[0].milli -= p.CPUMilli
		rooms[0].pods--
		if rooms[0].pods == 0 {
			heap.Pop(&rooms)
		} else {
			heap.Fix(&rooms, 0)
		}
	}
	return left
}

// roomHeap has the node with most CPU free at its root.
type roomHeap []room

func (h roomHeap) Len() int           { return len(h) }
func (h roomHeap) Less(i, j int) bool { return h[i].milli > h[j].milli }
func (h roomHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *roomHeap) Push(x any)        { *h = append(*h, x.(room)) }
func (h *roomHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
