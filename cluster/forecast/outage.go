package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
)

// Interval is a span of time in which something is expected to happen. The zero
// Interval means that there is no forecast.
type Interval struct{ From, To time.Time }

// IsZero reports whether there is no forecast.
func (i Interval) IsZero() bool { return i.From.IsZero() && i.To.IsZero() }

// Contains reports whether t lies in it, its ends included.
func (i Interval) Contains(t time.Time) bool {
	return !i.IsZero() && !t.Before(i.From) && !t.After(i.To)
}

// Latest is when the events of both i and o have happened.
func (i Interval) Latest(o Interval) Interval {
	return Interval{slices.MaxFunc([]time.Time{i.From, o.From}, time.Time.Compare), slices.MaxFunc([]time.Time{i.To, o.To}, time.Time.Compare)}
}

func (i Interval) plus(from, to time.Duration) Interval {
	if i.IsZero() {
		return i
	}
	return Interval{i.From.Add(from), i.To.Add(to)}
}

// Node is the forecast for one node. Actions that the control plane has completed have
// no interval.
type Node struct {
	Node string
	// Detected is when it is marked not Ready, EndpointsOut when no endpoint
	// on it is ready any more, Tainted when it gets the NoExecute taint, and
	// Evicted when the first of its pods is deleted.
	Detected, EndpointsOut, Tainted, Evicted Interval
	// Pods is how many of its pods are to be deleted and are not yet.
	Pods int
	// NoDetection and NoEviction are the reasons, in one sentence each, why there is no
	// such forecast; empty if there is one.
	NoDetection, NoEviction string
	// NeverEvicted: the pods stay for good, so NoEviction is a fact here and not a
	// missing value.
	NeverEvicted bool
}

// Forecast is the expected course of an outage after nodes have lost power.
type Forecast struct {
	// At is when the power goes.
	At time.Time
	// Nodes are the selected nodes that exist, by name.
	Nodes []Node
	// Assumed: the grace period, the monitor's period or the eviction rate
	// could not be read.
	Assumed bool
	// ZoneRule describes in one sentence how the zone rule changes evictions; empty when it changes nothing.
	ZoneRule string

	once sync.Once
	hits Hits
	s    *cluster.Snapshot
	down map[string]bool
	// drained are the nodes that are drained and stay on, emptied those that were drained before; already are the nodes that are down apart
	// from the selected ones, by name; away has all nodes that are down.
	drained []string
	emptied []string
	already []*cluster.Node
	away    map[string]bool
	// zones is each zone's state with these nodes down.
	zones  []zone
	limits map[string]*limit // by zone
}

// Node gives the forecast of one node; false when it is not in it.
func (f *Forecast) Node(name string) (Node, bool) {
	i, ok := slices.BinarySearchFunc(f.Nodes, name, func(n Node, name string) int { return cmp.Compare(n.Node, name) })
	if !ok {
		return Node{}, false
	}
	return f.Nodes[i], true
}

const (
	// latency is the delay that a write, its watch and a busy machine may add to a
	// time, or subtract when two watches are compared.
	latency = 500 * time.Millisecond
	// podNotReady is the control plane's pace when it marks the pods of a lost
	// node not ready one by one: kube-controller-manager's 20 requests a second
	// (--kube-api-qps).
	podNotReady = 50 * time.Millisecond
)

// Outage forecasts what the control plane does if the named nodes have no power
// from at on. off names nodes whose machines are off, or on their way off, by more than
// the API server knows: it calls such a node Ready for most of a minute. These nodes, and
// those that are silent or not Ready in s, are down already: they take no pods, and their
// own pods need a place as well. Its cost follows the number of nodes and the pods on
// those that are down.
//
// The rules are those of pkg/controller/nodelifecycle and
// pkg/controller/tainteviction. A heartbeat is stamped in the pass of the
// monitor that finds it and is overdue in a later one: grace period + up to two
// periods after it. The NoExecute taint is given out by a limiter that lets one
// node through at once, and may waste that on a node which its own cache still
// has as Ready: then the next comes 1/rate later. The pods' own tolerations
// count from the taint, whose timeAdded has whole seconds.
func Outage(s *cluster.Snapshot, nodes, off []string, at time.Time) *Forecast {
	f := &Forecast{At: at, s: s, down: map[string]bool{}, away: map[string]bool{}}
	set := s.Settings
	f.Assumed = set.GracePeriod.Source == cluster.Assumed || set.MonitorPeriod.Source == cluster.Assumed || set.EvictionRate.Source == cluster.Assumed
	var chosen []*cluster.Node
	for _, name := range slices.Compact(slices.Sorted(slices.Values(nodes))) {
		if n := s.Node(name); n != nil && n.Gone.IsZero() {
			f.down[name], f.away[name] = true, true
			chosen = append(chosen, n)
		}
	}
	for _, name := range Down(s, off) {
		if !f.down[name] {
			f.away[name] = true
			f.already = append(f.already, s.Node(name))
		}
	}
	f.zones = zones(s, f.away)
	f.ZoneRule = zoneSentence(set, f.zones)
	f.limits = limits(set, f.zones, slices.Concat(chosen, f.already))
	f.Nodes = text.Each(chosen, f.node)
	return f
}

// Drain forecasts a drain of nodes that stay on; off is Outage's. Its Nodes are none: nobody goes down.
func Drain(s *cluster.Snapshot, nodes, off []string, at time.Time) *Forecast {
	f := Outage(s.WithCordoned(nodes, true), nil, off, at)
	f.drained = nodes
	return f
}

// After has the nodes count as drained before, with their pods in need of a place elsewhere; s has them cordoned. It
// returns f, and is called before Hits.
func (f *Forecast) After(drained []string) *Forecast {
	f.emptied = drained
	return f
}

// Down names the nodes that are down already for a forecast by s: those that are silent or not
// Ready, and those in off that exist, in order.
func Down(s *cluster.Snapshot, off []string) (out []string) {
	out = slices.Concat(off, text.Each(s.Unwell(s.At), func(n *cluster.Node) string { return n.Name }))
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(name string) bool {
		n := s.Node(name)
		return n == nil || !n.Gone.IsZero()
	})
}

// limit simulates the eviction limiter of one zone.
type limit struct {
	gap     time.Duration // between two nodes
	why     string        // no node gets a taint because of this; empty: they do
	waiting int           // nodes that are down, without the taint
	last    time.Time     // time of the last taint; zero without one
}

func limits(set cluster.Settings, zones []zone, down []*cluster.Node) map[string]*limit {
	out := map[string]*limit{}
	for _, z := range zones {
		l := &limit{}
		rate := set.EvictionRate.Value
		switch {
		case allFull(zones):
			l.why = "zone rule: no node is ready, so nothing is evicted"
		case z.partial:
			if rate = z.slowRate(set); rate <= 0 {
				l.why = fmt.Sprintf("zone rule: %d of %d nodes not ready, so nothing is evicted, except perhaps from the first node found", z.NotReady, z.Nodes)
			}
		}
		l.gap = pause(rate)
		if rate <= 0 && l.why == "" {
			l.why = "evictions are switched off (--node-eviction-rate=0)"
		}
		out[z.Zone] = l
	}
	for _, n := range down {
		l := out[n.Zone]
		if l == nil { // a zone of nodes that the rule does not count
			l = &limit{gap: pause(set.EvictionRate.Value)}
			out[n.Zone] = l
		}
		if t, ok := n.EvictionTaint(); !ok {
			l.waiting++
		} else if t.TimeAdded.After(l.last) {
			l.last = t.TimeAdded
		}
	}
	return out
}

// pause is the time between two at a rate a second; 0 for no rate.
func pause(rate float64) time.Duration {
	if rate <= 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / rate)
}

// node forecasts one node.
func (f *Forecast) node(n *cluster.Node) Node {
	out := Node{Node: n.Name}
	set, l := f.s.Settings, f.limits[n.Zone]
	period := set.MonitorPeriod.Value
	taint, tainted := n.EvictionTaint()
	found := Interval{n.ReadySince, n.ReadySince.Add(time.Second)} // when it has been found not Ready
	switch last := lastHeartbeat(f.s, n, f.At); {
	case n.Ready != cluster.TriTrue && n.ReadySince.IsZero():
		out.NoDetection = n.Name + " is not Ready, and the API server does not say since when, so lightsout cannot forecast its evictions"
	case n.Ready != cluster.TriTrue: // it has been found
	case last.IsZero():
		out.NoDetection = "the heartbeats of " + n.Name + " can't be read, so lightsout cannot forecast its detection"
	default:
		found = detection(set, last).plus(-latency, latency)
		out.Detected = found
	}
	key := cluster.TaintUnreachable
	if tainted {
		key = taint.Key
	}
	serving, evictable, least := f.hit(n, key)
	out.Pods = evictable
	if serving > 0 && out.NoDetection == "" {
		out.EndpointsOut = found.plus(0, 4*latency+time.Duration(serving)*podNotReady)
	}
	if !tainted && out.NoDetection == "" && l.why == "" {
		out.Tainted = found.plus(0, period+time.Duration(l.waiting)*l.gap+2*latency)
		if next := l.last.Add(l.gap - time.Second); !l.last.IsZero() && next.After(out.Tainted.From) {
			out.Tainted.From = next
			if out.Tainted.To.Before(next) {
				out.Tainted.To = next.Add(l.gap + time.Second)
			}
		}
	}
	switch {
	case least < 0:
		out.NoEviction, out.NeverEvicted = "no pod on "+n.Name+" is subject to eviction", cluster.WhyUnknown(f.s, cluster.KindPod) == ""
		switch pods := f.s.PodsOn(n.Name); {
		case out.NeverEvicted && len(pods) == 0:
			out.NoEviction = "there are no pods on " + n.Name
		case slices.ContainsFunc(pods, func(p *cluster.Pod) bool { return p.Gone.IsZero() && !p.Deleting.IsZero() }):
			out.NoEviction = "pods on " + n.Name + " are being deleted already, and no other is subject to eviction"
		}
	case tainted:
		added := Interval{taint.TimeAdded, taint.TimeAdded.Add(time.Second)}
		out.Evicted = added.plus(least, least+2*latency)
	case l.why != "":
		out.NoEviction = l.why
	case out.NoDetection != "":
		out.NoEviction = out.NoDetection
	default:
		out.Evicted = out.Tainted.plus(least, least+2*latency)
	}
	return out
}

// hit counts the pods of a node that serve, and those that a taint evicts. least is the
// shortest time for which one of them tolerates the taint; -1 if there is none.
func (f *Forecast) hit(n *cluster.Node, taint string) (serving, evictable int, least time.Duration) {
	least = -1
	for _, p := range f.s.PodsOn(n.Name) {
		if p.Serving() {
			serving++
		}
		wait, ok := p.Evictable(taint)
		if !ok {
			continue
		}
		evictable++
		if least < 0 || wait < least {
			least = wait
		}
	}
	return serving, evictable, least
}

// heard is when the control plane heard last of a Ready node: its kubelet may report that it is Ready before it renews
// its Lease.
func heard(s *cluster.Snapshot, n *cluster.Node) time.Time {
	_, last := n.Heartbeat()
	if last.IsZero() {
		return last
	}
	return slices.MaxFunc([]time.Time{last, n.ReadySince.Add(-s.Ahead())}, time.Time.Compare)
}

// lastHeartbeat is when the last heartbeat of a Ready node that loses its power
// at at is expected to have come.
func lastHeartbeat(s *cluster.Snapshot, n *cluster.Node, at time.Time) Interval {
	last := heard(s, n)
	if last.IsZero() || !n.Gone.IsZero() {
		return Interval{}
	}
	every := n.RenewEvery()
	if n.Overdue || at.Before(last.Add(every+latency)) {
		return Interval{last, last}
	}
	return Interval{at.Add(-every), at}
}

// detection is when a node is found not Ready by the rules, of which the last
// heartbeat came in last.
func detection(set cluster.Settings, last Interval) Interval {
	grace := set.GracePeriod.Value
	return last.plus(grace, grace+2*set.MonitorPeriod.Value)
}

// NotReadyAt is the interval in which the control plane will mark a node NotReady if no
// further heartbeat comes. It is zero for a node that is not Ready already, or whose
// heartbeats are unknown.
func NotReadyAt(s *cluster.Snapshot, n *cluster.Node) Interval {
	last := heard(s, n)
	if n.Ready != cluster.TriTrue || last.IsZero() || !n.Gone.IsZero() {
		return Interval{}
	}
	return detection(s.Settings, Interval{last, last})
}

// EvictAt is when the control plane will delete the pod because of the taint of
// its lost node: the taint's timeAdded plus the pod's tolerationSeconds
// (pkg/controller/tainteviction). False when the node has no such taint, the
// pod tolerates it for ever, or is already ending.
//
// The controller counts from when it saw the first of the two taints, and keeps
// that start when one is exchanged for the other; what is given here may then
// be late by the time between them.
func EvictAt(s *cluster.Snapshot, p *cluster.Pod) (time.Time, bool) {
	n := s.Node(p.Node)
	if n == nil || !n.Gone.IsZero() {
		return time.Time{}, false
	}
	t, ok := n.EvictionTaint()
	if !ok {
		return time.Time{}, false
	}
	wait, ok := p.Evictable(t.Key)
	return t.TimeAdded.Add(wait), ok
}
