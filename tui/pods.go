package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
)

var podsSpec = &paneSpec{
	name: "Pods", names: []string{"po", "pod", "pods"}, place: placeRight,
	keys: append([]binding{
		bind(allPods, "all pods", "a", "show all pods, or only those of the selection", "a"),
		bind(aim, "", "f", "measure the pod's deployment; requests still go to load.url", "f").needs(needLive),
		bind(openOwner, "", "u", "the details of the pod's owner", "u"),
	}, rowKeys...),
	bar:  []string{"details", "log", "YAML", "filter", "all pods", "sort"},
	open: func() pane { return newPodsPane() },
}

// scope is the choice of the Pods pane.
type scope int

const (
	scopeAuto       scope = iota // the marked nodes', the load's deployment's, or all in a small cluster
	scopeNode                    // of the node under the cursor; of the marked ones while there are any
	scopeDeployment              // of the deployment under the cursor
	scopeAll
)

// manyNodes is the number of nodes from which the pods of one are shown at
// first, and not all.
const manyNodes = 100

// podsPane lists the pods of the marked or selected nodes, of a deployment, or
// all. Those in trouble come first.
type podsPane struct {
	list[cluster.Key, *cluster.Pod]
	of     string                      // whose pods they are
	tally  tally                       // including the pods that a filter hides
	pieces map[**cluster.Pod]*podPiece // of all pods
}

func newPodsPane() *podsPane {
	p := &podsPane{}
	p.list = list[cluster.Key, *cluster.Pod]{
		id: func(p *cluster.Pod) cluster.Key { return p.Key }, object: func(_ *scene, p *cluster.Pod) object { return podObject(p.Key) },
		trouble: podTrouble, has: podHas,
		namespace: func(p *cluster.Pod) string { return p.Namespace },
		labels:    func(p *cluster.Pod) string { return p.Labels },
		lead: func(s *scene, r *row, p *cluster.Pod) {
			sign, st := podSign(s, p)
			r.put(st, sign).space(1)
		},
		leadWidth: 2,
		kind:      cluster.KindPod, none: "no pods",
		columns: []column[*cluster.Pod]{
			{fitting{ease: 20, min: 9, middle: true}, "POD", func(s *scene, pod *cluster.Pod) cell { return podName(s, pod, p.many) }, nil},
			{fitting{ease: 10, min: 10, drop: 4, middle: true}, "NODE", podNode, nil},
			{fitting{short: 2}, "READY", podReady, nil},
			{fitting{least: 18, leastShort: 7, min: 11, short: 1}, "STATUS", podStatus, nil},
			{fitting{least: 15, leastShort: 6, short: 3, drop: 5}, "NEXT", podNext, nil},
			{fitting{extra: true}, "RESTARTS", podRestarts, func(_ *scene, a, b *cluster.Pod) int { return b.Restarts - a.Restarts }},
			{fitting{least: 4, extra: true, right: true}, "AGE", func(s *scene, p *cluster.Pod) cell { return ageCell(s, p.Created) }, func(_ *scene, a, b *cluster.Pod) int { return b.Created.Compare(a.Created) }},
			{fitting{extra: true}, "ADDRESS", func(s *scene, p *cluster.Pod) cell { return dimCell(s, p.IP) }, nil},
			{fitting{extra: true, right: true}, "CPU", func(s *scene, p *cluster.Pod) cell {
				if p.CPUMilli == 0 {
					return cell{}
				}
				return dimCell(s, cores(p.CPUMilli))
			}, func(_ *scene, a, b *cluster.Pod) int { return cmp.Compare(b.CPUMilli, a.CPUMilli) }},
			{fitting{extra: true}, "DEPLOYMENT", func(s *scene, p *cluster.Pod) cell { return dimCell(s, p.Deployment) }, nil},
		},
	}
	return p
}

func (p *podsPane) settle(s *scene) {
	if !p.stale([2]any{s.chosen, s.only.text}, s.snap, s.node, s.deployment) {
		return
	}
	pods, all := p.inScope(s)
	if all && !p.by.on() && !s.only.on() && p.sort == 0 {
		p.by.only = ""
		p.takeAll(s)
		return
	}
	if all {
		pods = s.snap.Pods()
	}
	p.take(s, pods)
	p.tally = tallied(pods)
}

// inScope returns the pods to show, or reports that it is all of them.
func (p *podsPane) inScope(s *scene) (pods []*cluster.Pod, all bool) {
	sc, dep := s.scope, s.deployment
	if len(s.marks) > 0 && (sc == scopeAuto || sc == scopeNode) {
		return p.ofMarks(s), false
	}
	if sc == scopeAuto {
		switch {
		case !s.only.has(s.f.Focus.Namespace):
		case s.snap.Deployment(s.f.Focus) != nil || len(s.snap.PodsOf(s.f.Focus)) > 0:
			sc, dep = scopeDeployment, s.f.Focus
		case len(s.snap.Nodes()) > manyNodes:
			sc = scopeNode
		}
	}
	switch {
	case sc == scopeNode && s.node != "":
		p.of = "of " + s.t.text(s.node)
		return s.snap.PodsOn(s.node), false
	case sc == scopeDeployment && dep.Name != "":
		p.of = "of " + s.t.text(dep.Name)
		return s.snap.PodsOf(dep), false
	}
	p.of = ""
	return nil, true
}

// ofMarks returns the pods of the marked nodes, and those without a node: the outage of
// these nodes leads to pods that cannot be placed.
func (p *podsPane) ofMarks(s *scene) []*cluster.Pod {
	var pods []*cluster.Pod
	for _, n := range s.snap.Nodes() {
		if s.marks[n.Name] {
			pods = append(pods, s.snap.PodsOn(n.Name)...)
			p.of = "of " + s.t.text(n.Name)
		}
	}
	if len(s.marks) > 1 {
		p.of = fmt.Sprintf("of %d marked nodes", len(s.marks))
	}
	alone := slices.DeleteFunc(slices.Clone(s.snap.PodsOn("")), func(p *cluster.Pod) bool { return !p.Gone.IsZero() })
	if len(alone) > 0 {
		p.of = fmt.Sprintf("on no node (%d) and %s", len(alone), p.of)
	}
	return append(pods, alone...)
}

// allPods shows all pods, or those of the selection again.
func allPods(m *Model) {
	m.s.showPods(map[bool]scope{true: scopeAuto, false: scopeAll}[m.s.scope == scopeAll])
}

// openOwner shows the details of the owner of the pod under the cursor.
func openOwner(m *Model) {
	if p, ok := m.active.pane.(*podsPane).selected(); ok {
		m.dialogs.open(newObjectDialog(m, objectAt(p.Workload()), aspectDetails))
	}
}

// goToAllPods goes to the pods and shows all of them, as `:po` of k9s does.
func goToAllPods(m *Model) {
	showPane(podsSpec.name)(m)
	m.s.showPods(scopeAll)
}

func (p *podsPane) draw(s *scene, w, h int, active bool) drawing {
	lines := p.list.draw(s, w, h, active)
	return drawing{"Pods", after(" ", p.of, ""), s.facts(some(p.tally.ending, "terminating"), readyOf(p.tally.ready, p.tally.total+p.tally.ending)), p.position(s), lines}
}

// podTrouble orders pods: those without a node first, then failing ones; ended ones
// last.
func podTrouble(_ *scene, p *cluster.Pod) int {
	switch {
	case !p.Gone.IsZero(), p.Phase == "Succeeded":
		return 3
	case p.Ready && p.Deleting.IsZero():
		return 2
	case p.Node == "":
		return 0
	}
	return 1
}

func podHas(s *scene, p *cluster.Pod, contains func(string) bool) bool {
	return contains(p.Name) || contains(p.Node) || contains(p.Namespace) || contains(p.IP) || contains(p.Deployment) ||
		contains(s.snap.PodWord(p, s.now))
}

// podName is its name, in which the hash of its ReplicaSet may be missing.
func podName(s *scene, p *cluster.Pod, many bool) cell {
	c := nameCell(s, p.Key, many)
	c.spare += btoi(p.Deployment != "") * max(0, len(p.OwnerName)-len(p.Deployment)-1-width(s.t.ellipsis))
	return c
}

func podNode(s *scene, p *cluster.Pod) cell {
	if p.Node == "" {
		return textCell(s.t.warn, "no node")
	}
	return dimCell(s, p.Node)
}

// podReady is how many containers are ready; on a lost node nobody knows.
func podReady(s *scene, p *cluster.Pod) cell {
	ready, st := strconv.Itoa(p.ReadyContainers), style("")
	if s.snap.PodUnheard(p, s.now) {
		ready, st = "?", s.t.dim
	}
	return shortCell(st, ready+"/"+strconv.Itoa(p.Containers), "")
}

func podStatus(s *scene, p *cluster.Pod) cell {
	_, st := podSign(s, p)
	st = s.just(st, p.Changed)
	word := s.t.text(s.snap.PodWord(p, s.now))
	if s.snap.PodLost(p, s.now) {
		return shortCell(st, word, "lost")
	}
	return textCell(st, word)
}

// podNext is when it will be evicted, in short to the minute.
func podNext(s *scene, p *cluster.Pod) cell {
	at, ok := forecast.EvictAt(s.snap, p)
	switch d := at.Sub(s.now); {
	case !ok:
		return cell{}
	case d > 0:
		return shortCell(s.t.warn, "evicted in "+age(d), "in "+strings.SplitAfter(age(d), "m")[0])
	}
	return shortCell(s.t.warn, "evicted now", "now")
}

func podRestarts(s *scene, p *cluster.Pod) cell {
	if p.Restarts == 0 {
		return cell{}
	}
	return dimCell(s, fmt.Sprint(p.Restarts))
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
	case s.snap.PodLost(p, s.now):
		return t.down, t.bad
	case p.Ready:
		return t.up, t.good
	case p.Status == "Running":
		return t.down, t.warn
	}
	return t.down, t.bad
}

// podPiece is the cached result for a piece of all pods.
type podPiece struct {
	ranks [troubles][]*cluster.Pod // by podTrouble
	tally tally
}

// takeAll takes all pods, those in trouble first, and counts those that should run. It
// caches the results of their pieces, so that a change costs its piece, not all pods of
// the cluster.
func (p *podsPane) takeAll(s *scene) {
	all := s.snap.PodPieces()
	known := make(map[**cluster.Pod]*podPiece, len(all))
	pieces := make([]*podPiece, len(all))
	p.tally, p.many = tally{}, false
	for i, pods := range all {
		piece := p.pieces[&pods[0]]
		if piece == nil {
			piece = &podPiece{ranked(s, pods, podTrouble), tallied(pods)}
		}
		known[&pods[0]], pieces[i] = piece, piece
		p.tally = tally{p.tally.ready + piece.tally.ready, p.tally.total + piece.tally.total, p.tally.ending + piece.tally.ending}
		p.many = p.many || pods[len(pods)-1].Namespace != all[0][0].Namespace
	}
	p.pieces = known
	p.rows = make([]*cluster.Pod, 0, s.snap.PodCount())
	for rank := range troubles {
		for _, piece := range pieces {
			p.rows = append(p.rows, piece.ranks[rank]...)
		}
	}
	p.follow()
}

// tally counts pods: those that are wanted, the ready ones of them, and those that are being deleted.
type tally struct{ ready, total, ending int }

func tallied(pods []*cluster.Pod) (t tally) {
	for _, p := range pods {
		t.ending += btoi(present(p) && !p.Deleting.IsZero())
		t.total += btoi(present(p) && p.Deleting.IsZero())
		t.ready += btoi(present(p) && p.Deleting.IsZero() && p.Ready)
	}
	return t
}

// present reports whether a pod has neither gone nor finished.
func present(p *cluster.Pod) bool { return p.Gone.IsZero() && !p.Finished() }
