package place

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"lightsout/cluster"
)

// Range is a number: exact, or between two bounds.
type Range struct {
	Low  int `json:"low"`
	High int `json:"high"`
}

// Exact reports whether the bounds are equal.
func (r Range) Exact() bool { return r.Low == r.High }

// String returns "3" or "3–4".
func (r Range) String() string {
	if r.Exact() {
		return fmt.Sprint(r.Low)
	}
	return fmt.Sprintf("%d–%d", r.Low, r.High)
}

// Count writes the number with its words: "1 pod", "2–3 pods".
func (r Range) Count(one, many string) string {
	return r.String() + " " + map[bool]string{true: one, false: many}[r == Range{1, 1}]
}

// Minus returns by how much r exceeds o, 0 where it does not.
func (r Range) Minus(o Range) Range {
	low, high := max(0, r.Low-o.Low), max(0, r.High-o.High)
	return Range{min(low, high), max(low, high)}
}

// Plus returns the sum.
func (r Range) Plus(o Range) Range { return Range{r.Low + o.Low, r.High + o.High} }

func (r Range) with(n int, first bool) Range {
	if first {
		return Range{n, n}
	}
	return Range{min(r.Low, n), max(r.High, n)}
}

// Outcome is the final state of the pods of lost nodes, as long as those nodes stay
// away.
type Outcome struct {
	Losses
	// Moving is the number of new pods that need a node because of the outage, Waiting the
	// number of pods that had none before, without those that scheduling gates hold back.
	Moving  Range
	Waiting int
	// Likely is the median of Pending over all runs; the range leaves out the rarest
	// runs.
	Likely int
	// Victims counts the preempted pods.
	Victims Range
	// Workloads lists, by key, the workloads that lose a pod or whose pods find no
	// node.
	Workloads []Workload
	// Budgets lists, by key, the disruption budgets that the outage violates.
	Budgets []Budget
	// Held is how many pods a drain does not evict, because of the disruption budgets in Blockings, by key.
	Held      Range
	Blockings []Blocking
	// Moved is how many new pods get a node in one of the runs.
	Moved int
	// Unknown lists, one sentence each, what the forecast could not take into account.
	Unknown []string
}

// Losses counts the pods that do not run in the end, by the reason.
type Losses struct {
	// Pending counts pods that get no node, including those that had none before.
	Pending Range `json:"pending"`
	// Missing counts pods that a quota forbids for good, Stuck those that their owner does not
	// recreate while the lost pod exists (it may not even be evicted), or whose volume stays
	// attached to the lost node as long, Over those of a failed Job, and Orphans those without an
	// owner that is known to recreate them.
	Missing Range `json:"missing"`
	Stuck   Range `json:"stuck"`
	Over    Range `json:"over"`
	Orphans Range `json:"orphans"`
}

// Each combines each count with that of o.
func (l Losses) Each(do func(a, b Range) Range, o Losses) Losses {
	return Losses{do(l.Pending, o.Pending), do(l.Missing, o.Missing), do(l.Stuck, o.Stuck), do(l.Over, o.Over), do(l.Orphans, o.Orphans)}
}

// take adds the result of a run.
func (l *Losses) take(t tally, first bool) {
	l.Pending, l.Missing = l.Pending.with(t.pending, first), l.Missing.with(t.missing, first)
	l.Stuck, l.Over, l.Orphans = l.Stuck.with(t.stuck, first), l.Over.with(t.over, first), l.Orphans.with(t.orphans, first)
}

// Homeless is the number of pods that get no node because of the outage: Pending without
// as many as waited before.
func (o *Outcome) Homeless() Range {
	return o.Pending.Minus(Range{o.Waiting, o.Waiting})
}

// Of returns a workload of the outage; one with nothing lost if it has no part in it.
func (o *Outcome) Of(key cluster.Key) (w Workload) {
	if i := slices.IndexFunc(o.Workloads, func(w Workload) bool { return w.Key == key }); i >= 0 {
		w = o.Workloads[i]
	}
	return w
}

// Workload is a deployment, a StatefulSet, a Job or another owner of pods.
type Workload struct {
	cluster.Key
	Kind string `json:"kind"` // kind of the pods' owner
	// Running is the number of its pods that ran before, Lost the number of those on
	// nodes that are down.
	Running int `json:"running"`
	Lost    int `json:"lost"`
	// Wanted is how many pods its specification asks for; where that is unknown, and of a Job, how many ran or waited.
	Wanted int `json:"wanted"`
	// After is the number of pods that run in the end.
	After Range `json:"after"`
	Losses
	// Waiting is how many of Pending have no node without the outage either.
	Waiting int `json:"waiting,omitempty"`
	// Preempted counts its pods that end for pods of higher priority, of the workloads in By.
	Preempted Range         `json:"preempted"`
	By        []cluster.Key `json:"by,omitempty"`
	// Reasons are the scheduler's own messages for pods that get no node, the most
	// frequent first.
	Reasons []string `json:"reasons"`
	// Rules name those that keep its pods off all nodes, however much room these have; none if room helps.
	Rules []string `json:"rules,omitempty"`
	// Attached lists the volumes, by name, for which its new pods on other nodes wait.
	Attached []Attachment `json:"attached,omitempty"`
}

// Homeless is the number of its pods that get no node because of the outage.
func (w *Workload) Homeless() Range { return w.Pending.Minus(Range{w.Waiting, w.Waiting}) }

// Already says how many of the wanted pods waited without the outage, for a node or for something else: " (1 waiting already)", or nothing.
func (w *Workload) Already() string {
	if n := max(w.Waiting, w.Wanted-w.Running); n > 0 {
		return fmt.Sprintf(" (%d waiting already)", n)
	}
	return ""
}

// Lacks reports whether some of its pods may not run in the end: because of the outage if it lost or ended any.
func (w *Workload) Lacks() bool {
	return w.After.Low < w.Running && w.Pending.High+w.Missing.High+w.Stuck.High+w.Over.High+w.Orphans.High > 0
}

// Victim is a workload of which pods end for the pods of others, which have a higher priority.
type Victim struct {
	Workload cluster.Key   `json:"workload"`
	Pods     Range         `json:"pods"`
	By       []cluster.Key `json:"by"`
}

// String says of which workload pods end, and for whom.
func (v Victim) String() string {
	ends, by := "may end", "pods of higher priority"
	if v.Pods.Exact() {
		ends = "ends"
	}
	if len(v.By) == 1 {
		by = v.By[0].String()
	}
	return fmt.Sprintf("%s %d of %s for %s", ends, v.Pods.High, v.Workload, by)
}

// Budget is a PodDisruptionBudget that requires more healthy pods than are left.
type Budget struct {
	cluster.Key
	Healthy  Range
	Required int
}

// Options change how Lose simulates an outage. With the zero value Lose chooses the
// number of runs by the size of the outage.
type Options struct {
	Orders int
	Seed   uint64
	// Stay names lost nodes whose pods are not evicted.
	Stay []string
	// Drained names nodes that are drained besides; the snapshot has them cordoned.
	Drained []string
}

// Lose forecasts the fate of the pods on the named nodes when these nodes are lost.
// Nodes that were lost before take no pods, and their pods are evicted only if names
// contains them.
func (w *World) Lose(names []string, o Options) *Outcome {
	w.mark(sortedNodes(w, names))
	lost := sortedNodes(w, slices.Concat(names, o.Drained))
	stay := sortedNodes(w, o.Stay)
	evicted := slices.DeleteFunc(slices.Clone(lost), func(i int) bool { return slices.Contains(stay, i) })
	s := &sum{w: w, o: &Outcome{Unknown: w.unknown(evicted)}, lost: map[*class]int{}, ill: map[*class]int{}, pending: map[int]int{},
		of: map[cluster.Key]*Workload{}, reasons: map[cluster.Key]map[string]int{}, budgets: map[*budget]Range{}}
	for _, i := range lost {
		for _, p := range w.nodes[i].pods {
			if _, moves := w.moves(p); moves || w.dead[i] && !p.ending {
				s.lost[p.class]++
				if !p.serves {
					s.ill[p.class]++
				}
			}
		}
	}
	orders := cmp.Or(o.Orders, w.orders(evicted))
	if w.roomy(evicted) {
		orders = 1
	}
	for k := range orders {
		r := w.newRun(o.Seed + uint64(k))
		for _, i := range stay {
			if slices.Contains(lost, i) {
				r.fates.keep(w.nodes[i].pods...)
			}
		}
		r.play(evicted)
		s.take(r, k == 0)
	}
	return s.finish(orders)
}

// rare is the number of runs that must reach an extreme value before the range includes
// it: about one in twenty.
const rare = 2

// orders returns the number of runs: the bigger the outage, the fewer.
func (w *World) orders(evicted []int) int {
	pods := 1
	for _, i := range evicted {
		pods += len(w.nodes[i].pods)
	}
	work := pods * (len(w.nodes) + 1)
	if work > 5_000_000 { // a zone of a large cluster
		return 2
	}
	return min(31, max(3, 300_000/work))
}

// sum collects the results of the runs of an outage.
type sum struct {
	w       *World
	o       *Outcome
	lost    map[*class]int
	ill     map[*class]int // of these, those that were not Ready: no budget counts them
	pending map[int]int    // number of runs that ended with this many
	of      map[cluster.Key]*Workload
	reasons map[cluster.Key]map[string]int
	budgets map[*budget]Range // healthy pods
}

// tally is the result of a run for one workload, in pods.
type tally struct {
	fate
	kind             string
	running, lost    int
	pending, missing int
}

// tallies returns the result of a run by workload; all is their sum.
func (s *sum) tallies(r *run) (each map[cluster.Key]*tally, all tally) {
	each = map[cluster.Key]*tally{}
	of := func(c *class) *tally {
		t := each[c.workload]
		if t == nil {
			t = &tally{kind: c.kind}
			each[c.workload] = t
		}
		return t
	}
	for _, i := range r.held {
		r.fates.of(i.class).placed++ // where it is
	}
	for c, f := range r.fates {
		of(c).add(f)
		all.add(f)
	}
	all.pending, all.missing = len(r.asleep), len(r.unmade)
	for _, i := range r.asleep {
		of(i.class).pending++
	}
	for _, i := range r.unmade {
		of(i.class).missing++
	}
	for c, n := range s.lost {
		of(c).lost += n
	}
	for _, c := range s.w.classes {
		if t := each[c.workload]; t != nil {
			for _, p := range c.pods {
				if !p.ending {
					t.running++
				}
			}
		}
	}
	return each, all
}

// take adds the result of a run.
func (s *sum) take(r *run, first bool) {
	each, all := s.tallies(r)
	s.pending[all.pending]++
	s.o.take(all, first)
	s.o.Moving, s.o.Victims = s.o.Moving.with(all.made, first), s.o.Victims.with(all.victims, first)
	for k, t := range each {
		x := s.of[k]
		fresh := x == nil
		if fresh {
			x = &Workload{Key: k, Kind: t.kind, Running: t.running, Lost: t.lost}
			x.After = Range{t.running - t.lost, t.running - t.lost}
			s.of[k] = x
		}
		x.After = x.After.with(t.running-t.lost+t.grown(), fresh && first)
		x.suffer(*t, fresh && first)
	}
	for k, x := range s.of {
		if each[k] == nil { // this run changed nothing for it
			x.suffer(tally{}, false)
		}
	}
	s.explain(r)
	s.attach(r)
	s.protect(r)
	s.o.Held = s.o.Held.with(len(r.held), first)
	if !first {
		return
	}
	s.hold(r)
	for _, pods := range r.more {
		for _, p := range pods {
			if !r.gone[p] {
				s.o.Moved++
			}
		}
	}
}

// suffer adds the result of a run.
func (w *Workload) suffer(t tally, first bool) {
	w.take(t, first)
	w.Preempted = w.Preempted.with(t.victims, first)
	for k := range t.by {
		if !slices.Contains(w.By, k) {
			w.By = append(w.By, k)
		}
	}
}

// protect counts the healthy pods that each budget has left.
func (s *sum) protect(r *run) {
	change := map[*budget]int{}
	count := func(c *class, n int) {
		for _, b := range c.budgetsIn(s.w) {
			change[b] += n
		}
	}
	for c, f := range r.fates {
		count(c, f.grown())
	}
	for c, n := range s.lost {
		count(c, s.ill[c]-n)
	}
	for b, n := range change {
		_, known := s.budgets[b]
		s.budgets[b] = s.budgets[b].with(max(0, int(b.Status.CurrentHealthy)+n), !known)
	}
}

// explain collects the reasons why pods got no node.
func (s *sum) explain(r *run) {
	said := map[*class]string{}
	for _, i := range r.asleep {
		if said[i.class] == "" {
			why, rules := r.message(i.class)
			said[i.class] = why
			if s.reasons[i.workload] == nil || len(rules) == 0 {
				s.of[i.workload].Rules = rules
			}
		}
		if s.reasons[i.workload] == nil {
			s.reasons[i.workload] = map[string]int{}
		}
		s.reasons[i.workload][said[i.class]]++
	}
}

func (s *sum) finish(orders int) *Outcome {
	o := s.o
	o.Likely = s.at(orders / 2)
	if orders >= 2*rare {
		o.Pending = Range{s.at(rare - 1), s.at(orders - rare)}
	}
	if o.Held.Low == 0 {
		o.Blockings = nil // some order of the evictions succeeds
	}
	for _, c := range s.w.classes {
		o.Waiting += c.waiting
	}
	waiting := s.w.Waiting()
	for k, x := range s.of {
		x.Waiting = waiting[k]
		x.Wanted = cmp.Or(s.w.wanted[k], x.Running+x.Waiting)
		x.Reasons = slices.SortedFunc(maps.Keys(s.reasons[k]), func(a, b string) int {
			return cmp.Or(cmp.Compare(s.reasons[k][b], s.reasons[k][a]), cmp.Compare(a, b))
		})
		slices.SortFunc(x.By, cluster.Key.Compare)
		slices.SortFunc(x.Attached, func(a, b Attachment) int { return cmp.Compare(a.Volume, b.Volume) })
		o.Workloads = append(o.Workloads, *x)
	}
	for b, left := range s.budgets {
		if required := b.Status.DesiredHealthy; left.Low < int(min(required, b.Status.CurrentHealthy)) {
			o.Budgets = append(o.Budgets, Budget{b.Key, left, int(required)})
		}
	}
	slices.SortFunc(o.Budgets, func(a, b Budget) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(o.Workloads, func(a, b Workload) int { return a.Key.Compare(b.Key) })
	return o
}

// at returns the number of pending pods of the run with this rank, counted from 0 for
// the fewest.
func (s *sum) at(runs int) (n int) {
	for _, n = range sortedKeys(s.pending) {
		runs -= s.pending[n]
		if runs < 0 {
			break
		}
	}
	return n
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
