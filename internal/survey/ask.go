package survey

import (
	"cmp"
	"fmt"
	"slices"

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

	down []string        // nodes that are down already
	now  *place.Outcome  // without a loss
	left int             // of Fits, without a loss
	held map[string]bool // nodes with a pod of a workload that has a minimum
	// ruled: the loss of a pair may stop evictions.
	ruled bool
	// mapped: a heat map shows the pairs.
	mapped bool

	pairs    []Loss // all if mapped, otherwise those that are too much
	partials int    // the number of pairs that are Partial
}

// newAsker returns an asker for a cluster with this many nodes that form pairs.
func newAsker(s *cluster.Snapshot, q Options, nodes int) asker {
	a := asker{w: place.New(s), s: s, q: q, held: map[string]bool{}, mapped: nodes <= MapMost}
	a.down = forecast.Down(s, q.Off)
	for _, p := range s.Pods() {
		if _, ok := q.Min[workload(p)]; ok {
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
	return a
}

// workload is the key of a pod's workload, as place.Workload has it.
func workload(p *cluster.Pod) cluster.Key {
	return cluster.Key{Namespace: p.Namespace, Name: cmp.Or(p.Deployment, p.OwnerName, p.Name)}
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

// ask forecasts one loss in this many runs; 0: the size of the loss decides. The pods of
// nodes that are down already need room as well.
func (a *asker) ask(l *Loss, orders int) {
	nodes := append(slices.Clone(l.Nodes), a.down...)
	var stay []string
	if l.Sort != Pair || a.ruled {
		f := forecast.Outage(a.s, nodes, a.q.Off, a.s.At)
		stay, l.Rule = f.Staying()
		l.Rule = cmp.Or(l.Rule, f.ZoneRule())
	}
	if len(stay) == 0 && !slices.ContainsFunc(nodes, func(n string) bool { return a.held[n] }) {
		left, fits := a.w.Fits(nodes...)
		if fits && left == 0 {
			return
		}
		if fits && l.Sort == Pair && !a.mapped { // the survey shows only how many such pairs there are
			n := max(0, left-a.left)
			l.Stuck = place.Range{Low: n, High: n}
			return
		}
	}
	o, before := a.w.Lose(nodes, place.Options{Orders: orders, Stay: stay}), a.without(l.Nodes)
	l.Homeless, l.Missing = o.Pending.Minus(before.Pending), o.Missing.Minus(before.Missing)
	l.Stuck, l.Preempted = o.Stuck.Minus(before.Stuck), o.Victims.Minus(before.Victims)
	l.Orphans, l.Over = o.Orphans.Minus(before.Orphans), o.Over.Minus(before.Over)
	a.judge(l, o, before)
	l.Held = len(stay) > 0 && l.counts.Stuck.High > 0
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
		if !w.enough() {
			others = worse(others, &w.Workload, was)
		}
		if n := w.Preempted.Minus(was.Preempted); n.High > 0 {
			l.Victims = append(l.Victims, Victim{w.Key, n, w.By})
		}
		if w.Min != nil && !w.enough() {
			l.Broken = append(l.Broken, fmt.Sprintf("%s: %v left, fewer than %d", w.Key, w.After, *w.Min))
		}
		away := w.Pending.High + w.Missing.High + w.Stuck.High + w.Over.High + w.Orphans.High
		same := was.Key == w.Key && was.After == w.After && was.Lost == w.Lost
		if w.After.Low < w.Running && away > 0 && !same {
			for k, why := range w.Reasons {
				w.Reasons[k] = text.Clean(why, 400)
			}
			l.Workloads = append(l.Workloads, *w)
		}
	}
	l.counts = place.Losses{Pending: l.Homeless, Missing: l.Missing, Stuck: l.Stuck, Orphans: l.Orphans, Over: l.Over}
	if slices.ContainsFunc(l.Workloads, func(w Workload) bool { return w.enough() }) {
		l.counts = others
	}
	share := func(w Workload) float64 { return float64(w.After.Low) / float64(w.Running) }
	homeless := func(w Workload) int { return min(1, w.Pending.High+w.Missing.High) }
	slices.SortStableFunc(l.Workloads, func(a, b Workload) int { return cmp.Or(homeless(b)-homeless(a), cmp.Compare(share(a), share(b))) })
	for _, b := range o.Budgets {
		l.Budgets = append(l.Budgets, fmt.Sprintf("%s: %v healthy, the budget requires %d", b.Key, b.Healthy, b.Required))
	}
}

// worse adds what a workload loses at most beyond what it had lost before.
func worse(sum place.Losses, w *place.Workload, was place.Workload) place.Losses {
	grow := func(r *place.Range, now, was place.Range) {
		n := now.Minus(was).High
		r.Low, r.High = r.Low+n, r.High+n
	}
	grow(&sum.Pending, w.Pending, was.Pending)
	grow(&sum.Missing, w.Missing, was.Missing)
	grow(&sum.Stuck, w.Stuck, was.Stuck)
	grow(&sum.Orphans, w.Orphans, was.Orphans)
	grow(&sum.Over, w.Over, was.Over)
	return sum
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
