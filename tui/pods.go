package tui

import (
	"fmt"
	"slices"

	"lightsout/cluster"
)

// scope is what the Pods pane shows. With marks it is always the marked nodes'.
type scope int

const (
	scopeAuto scope = iota // the load's deployment, or all in a small cluster
	scopeNode              // of the node under the cursor
	scopeDeployment
	scopeAll
)

// manyPods is how many pods are too many to put the troubled ones first.
const manyPods = 2000

// podsPane lists the pods of the marked or selected nodes, of a deployment, or
// all. Those in trouble come first.
type podsPane struct {
	list  list[cluster.Key]
	rows  []*cluster.Pod
	of    string // what they are the pods of
	nodes bool   // they are on more than one node
	many  bool   // they are in more than one namespace
	ready int
}

var podColumns = []column{
	{ease: 16, min: 10, middle: true},             // name
	{ease: 10, min: 10, drop: 4, middle: true},    // node
	{least: 3, drop: 6},                           // ready
	{least: 18, leastShort: 7, min: 7, short: 1},  // word
	{least: 12, leastShort: 5, short: 2, drop: 5}, // evicts
	{drop: 8},                        // restarts
	{least: 4, drop: 9, right: true}, // age
}

// podWordColumn is where the sign for a change stands; roomyPods the width from
// which ages are shown.
const (
	podWordColumn = 3
	roomyPods     = 100
)

func (p *podsPane) settle(s *scene, node string, dep cluster.Key) {
	var pods []*cluster.Pod
	p.of, p.nodes = "", true
	sc := s.scope
	if sc == scopeAuto {
		switch {
		case s.f.Focus.Name != "":
			sc, dep = scopeDeployment, s.f.Focus
		case len(s.snap.Nodes()) > 100:
			sc = scopeNode
		}
	}
	switch {
	case len(s.marks) > 0:
		p.of = fmt.Sprintf("%d marked nodes", len(s.marks))
		for _, n := range s.snap.Nodes() {
			if s.marks[n.Name] {
				pods = append(pods, s.snap.PodsOn(n.Name)...)
				if len(s.marks) == 1 {
					p.of = s.t.text(n.Name)
				}
			}
		}
	case sc == scopeNode && node != "":
		pods, p.of, p.nodes = s.snap.PodsOn(node), s.t.text(node), false
	case sc == scopeDeployment && dep.Name != "":
		pods, p.of = s.snap.PodsOf(dep), s.t.text(dep.Name)
	default:
		pods, p.of = s.snap.Pods(), "all"
	}
	p.rows, p.ready, p.many = make([]*cluster.Pod, 0, len(pods)), 0, false
	for _, pod := range pods {
		if !matches(p.list.filter, pod.Name, pod.Node, pod.Namespace) {
			continue
		}
		if pod.Ready && pod.Gone.IsZero() {
			p.ready++
		}
		if len(p.rows) > 0 && pod.Namespace != p.rows[0].Namespace {
			p.many = true
		}
		p.rows = append(p.rows, pod)
	}
	if len(p.rows) <= manyPods {
		slices.SortStableFunc(p.rows, func(a, b *cluster.Pod) int { return trouble(a) - trouble(b) })
	}
	p.list.settle(len(p.rows), func(i int) cluster.Key { return p.rows[i].Key })
}

// trouble orders pods: what fails first, what has ended last.
func trouble(p *cluster.Pod) int {
	switch {
	case !p.Gone.IsZero(), p.Phase == "Succeeded":
		return 2
	case p.Ready && p.Deleting.IsZero():
		return 1
	}
	return 0
}

func (p *podsPane) title(s *scene) (string, string) {
	title := "Pods"
	if p.of != "" && p.of != "all" {
		title += " of " + p.of
	}
	facts := ""
	if n := len(p.rows); n > 0 {
		facts = fmt.Sprintf("%d/%d ready", p.ready, n)
	}
	return title + filterTitle(s, p.list.filter), facts
}

func (p *podsPane) draw(s *scene, w, h int, focus bool) []string {
	if len(p.rows) == 0 {
		return s.message(s.t.dim, orNone(s.missing(cluster.KindPod), "no pods", p.list.filter), w, h)
	}
	const lead = 3
	from, to := p.list.window(h)
	rows := make([][]cell, 0, to-from)
	for _, pod := range p.rows[from:to] {
		rows = append(rows, p.cells(s, pod))
	}
	cols := podColumns
	if w < roomyPods {
		cols = cols[:6]
	}
	for i := range rows {
		rows[i] = rows[i][:len(cols)]
	}
	fitted := fitColumns(w-lead-1, cols, rows)
	if tight := fitColumns(w-lead, cols, rows); tight.dropped() < fitted.dropped() {
		fitted = tight
	}
	out := make([]string, 0, h)
	for i, pod := range p.rows[from:to] {
		r := newRow(w).lead(s.t, pod.Key == p.list.cursor, focus, p.list.moved)
		sign, st := podSign(s, pod)
		r.put(st, sign).space(1)
		changed := -1
		if s.fresh(pod.Changed) {
			changed = podWordColumn
		}
		r.cells(s.t, fitted, cols, rows[i], changed)
		out = append(out, r.String())
	}
	return fill(out, w, h)
}

func (p *podsPane) cells(s *scene, pod *cluster.Pod) []cell {
	t := s.t
	name := t.text(pod.Name)
	if p.many {
		name = t.text(pod.Key.String())
	}
	_, st := podSign(s, pod)
	if s.fresh(pod.Changed) {
		st = t.just(st)
	}
	word := t.text(s.snap.PodWord(pod, s.now))
	short := word
	if len(word) > 5 && word[:5] == "lost " {
		short = "lost"
	}
	node := ""
	if p.nodes {
		node = t.text(pod.Node)
		if node == "" {
			node = t.dash
		}
	}
	evict, evictShort := "", ""
	if at, ok := s.snap.EvictAt(pod); ok {
		evict, evictShort = "evicts now", "now"
		if d := at.Sub(s.now); d > 0 {
			evict, evictShort = "evicts "+age(d), age(d)
		}
	}
	restarts := ""
	if pod.Restarts > 0 {
		restarts = fmt.Sprintf("%d restarts", pod.Restarts)
		if pod.Restarts == 1 {
			restarts = "1 restart"
		}
	}
	old := ""
	if !pod.Created.IsZero() {
		old = coarseAge(s.now.Sub(pod.Created))
	}
	return []cell{
		textCell("", name),
		textCell(t.dim, node),
		textCell("", fmt.Sprintf("%d/%d", pod.ReadyContainers, pod.Containers)),
		shortCell(st, word, short),
		shortCell(t.warn, evict, evictShort),
		textCell(t.dim, restarts),
		textCell(t.dim, old),
	}
}

func podSign(s *scene, p *cluster.Pod) (string, style) {
	t := s.t
	switch {
	case !p.Gone.IsZero():
		return t.dash, t.dim
	case !p.Deleting.IsZero():
		return t.leaving, t.warn
	case p.Phase == "Succeeded":
		return t.dash, t.dim
	case p.Ready:
		return t.up, t.good
	}
	return t.down, t.bad
}
