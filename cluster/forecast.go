package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// NotReadyAt is the interval in which the control plane will mark a node
// NotReady if no further heartbeat comes: the grace period after the last one
// seen, and up to two passes of its monitor later. It stamps a renewal with its
// own clock in the pass that notices it and compares in a later pass
// (pkg/controller/nodelifecycle). False for a node that is not Ready already,
// or whose heartbeats are not known.
func (s *Snapshot) NotReadyAt(n *Node) (from, to time.Time, ok bool) {
	_, last := n.Heartbeat()
	if n.Ready != TriTrue || last.IsZero() || !n.Gone.IsZero() {
		return time.Time{}, time.Time{}, false
	}
	from = last.Add(s.Settings.GracePeriod.Value)
	return from, from.Add(2 * s.Settings.MonitorPeriod.Value), true
}

// Disruption is a zone's state, in the words of the node lifecycle controller.
type Disruption string

// States of a zone.
const (
	ZoneNormal  Disruption = "Normal"
	ZonePartial Disruption = "PartialDisruption"
	ZoneFull    Disruption = "FullDisruption"
)

// ZoneState is one zone as the node lifecycle controller counts it. Nodes of
// the control plane count, those labelled
// node.kubernetes.io/exclude-disruption do not.
type ZoneState struct {
	Zone            string // empty: the unlabelled nodes
	Nodes, NotReady int
	State           Disruption
}

// Zones gives the state of every zone by name, with the nodes in down counted as
// not ready as well. The rule (ComputeZoneState): no node ready is
// FullDisruption; more than 2 and at least UnhealthyZone of them not ready is
// PartialDisruption.
func (s *Snapshot) Zones(down map[string]bool) []ZoneState {
	byName := map[string]*ZoneState{}
	s.nodes.each(func(n *Node) bool {
		if n.ExcludeDisruption || !n.Gone.IsZero() {
			return true
		}
		z := byName[n.Zone]
		if z == nil {
			z = &ZoneState{Zone: n.Zone}
			byName[n.Zone] = z
		}
		z.Nodes++
		if n.Ready != TriTrue || down[n.Name] {
			z.NotReady++
		}
		return true
	})
	out := make([]ZoneState, 0, len(byName))
	for _, z := range byName {
		z.State = ZoneNormal
		switch {
		case z.NotReady == z.Nodes:
			z.State = ZoneFull
		case z.NotReady > 2 && float64(z.NotReady)/float64(z.Nodes) >= s.Settings.UnhealthyZone.Value:
			z.State = ZonePartial
		}
		out = append(out, *z)
	}
	slices.SortFunc(out, func(a, b ZoneState) int { return cmp.Compare(a.Zone, b.Zone) })
	return out
}

// zoneSentence says what the zone rule does to evictions; empty when it does
// nothing.
func (s *Snapshot) zoneSentence(zones []ZoneState) string {
	full, partial := 0, ""
	for _, z := range zones {
		where := ""
		if z.Zone != "" {
			where = " in zone " + z.Zone
		}
		switch {
		case z.State == ZoneFull:
			full++
		case z.State == ZonePartial && partial == "":
			rate := 0.0
			if z.Nodes > s.Settings.LargeCluster.Value {
				rate = s.Settings.SecondaryEvictionRate.Value
			}
			partial = fmt.Sprintf("zone rule: %d of %d nodes not ready%s (at least %.0f %% and more than 2): ",
				z.NotReady, z.Nodes, where, 100*s.Settings.UnhealthyZone.Value)
			if rate > 0 {
				partial += fmt.Sprintf("evictions slow down to one node in %s", Span(time.Duration(float64(time.Second)/rate)))
			} else {
				partial += "no further node's pods are evicted, they will NOT move"
			}
		}
	}
	if full > 0 && full == len(zones) {
		return "zone rule: no node is ready: the control plane removes its taints and evicts nothing"
	}
	return partial
}

// expected is one sentence of Next; the zero at is for what has no time.
type expected struct {
	at   time.Time
	text string
}

// Next says what the control plane is expected to do next, one sentence each,
// the soonest first, and then what it will not do. It is empty while nothing is
// out of the ordinary. Its cost follows the number of nodes and the pods on
// those that are not Ready, and once a second the pods on the others.
func Next(s *Snapshot, now time.Time) []string {
	var items, last []expected
	var evictions []eviction
	var waiting []*Node // not Ready, and without the taint
	s.nodes.each(func(n *Node) bool {
		if !n.Gone.IsZero() {
			return true
		}
		if n.Ready == TriTrue {
			if at, text, ok := nextNotReady(s, n, now); ok {
				items = append(items, expected{at, text})
			}
			return true
		}
		at, some, stuck := nextEviction(s, n)
		if some {
			evictions = append(evictions, eviction{n.Name, at})
		}
		if _, tainted := evictionTaint(n); !tainted && n.Ready != TriNone {
			waiting = append(waiting, n)
		}
		if _, silent := s.Silent(n, now); silent && stuck > 0 {
			last = append(last, expected{text: pods(stuck, "of "+n.Name+" stays", "of "+n.Name+" stay") + " Terminating until it returns"})
		}
		return true
	})
	rule := ""
	if len(waiting) > 0 {
		rule = s.zoneSentence(s.Zones(nil))
	}
	follow := time.Duration(0) // until the next node's taint
	if rate := s.Settings.EvictionRate.Value; rule == "" && rate > 0 && len(waiting) > 0 {
		follow = time.Duration(float64(time.Second) / rate)
	}
	if len(evictions) > 0 {
		items = append(items, nextEvictions(evictions, follow, now))
	}
	if rule != "" {
		last = append(last, expected{text: rule})
	}
	nowhere := 0
	for _, p := range s.PodsOn("") {
		if p.Phase == "Pending" && p.Gone.IsZero() && p.Deleting.IsZero() && p.Status != "SchedulingGated" {
			nowhere++
		}
	}
	switch {
	case nowhere > 0:
		last = append(last, expected{text: pods(nowhere, "waits", "wait") + " for a node with room"})
	case len(evictions) > 0 || len(waiting) > 0 && rule == "":
		if n := s.pending(); n > 0 {
			last = append(last, expected{text: fmt.Sprintf("replacements will not fit: %d Pending", n)})
		}
	}
	slices.SortStableFunc(items, func(a, b expected) int { return a.at.Compare(b.at) })
	var out []string
	for _, it := range append(items, last...) {
		out = append(out, it.text)
	}
	return out
}

// eviction is when the first pods of a node are evicted.
type eviction struct {
	node string
	at   time.Time
}

// nextEvictions puts evictions into one sentence: the first, and how much later
// the next ones are; follow is how long after the last one a node without a
// taint follows, 0 when there is none.
func nextEvictions(all []eviction, follow time.Duration, now time.Time) expected {
	slices.SortFunc(all, func(a, b eviction) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.node, b.node))
	})
	first, together := all[0], 1
	for together < len(all) && all[together].at.Sub(first.at) < time.Second {
		together++
	}
	who := first.node
	switch {
	case together == 2:
		who += " and " + all[1].node
	case together > 2:
		who = fmt.Sprintf("%d nodes", together)
	}
	text := fmt.Sprintf("pods of %s evicted in %s", who, Span(first.at.Sub(now)))
	if !first.at.After(now) {
		text = fmt.Sprintf("pods of %s evicted any moment", who)
	}
	const most = 2
	for i, e := range all[together:] {
		if i == most {
			text += fmt.Sprintf(", of %d more nodes by %s later", len(all)-together-most, Span(all[len(all)-1].at.Sub(first.at)))
			break
		}
		text += fmt.Sprintf(", of %s %s later", e.node, spaced(e.at.Sub(first.at)))
	}
	if follow > 0 {
		text += fmt.Sprintf(", the next node %s later", spaced(follow))
	}
	return expected{first.at, text}
}

// homeless keeps how many pods will find no room, for the Snapshots of one
// Watcher: it goes through all pods, and many Snapshots are made in a second.
// Safe for concurrent use.
type homeless struct {
	mu    sync.Mutex
	known bool
	at    time.Time
	n     int
}

// homelessFor is how old the number may be.
const homelessFor = time.Second

// pending is how many pods on nodes that are not Ready will find no room
// elsewhere once they are evicted, as of up to homelessFor ago.
func (s *Snapshot) pending() int {
	h := s.homeless
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known || s.At.Sub(h.at).Abs() >= homelessFor {
		h.known, h.at, h.n = true, s.At, s.reckonPending()
	}
	return h.n
}

func (s *Snapshot) reckonPending() int {
	var moving []*Pod
	s.nodes.each(func(n *Node) bool {
		if n.Ready != TriTrue && n.Ready != TriNone && n.Gone.IsZero() {
			for _, p := range s.PodsOn(n.Name) {
				if !p.finished() && p.Gone.IsZero() && p.replaceable() {
					moving = append(moving, p)
				}
			}
		}
		return true
	})
	if len(moving) == 0 {
		return 0
	}
	return fit(moving, s.survivors(nil))
}

func nextNotReady(s *Snapshot, n *Node, now time.Time) (time.Time, string, bool) {
	since, silent := s.Silent(n, now)
	from, to, ok := s.NotReadyAt(n)
	if !silent || !ok {
		return time.Time{}, "", false
	}
	last := fmt.Sprintf("(last heartbeat %s ago)", spaced(since))
	switch {
	case !to.After(now):
		return to, fmt.Sprintf("%s should have been marked NotReady %s ago %s", n.Name, spaced(now.Sub(to)), last), true
	default:
		lo, hi := max(0, from.Sub(now)), to.Sub(now)
		return from, fmt.Sprintf("%s marked NotReady in %d–%d s %s", n.Name,
			int(lo.Round(time.Second)/time.Second), int(hi.Round(time.Second)/time.Second), last), true
	}
}

// nextEviction gives the soonest eviction on a node, and how many of its pods
// are being deleted already.
func nextEviction(s *Snapshot, n *Node) (at time.Time, some bool, stuck int) {
	taint, tainted := evictionTaint(n)
	for _, p := range s.PodsOn(n.Name) {
		if !p.Deleting.IsZero() && p.Gone.IsZero() && !p.finished() {
			stuck++
		}
		if !tainted {
			continue
		}
		if t, ok := evictAt(p, taint); ok && (!some || t.Before(at)) {
			at, some = t, true
		}
	}
	return at, some, stuck
}

// spaced writes seconds with a space before the unit, as in a sentence.
func spaced(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(max(0, d)/time.Second))
	}
	return Span(d)
}

func pods(n int, one, many string) string {
	if n == 1 {
		return "1 pod " + one
	}
	return fmt.Sprintf("%d pods %s", n, many)
}
