package cluster

import (
	"fmt"
	"slices"
	"time"
)

// Interval is a span of time in which something is expected to happen. The zero
// Interval is no forecast.
type Interval struct{ From, To time.Time }

// IsZero reports whether it is no forecast.
func (i Interval) IsZero() bool { return i.From.IsZero() && i.To.IsZero() }

// Contains reports whether t lies in it, its ends included.
func (i Interval) Contains(t time.Time) bool {
	return !i.IsZero() && !t.Before(i.From) && !t.After(i.To)
}

func (i Interval) plus(from, to time.Duration) Interval {
	if i.IsZero() {
		return i
	}
	return Interval{i.From.Add(from), i.To.Add(to)}
}

// NodeOutlook is what the control plane is expected to do about one node. What
// it has done already has no interval any more.
type NodeOutlook struct {
	Node string
	// Detected is when it is marked not Ready, EndpointsOut when no endpoint
	// on it is ready any more, Tainted when it gets the NoExecute taint, and
	// Evicted when the first of its pods is deleted.
	Detected, EndpointsOut, Tainted, Evicted Interval
	// Pods is how many of its pods are to be deleted and are not yet.
	Pods int
	// NoDetection and NoEviction say in one sentence why there is no forecast
	// of the one or the other; empty where there is one.
	NoDetection, NoEviction string
}

// Outlook is what is expected after nodes have lost power.
type Outlook struct {
	// At is when the power goes.
	At time.Time
	// Nodes are the selected nodes that exist, by name.
	Nodes []NodeOutlook
	// ZoneRule is the sentence on what the zone rule does to evictions; empty
	// when it does nothing.
	ZoneRule string
	// Assumed: the grace period, the monitor's period or the eviction rate
	// could not be read.
	Assumed bool
}

// Node gives the outlook of one node; false when it is not in it.
func (o Outlook) Node(name string) (NodeOutlook, bool) {
	i, ok := slices.BinarySearchFunc(o.Nodes, name, func(n NodeOutlook, name string) int {
		switch {
		case n.Node < name:
			return -1
		case n.Node > name:
			return 1
		}
		return 0
	})
	if !ok {
		return NodeOutlook{}, false
	}
	return o.Nodes[i], true
}

const (
	// latency is what a write, its watch and a busy machine may add to a
	// moment, or take from it where two watches are compared.
	latency = 500 * time.Millisecond
	// podNotReady is the control plane's pace when it marks the pods of a lost
	// node not ready one by one: kube-controller-manager's 20 requests a second
	// (--kube-api-qps).
	podNotReady = 50 * time.Millisecond
)

// Forecast is what the control plane is expected to do if the named nodes have
// no power from at on. It is a pure function of the Snapshot: nodes that are
// silent, not Ready or tainted already are reckoned with as they are. Its cost
// follows the number of nodes and the pods on the selected ones.
//
// The rules are those of pkg/controller/nodelifecycle and
// pkg/controller/tainteviction. A heartbeat is stamped in the pass of the
// monitor that finds it and is overdue in a later one: grace period + up to two
// periods after it. The NoExecute taint is given out by a limiter that lets one
// node through at once, and may waste that on a node which its own cache still
// has as Ready: then the next comes 1/rate later. The pods' own tolerations
// count from the taint, whose timeAdded has whole seconds.
func Forecast(s *Snapshot, nodes []string, at time.Time) Outlook {
	o := Outlook{At: at}
	set := s.Settings
	o.Assumed = set.GracePeriod.Source == Assumed || set.MonitorPeriod.Source == Assumed || set.EvictionRate.Source == Assumed
	down := map[string]bool{}
	var chosen []*Node
	for _, name := range nodes {
		if n := s.Node(name); n != nil && n.Gone.IsZero() && !down[name] {
			down[name] = true
			chosen = append(chosen, n)
		}
	}
	slices.SortFunc(chosen, func(a, b *Node) int { return compareKeys(Key{Name: a.Name}, Key{Name: b.Name}) })
	zones := s.Zones(down)
	o.ZoneRule = s.zoneSentence(zones)
	limits := s.limits(zones, chosen)
	for _, n := range chosen {
		no := NodeOutlook{Node: n.Name}
		s.foresee(n, at, limits[n.Zone], &no)
		o.Nodes = append(o.Nodes, no)
	}
	return o
}

// limit is what the eviction limiter of one zone will do.
type limit struct {
	gap     time.Duration // between two nodes
	why     string        // no node gets a taint because of this; empty: they do
	waiting int           // nodes of the selection without the taint
	last    time.Time     // when the last taint was given; zero for none
}

func (s *Snapshot) limits(zones []ZoneState, chosen []*Node) map[string]*limit {
	full := 0
	for _, z := range zones {
		if z.State == ZoneFull {
			full++
		}
	}
	out := map[string]*limit{}
	for _, z := range zones {
		l := &limit{}
		rate := s.Settings.EvictionRate.Value
		switch {
		case full == len(zones):
			l.why = "zone rule: no node is ready, so nothing is evicted"
		case z.State == ZonePartial:
			rate = 0
			if z.Nodes > s.Settings.LargeCluster.Value {
				rate = s.Settings.SecondaryEvictionRate.Value
			}
			if rate <= 0 {
				l.why = fmt.Sprintf("zone rule: %d of %d nodes not ready, so nothing is evicted, except perhaps from the first node found", z.NotReady, z.Nodes)
			}
		}
		switch {
		case rate > 0:
			l.gap = time.Duration(float64(time.Second) / rate)
		case l.why == "":
			l.why = "evictions are switched off (--node-eviction-rate=0)"
		}
		out[z.Zone] = l
	}
	for _, n := range chosen {
		l := out[n.Zone]
		if l == nil { // a zone of nodes that the rule does not count
			l = &limit{}
			if rate := s.Settings.EvictionRate.Value; rate > 0 {
				l.gap = time.Duration(float64(time.Second) / rate)
			}
			out[n.Zone] = l
		}
		if t, ok := evictionTaint(n); !ok {
			l.waiting++
		} else if t.TimeAdded.After(l.last) {
			l.last = t.TimeAdded
		}
	}
	return out
}

// foresee fills in the outlook of one node.
func (s *Snapshot) foresee(n *Node, at time.Time, l *limit, no *NodeOutlook) {
	period := s.Settings.MonitorPeriod.Value
	taint, tainted := evictionTaint(n)
	found := Interval{n.ReadySince, n.ReadySince.Add(time.Second)} // when it has been found not Ready
	if n.Ready == TriTrue {
		last, ok := lastHeartbeat(n, at)
		if !ok {
			no.NoDetection = "the heartbeats of " + n.Name + " can't be read, so it can't be told when it is found not Ready"
		} else {
			grace := s.Settings.GracePeriod.Value
			found = last.plus(grace-latency, grace+2*period+latency)
			no.Detected = found
		}
	}
	key := taintUnreachable
	if tainted {
		key = taint.Key
	}
	least, serving := time.Duration(-1), 0
	for _, p := range s.PodsOn(n.Name) {
		if p.serving() {
			serving++
		}
		wait, ok := p.evictable(key)
		if !ok {
			continue
		}
		no.Pods++
		if least < 0 || wait < least {
			least = wait
		}
	}
	if serving > 0 && no.NoDetection == "" {
		no.EndpointsOut = found.plus(0, 4*latency+time.Duration(serving)*podNotReady)
	}
	if !tainted && no.NoDetection == "" && l.why == "" {
		no.Tainted = found.plus(0, period+time.Duration(l.waiting)*l.gap+2*latency)
		if next := l.last.Add(l.gap - time.Second); !l.last.IsZero() && next.After(no.Tainted.From) {
			no.Tainted.From = next
			if no.Tainted.To.Before(next) {
				no.Tainted.To = next.Add(l.gap + time.Second)
			}
		}
	}
	switch {
	case least < 0:
		no.NoEviction = "no pod on " + n.Name + " is to be evicted"
	case tainted:
		added := Interval{taint.TimeAdded, taint.TimeAdded.Add(time.Second)}
		no.Evicted = added.plus(least, least+2*latency)
	case l.why != "":
		no.NoEviction = l.why
	case no.NoDetection != "":
		no.NoEviction = no.NoDetection
	default:
		no.Evicted = no.Tainted.plus(least, least+2*latency)
	}
}

// lastHeartbeat is when the last heartbeat of a Ready node that loses its power
// at at is expected to have come.
func lastHeartbeat(n *Node, at time.Time) (Interval, bool) {
	_, last := n.Heartbeat()
	if last.IsZero() || !n.Gone.IsZero() {
		return Interval{}, false
	}
	every := n.RenewEvery()
	if n.Overdue || at.Before(last.Add(every+latency)) {
		return Interval{last, last}, true
	}
	return Interval{at.Add(-every), at}, true
}

// evictable reports whether the control plane will delete the pod because of a
// NoExecute taint of this key, and how long it waits.
func (p *Pod) evictable(key string) (time.Duration, bool) {
	wait := p.UnreachableFor
	if key == taintNotReady {
		wait = p.NotReadyFor
	}
	if wait < 0 || p.Static || p.Node == "" || !p.Deleting.IsZero() || !p.Gone.IsZero() || p.finished() {
		return 0, false
	}
	return wait, true
}

// StartTimes is how long the pods of a deployment took from their creation to
// being ready: the least and the most of those that are ready and have never
// been restarted, and how many those are. Both times have whole seconds.
func (s *Snapshot) StartTimes(dep Key) (least, most time.Duration, n int) {
	for _, p := range s.PodsOf(dep) {
		if !p.serving() || p.Restarts > 0 || p.ReadySince.Before(p.Created) {
			continue
		}
		d := p.ReadySince.Sub(p.Created)
		if n == 0 || d < least {
			least = d
		}
		most = max(most, d)
		n++
	}
	return least, most, n
}
