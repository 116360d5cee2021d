package cluster

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
)

// Radius is what switching a selection of nodes off is expected to do, reckoned
// from one Snapshot and only from what is watched: pods of namespaces that are
// not watched are in none of its numbers.
type Radius struct {
	// Nodes are the selected nodes that exist, Missing the others; sorted.
	Nodes, Missing []string
	// Pods is how many pods that have not ended are on them.
	Pods int
	// Deployments are those with such a pod, by key.
	Deployments []Impact
	// StatefulSetPods will not be replaced: they hang in Terminating until the
	// node returns or its object is deleted.
	StatefulSetPods []Key
	// ControlPlane are the selected nodes of the control plane.
	ControlPlane []string
	// ReadyWorkersLeft counts nodes that are Ready, not silent, schedulable,
	// not of the control plane and not selected.
	ReadyWorkersLeft int
	// Zones is each zone's state with the selection down, ZoneRule the
	// sentence on what that does to evictions; empty when it does nothing.
	Zones    []ZoneState
	ZoneRule string
	// Replacements is how many pods the control plane will want elsewhere,
	// WillNotFit how many of them find no room, by CPU requests and number
	// of pods alone: an estimate that knows nothing of memory, devices,
	// affinity or tolerations. Room says both in a sentence.
	Replacements, WillNotFit int
	Room                     string
}

// Impact is what a selection does to one deployment.
type Impact struct {
	Key
	// Pods of it on the selected nodes.
	Pods int
	// Wanted is spec.replicas; the available ones before and after.
	Wanted, AvailableBefore, AvailableAfter int
	// CapacityBefore and CapacityAfter are Snapshot.Capacity's; 0 and 0 when
	// no limit is known.
	CapacityBefore, CapacityAfter int
	// Minimum is the Knative min-scale, else replicas - maxUnavailable.
	Minimum int
	// BelowMinimum: fewer than Minimum are left available.
	BelowMinimum bool
}

// Blast reckons the blast radius of switching the named nodes off.
func Blast(s *Snapshot, nodes []string) Radius {
	var r Radius
	down := map[string]bool{}
	for _, name := range nodes {
		n := s.Node(name)
		switch {
		case down[name] || slices.Contains(r.Missing, name):
		case n == nil || !n.Gone.IsZero():
			r.Missing = append(r.Missing, name)
		default:
			down[name] = true
			r.Nodes = append(r.Nodes, name)
			if n.ControlPlane {
				r.ControlPlane = append(r.ControlPlane, name)
			}
		}
	}
	slices.Sort(r.Nodes)
	slices.Sort(r.Missing)
	slices.Sort(r.ControlPlane)

	impacts := map[Key]*Impact{}
	var moving []*Pod
	for _, name := range r.Nodes {
		for _, p := range s.PodsOn(name) {
			if p.finished() || !p.Gone.IsZero() {
				continue
			}
			r.Pods++
			if p.OwnerKind == "StatefulSet" {
				r.StatefulSetPods = append(r.StatefulSetPods, p.Key)
			}
			if p.replaceable() {
				moving = append(moving, p)
			}
			if p.Deployment != "" {
				countPod(s, impacts, p)
			}
		}
	}
	for _, im := range impacts {
		im.AvailableAfter = max(0, im.AvailableAfter)
		im.CapacityAfter = max(0, im.CapacityAfter)
		im.BelowMinimum = im.AvailableAfter < im.Minimum
		r.Deployments = append(r.Deployments, *im)
	}
	slices.SortFunc(r.Deployments, func(a, b Impact) int { return compareKeys(a.Key, b.Key) })
	slices.SortFunc(r.StatefulSetPods, compareKeys)

	r.Zones = s.Zones(down)
	r.ZoneRule = s.zoneSentence(r.Zones)
	survivors := s.survivors(down)
	r.ReadyWorkersLeft = len(survivors)
	r.Replacements, r.WillNotFit = len(moving), fit(moving, survivors)
	switch {
	case r.Replacements == 0:
		r.Room = "nothing to replace"
	case r.WillNotFit > 0:
		r.Room = fmt.Sprintf("replacements will not fit: %d Pending", r.WillNotFit)
	case r.Replacements == 1:
		r.Room = "the replacement fits on the nodes left"
	default:
		r.Room = fmt.Sprintf("all %d replacements fit on the nodes left", r.Replacements)
	}
	return r
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func countPod(s *Snapshot, impacts map[Key]*Impact, p *Pod) {
	k := p.deployment()
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
			im.Minimum = d.Knative.MinScale
		}
		impacts[k] = im
	}
	im.Pods++
	if !p.serving() {
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
func (p *Pod) replaceable() bool {
	switch p.OwnerKind {
	case "ReplicaSet", "ReplicationController", "Job":
		return !p.Static && p.Deleting.IsZero() && p.UnreachableFor >= 0
	}
	return false
}

// room is what is free on one node.
type room struct {
	milli int64
	pods  int64
}

// survivors gives the free room on each Ready worker outside the selection.
func (s *Snapshot) survivors(down map[string]bool) []room {
	var out []room
	s.nodes.each(func(n *Node) bool {
		if down[n.Name] || n.ControlPlane || n.Unschedulable || n.Ready != TriTrue || !n.Gone.IsZero() {
			return true
		}
		if _, silent := s.Silent(n, s.At); silent {
			return true
		}
		for _, t := range n.Taints {
			if t.Effect == "NoSchedule" || t.Effect == "NoExecute" {
				return true
			}
		}
		free := room{n.CPUMilli, n.MaxPods}
		if free.pods == 0 {
			free.pods = 110 // a kubelet's default
		}
		for _, p := range s.PodsOn(n.Name) {
			if !p.finished() && p.Gone.IsZero() {
				free.milli -= p.CPUMilli
				free.pods--
			}
		}
		out = append(out, free)
		return true
	})
	return out
}

// fit places the pods, the largest first, each on the node with most CPU
// free, and gives how many find no place.
func fit(moving []*Pod, free []room) (left int) {
	moving = slices.Clone(moving)
	slices.SortFunc(moving, func(a, b *Pod) int { return cmp.Compare(b.CPUMilli, a.CPUMilli) })
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
