package survey

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/cluster/place"
	"lightsout/internal/text"
)

// Remedy is a change of the cluster.
type Remedy struct {
	// Up names nodes that are down or cordoned and would take pods.
	Up []string `json:"up,omitempty"`
	// Planes is how many more control-plane nodes keep a quorum of etcd.
	Planes int `json:"control_plane_nodes,omitempty"`
	// Loosen names rules of workloads, and Room who needs how much of it.
	Loosen []string `json:"loosen,omitempty"`
	Room   []string `json:"room,omitempty"`
	// Add names a lost node of which one more, without pods but those that each node has, does instead of Loosen and Room.
	Add []string `json:"add,omitempty"`
	// Lower names what disruption budgets require too much of even then.
	Lower []string `json:"lower,omitempty"`
	// Min has values of --min, NAMESPACE/NAME=N: with so few pods the cluster can spare the nodes without any of these changes.
	Min []string `json:"min,omitempty"`
	// Still names workloads that lack pods even then: these wait for their node, or nobody replaces them.
	Still []string `json:"still,omitempty"`

	loose map[cluster.Key][]string // as place.World has it
}

// news is how many changes go beyond nodes that are there already.
func (m *Remedy) news() int {
	return m.Planes + len(m.Add) + len(m.Loosen) + len(m.Room) + len(m.Lower)
}

// after asks about the cluster after a change; with Room, each node has room for any pod.
func (a *asker) after(m Remedy) *asker {
	key := fmt.Sprint(m.Up, m.Planes, m.Add, m.loose, m.Room != nil)
	if b := a.changed[key]; b != nil {
		return b
	}
	all, q := a.s.Contents(), a.q
	q.Off = slices.DeleteFunc(slices.Clone(q.Off), func(n string) bool { return slices.Contains(m.Up, n) })
	all.Nodes = slices.Clone(all.Nodes)
	for i, n := range all.Nodes {
		if x := *n; slices.Contains(m.Up, n.Name) {
			x.Ready, x.Overdue, x.LeaseDuration, x.Unschedulable = cluster.TriTrue, false, 0, false
			x.Taints = slices.DeleteFunc(slices.Clone(n.Taints), func(t cluster.Taint) bool {
				return t.Key == corev1.TaintNodeUnschedulable || t.Key == cluster.TaintOutOfService || cluster.Evicts(t.Key+":NoExecute")
			})
			all.Nodes[i] = &x
		}
	}
	all.Pods = slices.Clone(all.Pods)
	for _, name := range m.Add {
		x := *a.s.Node(name)
		x.Name, x.Unschedulable = name+"+1", false
		x.Labels = strings.ReplaceAll(x.Labels, corev1.LabelHostname+"="+name, corev1.LabelHostname+"="+x.Name)
		x.Taints = slices.DeleteFunc(slices.Clone(x.Taints), func(t cluster.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
		all.Nodes = append(all.Nodes, &x)
		for _, p := range a.s.PodsOn(name) {
			if p := *p; p.OwnerKind == "DaemonSet" || p.Static {
				p.Name, p.Node = p.Name+"+1", x.Name
				all.Pods = append(all.Pods, &p)
			}
		}
	}
	for i, p := range all.Pods {
		if x := *p; a.r.isDown(p.Node) && slices.Contains(m.Up, p.Node) { // its pods serve again, and a StatefulSet's comes back
			x.Ready = p.Phase == string(corev1.PodRunning)
			if p.OwnerKind == "StatefulSet" {
				x.Deleting = time.Time{}
			}
			all.Pods[i] = &x
		}
	}
	if len(a.changed) > 12 {
		clear(a.changed)
	}
	s := cluster.NewSnapshot(all)
	a.changed[key] = newAsker(m.world(s).Settled(forecast.Down(s, q.Off), a.s), q, a.r, m)
	return a.changed[key]
}

// world is a cluster in which its rules and room hold.
func (m *Remedy) world(s *cluster.Snapshot) *place.World {
	w := place.New(s)
	w.Loose, w.Roomy = maps.Clone(m.loose), m.Room != nil
	return w
}

// harm is 0 if the cluster can spare the nodes. Pods without a node compete with those of their workloads that wait already.
func (l *Loss) harm() int {
	waiting := 0
	for _, w := range l.homeless() {
		waiting += w.Waiting * min(1, l.counts.Pending.High)
	}
	return waiting + l.counts.Pending.High + l.counts.Missing.High + len(l.Broken) + len(l.Budgets) + map[bool]int{true: 1 + l.counts.Stuck.High}[l.Held]
}

// remedies looks for a change for each of these losses of one sort, the worst first: one that spares another loss, which lacks
// the same, if it spares this one as well. It searches for remediesTried of them, and looks at ten times as many.
func (a *asker) remedies(ctx context.Context, losses []*Loss) {
	slices.SortStableFunc(losses, func(a, b *Loss) int { return b.harm() - a.harm() })
	known, searches := map[string][]Remedy{}, 0
	for _, l := range losses[:min(len(losses), 10*remediesTried)] {
		what := fmt.Sprint(a.lack(l), text.Each(l.homeless(), func(w Workload) []string { return w.Rules }), l.counts.Missing, l.Broken, l.Budgets, l.Held)
		var m Remedy
		var then *Loss
		for k := 0; then == nil && k < len(known[what]); k++ {
			m, then = a.spared(known[what][k], l)
		}
		if then == nil {
			if searches == remediesTried || ctx.Err() != nil {
				continue
			}
			searches++
			m = a.remedy(l)
			then, known[what] = a.play(m, l), append(known[what], m)
		}
		m.Min = l.fewer()
		if len(m.Up)+m.news()+len(m.Min) > 0 {
			m.Still = then.waiting()
		}
		l.ToSpare = &m
	}
}

// spared forecasts a loss after a change that spares another one, as far as it helps here; nil if it does not spare this one, with as much room.
func (a *asker) spared(m Remedy, l *Loss) (Remedy, *Loss) {
	lost := slices.ContainsFunc(m.Up, func(n string) bool { return slices.Contains(l.Nodes, n) })
	if lost || len(m.Up)+m.news() == 0 || m.Room != nil && !slices.Equal(m.Room, a.lack(l)) {
		return m, nil
	}
	x := a.play(m, l)
	if x.harm() != len(x.Budgets) || !slices.Equal(x.Budgets, m.Lower) {
		return m, nil
	}
	if a.play(Remedy{Up: m.Up, Planes: m.Planes, Add: m.Add}, l).TooMuch() {
		m.Add = nil
	}
	return m, x
}

// play forecasts a loss after a change, which may be none; one more node only if it is the change.
func (a *asker) play(m Remedy, l *Loss) *Loss {
	if m.news() > m.Planes+len(m.Add) {
		m.Add = nil
	}
	if len(m.Up)+m.Planes+len(m.Add)+len(m.loose)+len(m.Room) == 0 {
		return l
	}
	x := &Loss{Sort: l.Sort, Name: l.Name, Nodes: l.Nodes}
	a.after(m).ask(x, 0)
	return x
}

// homeless are the workloads, without a minimum that holds, of which pods get no node.
func (l *Loss) homeless() []Workload {
	return slices.DeleteFunc(slices.Clone(l.Workloads), func(w Workload) bool { return w.enough() || w.Homeless().High == 0 })
}

// waiting names the other workloads that lack pods, without a minimum that holds.
func (l *Loss) waiting() []string {
	lacking := slices.DeleteFunc(slices.Clone(l.Workloads), func(w Workload) bool { return w.enough() || w.Homeless().High > 0 })
	return text.Each(lacking, func(w Workload) string { return w.Key.String() })
}

// lack is the room that the pods without a node need. Workloads that compete, of which fewer pods get no node in the worst run than
// of each in its own, share it.
func (a *asker) lack(l *Loss) (out []string) {
	n, most := l.counts.Pending.High, 0
	compete := slices.DeleteFunc(l.homeless(), func(w Workload) bool {
		h := w.Homeless()
		most += h.High
		if h.Exact() {
			n, most, out = n-h.High, most-h.High, append(out, a.needs(w.Pending.High, w))
		}
		return h.Exact()
	})
	if n > 0 && n < most {
		return append(out, a.needs(n, compete...))
	}
	return text.Each(l.homeless(), func(w Workload) string { return a.needs(w.Pending.High, w) })
}

// remedy finds a change after which the cluster can spare the nodes of a loss, by a forecast for the changed cluster: first
// with the nodes that are there already, then by rules, and by room for the pods that need it besides.
func (a *asker) remedy(l *Loss) (m Remedy) {
	m.Up = slices.DeleteFunc(slices.Concat(a.down, a.r.out()[2]), func(n string) bool { return slices.Contains(l.Nodes, n) })
	x := a.play(m, l)
	if x.harm() >= l.harm() {
		m.Up, x = nil, l
	}
	for _, n := range m.Up[:min(len(m.Up), namedMost)] { // fewer of them may do
		less := Remedy{Up: slices.DeleteFunc(slices.Clone(m.Up), func(o string) bool { return o == n })}
		if with := a.play(less, l); with.harm() <= x.harm() {
			m, x = less, with
		}
	}
	m.Planes = x.planes
	x = a.play(m, l)
	with, single := m, l.Sort == Node || l.Sort == Pair
	m.loose = map[cluster.Key][]string{}
	for x.TooMuch() {
		if x.harm() == len(x.Budgets) {
			m.Lower = x.Budgets
			break
		}
		was, tried := fmt.Sprint(m.loose), m.Room != nil
		m.Room = a.lack(x)
		for _, w := range x.homeless() {
			if len(w.Rules) > 0 {
				m.loose[w.Key] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(m.loose[w.Key], w.Rules))))
			}
		}
		if fmt.Sprint(m.loose) != was {
			m.Room = nil
		} else if tried || m.Room == nil {
			m = Remedy{}
			break
		}
		x = a.play(m, l)
	}
	for _, name := range slices.Backward(l.Nodes) { // another node does instead of rules
		with.Add = []string{name}
		if single && (len(m.loose) > 0 || x.TooMuch()) && !a.play(with, l).TooMuch() {
			if len(m.loose) == 0 {
				m = with
			}
			m.Add = with.Add
		}
	}
	m.Loosen = text.Each(slices.SortedFunc(maps.Keys(m.loose), cluster.Key.Compare), func(key cluster.Key) string {
		return text.List(m.loose[key]) + " of " + key.String()
	})
	return m
}

// needs is the room that so many pods of any of these workloads need: the most that one requests, and whether rules keep them from some nodes.
func (a *asker) needs(n int, any ...Workload) string {
	most := corev1.ResourceList{}
	for _, w := range any {
		for name, q := range a.requests[w.Key] {
			if q.Cmp(most[name]) >= 0 {
				most[name] = q
			}
		}
	}
	asks := text.Each(slices.Sorted(maps.Keys(most)), func(name corev1.ResourceName) string {
		q := most[name]
		return q.String() + " " + string(name)
	})
	out := text.Count(n, "more pod", "more pods") + " of " +
		strings.Replace(text.List(text.Few(text.Each(any, func(w Workload) string { return w.Key.String() }), namedMost, "others")), " and ", " or ", 1)
	if len(asks) > 0 {
		out += " (" + text.List(asks) + text.Noun(n, "", " each") + ")"
	}
	ruled := func(w Workload) bool { return cluster.RulesBlock(w.Reasons[0]) }
	return out + map[bool]string{true: " where rules allow them"}[slices.ContainsFunc(any, ruled)]
}
