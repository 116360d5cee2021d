package forecast

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"lightsout/cluster"
	"lightsout/cluster/place"
	"lightsout/internal/text"
)

// Next forecasts the next actions of the control plane. It caches costly results for a
// second, because several Snapshots arrive in one. The zero Next is ready for use. One
// goroutine may use it.
type Next struct {
	// PowerOn and Reboot, in parentheses, are how the operator does that, and Pods how they see all pods; empty if they may not.
	PowerOn, Reboot, Pods string
	// Uncordon is how the operator uncordons a node, in parentheses; nil if they may not.
	Uncordon func(node string) string
	// On are the nodes whose machines are proven on, and that do not boot.
	On map[string]bool
	// GoingOff are the nodes, of those that count as off, whose machines are only asked to go off.
	GoingOff []string

	known   time.Time // the At of the Snapshot that pending is of
	lost    []string  // the nodes that pending is of
	good    time.Duration
	pending *place.Outcome
	specs   map[cluster.Spec]*corev1.PodSpec // decoded
}

// pendingFor is the shortest time for which Next keeps pending.
const pendingFor = time.Second

// event is one sentence; at is zero for an event without a time.
type event struct {
	at   time.Time
	text string
}

// Lines describes the nodes for which pods wait or stay Terminating, then what needs room now, the workload with the
// fewest ready pods first, then the next actions of the control plane, the soonest first, and what it will not do. It is empty while everything is normal. Its cost
// follows the number of lost nodes and of the pods on them and, once a second, the
// number of all nodes. off names the nodes whose machines are off, as in Outage.
func (x *Next) Lines(s *cluster.Snapshot, off []string, now time.Time) []string {
	var lost []string
	for _, n := range s.Unwell(now) {
		if n.Gone.IsZero() {
			lost = append(lost, n.Name)
		}
	}
	var items, last []event
	f := &Forecast{}
	if len(lost) > 0 {
		f = Outage(s, lost, off, now)
	}
	var evictions []Node
	waiting := false           // one is not Ready, and without the taint
	ending := map[string]int{} // by node
	for _, o := range f.Nodes {
		n := s.Node(o.Node)
		if n.Ready == cluster.TriTrue {
			items = append(items, notReadyNext(s, n, now))
			continue
		}
		_, tainted := n.EvictionTaint()
		if tainted && !o.Evicted.IsZero() {
			evictions = append(evictions, o)
		}
		waiting = waiting || !tainted && n.Ready != cluster.TriNone
		if _, silent := s.Silent(n, now); silent && !n.OutOfService() {
			pods, volumes := x.stuck(s, n.Name)
			last, ending[n.Name] = append(last, volumes...), pods
		}
	}
	rule, follow := "", time.Duration(0) // until the next node's taint
	if waiting {
		if rule = zoneSentence(s.Settings, zones(s, nil)); rule == "" {
			follow = pause(s.Settings.EvictionRate.Value)
		}
	}
	if len(evictions) > 0 {
		items = append(items, evictionsNext(evictions, follow, now))
	}
	if rule != "" {
		last = append(last, event{text: rule})
	}
	homeless := roomless(s, x.Pods)
	if len(homeless) == 0 && (len(evictions) > 0 || waiting && rule == "") {
		if o := x.homeless(s, Down(s, slices.Concat(lost, off))); o.Homeless().High > 0 {
			last = append(last, event{text: NoNode(o.Homeless()) + " until the nodes return"})
		}
	}
	slices.SortStableFunc(items, func(a, b event) int { return a.at.Compare(b.at) })
	causes := x.causes(s, lost, off, len(homeless) > 0, ending)
	return text.Each(slices.Concat(causes, homeless, items, last), func(e event) string { return e.text })
}

// causes describes the nodes that take no pods while pods wait for a node, and those on which pods, which ending
// counts, stay Terminating: first those that are on, or off, then the down, then the cordoned.
func (x *Next) causes(s *cluster.Snapshot, lost, off []string, waiting bool, ending map[string]int) []event {
	by, stay := map[string][]string{}, map[string]int{}
	for _, n := range s.Nodes() {
		state, on := "", x.On[n.Name] && n.Ready != cluster.TriTrue
		if _, down := slices.BinarySearch(lost, n.Name); slices.Contains(x.GoingOff, n.Name) {
			state = "going off"
		} else if slices.Contains(off, n.Name) {
			state = "off" + x.PowerOn
		} else if down && on {
			state = "on, but NotReady" + x.Reboot
		} else if down {
			state = "down"
		} else if n.Unschedulable && !n.ControlPlane {
			state = "cordoned"
			if x.Uncordon != nil {
				state += x.Uncordon(n.Name)
			}
		}
		if state != "" && n.Gone.IsZero() && (waiting || ending[n.Name] > 0 || on) {
			by[state], stay[state] = append(by[state], n.Name), stay[state]+ending[n.Name]
		}
	}
	return text.Each(slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Compare(b, a) }), func(state string) event {
		out := named(by[state]) + text.Noun(len(by[state]), " is ", " are ") + state
		if stay[state] > 0 {
			out += ": " + pods(stay[state], "stays", "stay") + " Terminating"
		}
		return event{text: out}
	})
}

// mostRoomless is how many workloads roomless names.
const mostRoomless = 3

// roomless describes the pods that wait for a node, by their workloads; show is where more of them are.
func roomless(s *cluster.Snapshot, show string) (out []event) {
	by := map[cluster.Ref][]*cluster.Pod{}
	for _, p := range unscheduled(s) {
		by[p.Workload()] = append(by[p.Workload()], p)
	}
	share := func(ref cluster.Ref) float64 {
		if w := s.Workload(ref); w != nil {
			return float64(w.Ready) / float64(max(1, w.Desired))
		}
		return 1
	}
	refs := slices.SortedFunc(maps.Keys(by), func(a, b cluster.Ref) int {
		return cmp.Or(cmp.Compare(share(a), share(b)), len(by[b])-len(by[a]), cmp.Compare(a.String(), b.String()))
	})
	rest := 0
	for i, ref := range refs {
		all, count, why := by[ref], "", by[ref][0].Unplaced
		if w := s.Workload(ref); w != nil {
			count = fmt.Sprintf(" %d/%d", w.Ready, w.Desired)
		}
		if i < mostRoomless {
			out = append(out, event{text: strings.TrimSuffix(ref.Name+count+": "+pods(len(all), "waits", "wait")+" for a node: "+cluster.Short(why), ": ")})
		} else {
			rest += len(all)
		}
	}
	if rest > 0 {
		out = append(out, event{text: "more workloads: " + pods(rest, "waits", "wait") + " for a node" + show})
	}
	return out
}

// stuck returns what stays on a silent node: how many pods that end, and the volumes that they keep
// attached, by name: no pod on another node starts with one of them.
func (x *Next) stuck(s *cluster.Snapshot, node string) (ending int, volumes []event) {
	var names []string
	for _, p := range s.PodsOn(node) {
		if !p.Deleting.IsZero() && p.Gone.IsZero() && !p.Finished() {
			ending++
			names = append(names, s.AttachedAlone(p.Namespace, x.spec(p))...)
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > 0 {
		volumes = append(volumes, event{text: text.Clean(fmt.Sprintf("%s %s stays attached to %s: %s",
			text.Noun(len(names), "volume", "each volume of"), text.List(names), node, detaching), 400)})
	}
	return ending, volumes
}

// specsKept bounds the specifications that a Next keeps decoded.
const specsKept = 1000

// spec decodes a pod's specification once.
func (x *Next) spec(p *cluster.Pod) *corev1.PodSpec {
	if x.specs == nil || len(x.specs) > specsKept {
		x.specs = map[cluster.Spec]*corev1.PodSpec{}
	}
	spec := x.specs[p.Spec]
	if spec == nil {
		spec = p.Spec.Decode()
		x.specs[p.Spec] = spec
	}
	return spec
}

// notReadyNext forecasts when a silent node is marked NotReady; without a text where it is unknown.
func notReadyNext(s *cluster.Snapshot, n *cluster.Node, now time.Time) event {
	due := NotReadyAt(s, n)
	if due.IsZero() {
		return event{}
	}
	since, _ := s.Silent(n, now)
	last := fmt.Sprintf("(last heartbeat %s ago)", spaced(since))
	if !due.To.After(now) {
		return event{due.To, fmt.Sprintf("%s should have been marked NotReady %s ago %s", n.Name, spaced(now.Sub(due.To)), last)}
	}
	seconds := func(at time.Time) int { return int(max(0, at.Sub(now)).Round(time.Second) / time.Second) }
	return event{due.From, fmt.Sprintf("%s marked NotReady in %d–%d s %s", n.Name, seconds(due.From), seconds(due.To), last)}
}

// evictionsNext describes evictions in one sentence: the first, and how much later the
// next ones are. follow is how long after the last one a node without a taint follows,
// 0 if there is none.
func evictionsNext(all []Node, follow time.Duration, now time.Time) event {
	slices.SortFunc(all, func(a, b Node) int {
		return cmp.Or(a.Evicted.From.Compare(b.Evicted.From), cmp.Compare(a.Node, b.Node))
	})
	first, together := all[0].Evicted.From, []string(nil)
	for _, n := range all {
		if n.Evicted.From.Sub(first) < time.Second {
			together = append(together, n.Node)
		}
	}
	who := named(together)
	out := fmt.Sprintf("pods of %s evicted in %s", who, text.Span(first.Sub(now)))
	if !first.After(now) {
		out = fmt.Sprintf("pods of %s evicted any moment", who)
	}
	switch others, last := len(all)-len(together), all[len(all)-1]; {
	case others == 1:
		out += ", of " + last.Node + " " + later(last.Evicted.From.Sub(first))
	case others > 1:
		out += fmt.Sprintf(", of %d more nodes by %s later", others, text.Span(last.Evicted.From.Sub(first)))
	}
	if follow > 0 {
		out += ", the next node " + later(follow)
	}
	return event{first, out}
}

// named names up to two nodes, and counts more.
func named(nodes []string) string {
	if len(nodes) > 2 {
		return fmt.Sprintf("%d nodes", len(nodes))
	}
	return text.List(nodes)
}

// later is how much later something happens.
func later(d time.Duration) string {
	if d < time.Second {
		return "right after"
	}
	return spaced(d) + " later"
}

// Unscheduled counts the pods that wait for a node, without those that scheduling gates
// hold back and those of namespaces that lightsout does not watch.
func Unscheduled(s *cluster.Snapshot) int { return len(unscheduled(s)) }

func unscheduled(s *cluster.Snapshot) (out []*cluster.Pod) {
	for _, p := range s.PodsOn("") {
		if p.Phase == "Pending" && p.Gone.IsZero() && p.Deleting.IsZero() && p.Status != "SchedulingGated" {
			out = append(out, p)
		}
	}
	return out
}

// Unscheduled forecasts how many pods the function Unscheduled counts while the nodes are away.
func (f *Forecast) Unscheduled() place.Range {
	o, now := f.Hits().Place, Unscheduled(f.s)
	others := o.Waiting - now // of namespaces that lightsout does not watch
	return o.Pending.Minus(place.Range{Low: others, High: others})
}

// homeless forecasts which pods find no node after the eviction of all nodes that are down. It
// keeps the answer for a second, longer if the answer was costly, and less long once the
// nodes are others.
func (x *Next) homeless(s *cluster.Snapshot, lost []string) *place.Outcome {
	good := x.good
	if !slices.Equal(lost, x.lost) {
		good /= 10
	}
	if x.pending != nil && s.At.Sub(x.known).Abs() < good {
		return x.pending
	}
	begun := time.Now()
	x.pending, x.known, x.lost = place.New(s).Lose(lost, place.Options{Orders: 3}), s.At, lost
	x.good = max(pendingFor, 50*time.Since(begun))
	return x.pending
}

// NoNode states that so many pods get no node.
func NoNode(n place.Range) string { return n.Count("pod gets no node", "pods get no node") }

// spaced writes seconds with a space before the unit, as in a sentence.
func spaced(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(max(0, d)/time.Second))
	}
	return text.Span(d)
}

func pods(n int, one, many string) string {
	return text.Count(n, "pod", "pods") + " " + text.Noun(n, one, many)
}
