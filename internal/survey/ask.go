package survey

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/cluster/place"
	"lightsout/internal/text"
)

// asker forecasts losses in one World. One goroutine may use it.
type asker struct {
	w *place.World
	s *cluster.Snapshot
	q Options

	r      *Report         // its lists of nodes
	planes int             // how many nodes the control plane has
	down   []string        // nodes that are down already
	now    *place.Outcome  // without a loss
	left   int             // of Fits, without a loss
	held   map[string]bool // nodes with a pod of a workload that has a minimum
	// changed asks about the cluster after a change, by change.String.
	changed  map[string]*asker
	requests map[cluster.Key]corev1.ResourceList // of a pod of each workload
	allowed  map[cluster.Key]int                 // place.Allowed of its pods
	// ruled: the loss of a pair may stop evictions.
	ruled bool
	// mapped: a heat map shows the pairs.
	mapped bool

	pairs    []Loss // all if mapped, otherwise those that are too much
	partials int    // the number of pairs that are Partial
}

// newAsker returns an asker for a cluster whose nodes the report lists, after a change of rules or room.
func newAsker(s *cluster.Snapshot, q Options, r *Report, m Remedy) *asker {
	a := asker{w: m.world(s), s: s, q: q, r: r, planes: len(r.planes) + m.Planes, down: forecast.Down(s, q.Off), held: map[string]bool{}, mapped: len(r.Names) <= MapMost, changed: map[string]*asker{}, allowed: map[cluster.Key]int{}}
	a.requests = a.w.Requests()
	for _, p := range s.Pods() {
		if _, ok := q.Min[p.Workload().Key]; ok {
			a.held[p.Node] = true
		}
	}
	counted := 0
	for _, z := range s.Zones() {
		counted += z.Nodes
	}
	a.ruled = len(a.down) > 0 || counted <= 2 || s.Settings.EvictionRate.Value <= 0
	a.left, _ = a.w.Fits(a.down...)
	a.now = a.lose(a.down)
	return &a
}

// A survey of up to manyPairs pairs plays each in as many orders as a question about that
// outage, and of more pairs in pairOrders.
const (
	manyPairs  = 2000
	pairOrders = 3
)

// row forecasts the loss of one node together with each node after it.
func (a *asker) row(names []string, i int) {
	orders := 0
	if len(names)*(len(names)-1)/2 > manyPairs {
		orders = pairOrders
	}
	for _, other := range names[i+1:] {
		l := Loss{Sort: Pair, Name: pairName(names[i], other), Nodes: []string{names[i], other}}
		a.ask(&l, orders)
		if a.mapped || l.TooMuch() {
			a.pairs = append(a.pairs, l)
		}
		if l.Partial() {
			a.partials++
		}
	}
}

// ask forecasts one loss in this many runs; 0: the size of the loss decides. The pods of nodes that are down already need room as well.
func (a *asker) ask(l *Loss, orders int) {
	nodes := append(slices.Clone(l.Nodes), a.down...)
	var stay []string
	if l.Sort != Pair || a.ruled {
		f := forecast.Outage(a.s, nodes, a.q.Off, a.s.At)
		stay, l.Rule = f.Staying()
		l.Rule = cmp.Or(l.Rule, f.ZoneRule)
	}
	if a.headless(l, nodes); l.planes > 0 {
		stay = nodes
	}
	if len(stay) == 0 && !slices.ContainsFunc(nodes, func(n string) bool { return a.held[n] }) {
		left, fits := a.w.Fits(nodes...)
		switch {
		case fits && l.Sort == Pair && !a.mapped: // the survey shows only how many such pairs there are
			n := max(0, left-a.left)
			l.Stuck = place.Range{Low: n, High: n}
			return
		case fits && left == 0:
			a.until(l)
			return
		}
	}
	o, before := a.w.Lose(nodes, place.Options{Orders: orders, Stay: stay}), a.without(l.Nodes)
	var gained place.Losses // pods that run only after the loss: they make up for none of another workload
	for _, was := range before.Workloads {
		gained = gained.Each(place.Range.Plus, was.Losses.Each(place.Range.Minus, o.Of(was.Key).Losses))
	}
	l.Losses = o.Losses.Each(place.Range.Minus, before.Losses.Each(place.Range.Minus, gained))
	l.Preempted = o.Victims.Minus(before.Victims)
	a.judge(l, o, before)
	a.until(l)
	l.Held = l.planes > 0 || len(stay) > 0 && l.counts.Stuck.High > 0
}

// headless says in the loss that nobody replaces pods without these nodes, of which some are down already: half of the
// control-plane nodes or more are among them, and so their etcd has no quorum. It says nothing if these were down before.
func (a *asker) headless(l *Loss, nodes []string) {
	lost, more := 0, false
	for _, name := range a.r.planes {
		if slices.Contains(nodes, name) {
			lost, more = lost+1, more || !slices.Contains(a.down, name)
		}
	}
	if !more || 2*lost < a.planes {
		return
	}
	l.planes, l.Rule = 2*lost+1-a.planes, fmt.Sprintf("without %d of %s etcd has no quorum: nobody replaces pods", lost, text.Count(a.planes, "control-plane node", "control-plane nodes"))
}

// judge lists the workloads that do not recover, and the minimums and budgets that break.
func (a *asker) judge(l *Loss, o, before *place.Outcome) {
	var others place.Losses // of the workloads without enough pods
	for i := range o.Workloads {
		w := &Workload{Workload: o.Workloads[i], Slots: a.slots(o.Workloads[i].Key)}
		if least, stated := a.q.Min[w.Key]; stated {
			w.Min = &least
		}
		was := before.Of(w.Key)
		w.Waiting, w.Least = was.Pending.High, w.After.Low
		if !w.enough() {
			others = others.Each(place.Range.Plus, w.Losses.Each(place.Range.Minus, was.Losses))
		}
		if n := w.Preempted.Minus(was.Preempted); n.High > 0 {
			l.Victims = append(l.Victims, place.Victim{Workload: w.Key, Pods: n, By: w.By})
		}
		if w.Min != nil && !w.enough() {
			l.Broken = append(l.Broken, fmt.Sprintf("%s: %v left, fewer than %d", w.Key, w.After, *w.Min))
		}
		same := was.Key == w.Key && was.After == w.After && was.Lost == w.Lost
		if w.Lacks() && !same {
			w.Reasons = text.Each(w.Reasons, func(why string) string { return text.Clean(why, 400) })
			l.Workloads = append(l.Workloads, *w)
		}
	}
	l.counts = l.Losses
	if slices.ContainsFunc(l.Workloads, func(w Workload) bool { return w.enough() }) {
		l.counts = others
	}
	share := func(w Workload) float64 { return float64(w.After.Low) / float64(w.Wanted) }
	homeless := func(w Workload) int { return min(1, w.Pending.High+w.Missing.High) }
	slices.SortStableFunc(l.Workloads, func(a, b Workload) int { return cmp.Or(homeless(b)-homeless(a), cmp.Compare(share(a), share(b))) })
	l.Budgets = text.Each(o.Budgets, func(b place.Budget) string {
		return fmt.Sprintf("%s: %v healthy, the budget requires %d", b.Key, b.Healthy, b.Required)
	})
}

// until lists the deployments that have too few pods left until these are replaced.
func (a *asker) until(l *Loss) {
	nodes := slices.DeleteFunc(slices.Clone(l.Nodes), a.r.isDown)
	for _, d := range forecast.Impacts(a.s, nodes, a.down, nil) {
		left, lost, least := d.AvailableAfter, d.AvailableBefore-d.AvailableAfter, a.q.Min[d.Key]
		if lost == 0 {
			continue
		}
		if k := slices.IndexFunc(l.Workloads, func(w Workload) bool { return w.Key == d.Key }); k >= 0 {
			w := &l.Workloads[k]
			if w.Least <= left {
				continue
			}
			w.Least = left
		}
		if _, known := a.allowed[d.Key]; !known {
			a.allowed[d.Key] = place.Allowed(a.s, a.s.PodsOf(d.Key)[0])
		}
		if left >= max(1, least) && lost <= a.allowed[d.Key] {
			continue
		}
		l.Until = append(l.Until, Left{d.Key, left, d.Wanted})
		if left < least {
			l.Broken = append(l.Broken, fmt.Sprintf("%s: %d left until replaced, fewer than %d", d.Key, left, least))
		}
	}
}

// without forecasts what happens if these nodes are not lost, except for those that are down
// already: those other than these stay down.
func (a *asker) without(nodes []string) *place.Outcome {
	others := slices.DeleteFunc(slices.Clone(a.down), func(n string) bool { return slices.Contains(nodes, n) })
	if len(others) == len(a.down) {
		return a.now
	}
	return a.lose(others)
}

// lose forecasts the loss of nodes that are down already; without any of them, the pods that
// wait for a node go on waiting.
func (a *asker) lose(nodes []string) *place.Outcome {
	if len(nodes) == 0 {
		o := a.w.Lose(nil, place.Options{Orders: 1})
		for i, waiting := 0, a.w.Waiting(); i < len(o.Workloads); i++ {
			n := waiting[o.Workloads[i].Key]
			o.Workloads[i].Pending = place.Range{Low: n, High: n}
		}
		return &place.Outcome{Waiting: o.Waiting, Losses: place.Losses{Pending: place.Range{Low: o.Waiting, High: o.Waiting}}, Workloads: o.Workloads, Unknown: o.Unknown}
	}
	stay, _ := forecast.Outage(a.s, nodes, a.q.Off, a.s.At).Staying()
	return a.w.Lose(nodes, place.Options{Stay: stay})
}

// slots returns how many requests one pod of a workload serves at once.
func (a *asker) slots(key cluster.Key) int {
	d := a.s.Deployment(key)
	if _, all, limited := a.s.Capacity(key); limited && d.Replicas > 0 {
		return all / d.Replicas
	}
	return 0
}
