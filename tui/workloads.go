package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/text"
)

var workloadsSpec = &paneSpec{
	name: "Workloads", place: placeWhole,
	keys: append([]binding{
		bind(nextKind, "kind", "a", "show the next kind only, or all", "a"),
	}, rowKeys...),
	bar:  []string{"details", "log", "YAML", "filter", "kind", "sort"},
	open: func() pane { return newWorkloadsPane() },
}

// shownKind is a choice of the pane: a kind of workloads, or all of them.
type shownKind struct {
	kind  cluster.Kind // empty: all
	title string
	names []string // in kubectl and k9s; the first is the short one
}

// shownKinds are what the pane can show, first all.
var shownKinds = []shownKind{
	{"", "Workloads", []string{"wl", "wk", "workload", "workloads"}},
	{cluster.KindStatefulSet, "StatefulSets", []string{"sts", "statefulset", "statefulsets"}},
	{cluster.KindDaemonSet, "DaemonSets", []string{"ds", "daemonset", "daemonsets"}},
	{cluster.KindJob, "Jobs", []string{"job", "jobs", "jo"}},
	{cluster.KindService, "Services", []string{"svc", "service", "services", "ep", "endpoints"}},
}

// shownKindOf is the choice that shows a kind only.
func shownKindOf(kind cluster.Kind) shownKind { return shownKinds[shownIndex(kind)] }

func shownIndex(kind cluster.Kind) int {
	return max(0, slices.IndexFunc(shownKinds, func(k shownKind) bool { return k.kind == kind }))
}

// workloadsPane lists stateful sets, daemon sets, jobs and services, with what the loss
// of a node means for each, on the whole screen.
type workloadsPane struct {
	list[cluster.Ref, *cluster.Workload]
	only cluster.Kind // the kind that is shown; empty: all
	lost map[cluster.Ref][]*cluster.Pod
}

func newWorkloadsPane() *workloadsPane {
	p := &workloadsPane{}
	p.list = list[cluster.Ref, *cluster.Workload]{
		id: (*cluster.Workload).Ref, object: func(_ *scene, w *cluster.Workload) object { return objectAt(w.Ref()) },
		trouble: func(s *scene, w *cluster.Workload) int {
			if _, st := fate(s, w, p.lost[w.Ref()]); st != s.t.dim || wordStyle(s.t, w.Word) == s.t.bad {
				return 0
			}
			return 1
		},
		namespace: func(w *cluster.Workload) string { return w.Namespace },
		labels:    func(w *cluster.Workload) string { return w.Labels },
		has: func(_ *scene, w *cluster.Workload, contains func(string) bool) bool {
			return contains(w.Name) || contains(w.Namespace) || contains(w.Word) || contains(string(w.Kind))
		},
		lead: func(s *scene, r *row, w *cluster.Workload) {
			sign, st := workloadSign(s.t, w)
			r.put(st, sign).space(1)
		},
		leadWidth: 2,
		tailTitle: "WHEN ITS NODE GOES DOWN", tailLeast: 30, tailMin: 25,
		tail: func(s *scene, r *row, w *cluster.Workload, _ int) {
			text, st := fate(s, w, p.lost[w.Ref()])
			r.rest(s.t, st, s.t.text(text))
		},
		columns: []column[*cluster.Workload]{
			{fitting{ease: 20, min: 10, middle: true}, "NAME", func(s *scene, w *cluster.Workload) cell { return nameCell(s, w.Key, s.manyNamespaces()) }, nil},
			{fitting{least: 11, leastShort: 4, short: 1, drop: 2}, "KIND", func(s *scene, w *cluster.Workload) cell {
				return shortCell(s.t.dim, string(w.Kind), shownKindOf(w.Kind).names[0])
			}, nil},
			{fitting{least: 5, right: true}, "READY", func(s *scene, w *cluster.Workload) cell {
				return textCell(wordStyle(s.t, w.Word), fmt.Sprintf("%d/%d", w.Ready, w.Desired))
			}, func(_ *scene, a, b *cluster.Workload) int { return cmp.Compare(a.Ready-a.Desired, b.Ready-b.Desired) }},
			{fitting{least: 8, drop: 1}, "STATUS", func(s *scene, w *cluster.Workload) cell {
				return textCell(wordStyle(s.t, w.Word), s.t.text(w.Word))
			}, nil},
		},
	}
	return p
}

// kinds are those that are shown.
func (p *workloadsPane) kinds() []shownKind {
	if p.only != "" {
		return []shownKind{shownKindOf(p.only)}
	}
	return shownKinds[1:]
}

func (p *workloadsPane) settle(s *scene) {
	if !p.stale([2]any{p.only, s.only.text}, s.snap) {
		return
	}
	all := slices.Concat(text.Each(p.kinds(), func(k shownKind) []*cluster.Workload { return s.snap.Workloads(k.kind) })...)
	p.none = "no workloads beside deployments"
	if p.only != "" {
		p.none = "no " + shownKindOf(p.only).title
	}
	p.none += after(" in ", cmp.Or(s.only.text, s.f.Namespaces), ": 0 or :ns all shows all namespaces")
	p.lost = podsOnDownNodes(s)
	p.take(s, all)
}

func (p *workloadsPane) draw(s *scene, w, h int, active bool) drawing {
	notes := p.unread(s)
	room := max(1, h-len(notes))
	lines := p.list.draw(s, w, room, active)
	for _, note := range notes[:h-room] {
		lines = append(lines, textLine(s.t, w, 3, s.t.warn, note))
	}
	if len(p.rows) == 0 && len(notes) > 0 {
		lines = s.message(s.t.dim, strings.Join(notes, "; "), w, h)
	}
	return drawing{shownKindOf(p.only).title, "", "", p.count(s), lines}
}

// unread are the reasons why kinds are not shown, in a sentence each.
func (p *workloadsPane) unread(s *scene) []string {
	by := map[string][]string{}
	for _, k := range p.kinds() {
		read := k.kind
		if read == cluster.KindService {
			read = cluster.KindEndpointSlice
		}
		why := s.missing(read)
		if _, tried := s.snap.Access[read]; !tried && s.f.Replay != nil {
			why = cmp.Or(why, "a record does not keep them")
		}
		by[why] = append(by[why], k.title)
	}
	delete(by, "")
	return text.Each(slices.Sorted(maps.Keys(by)), func(why string) string { return text.List(by[why]) + ": " + why })
}

// podsOnDownNodes returns the pods that wait for a node that is down, by their owners. The
// control plane soon deletes those whose Node object was deleted: they do not wait.
func podsOnDownNodes(s *scene) map[cluster.Ref][]*cluster.Pod {
	out := map[cluster.Ref][]*cluster.Pod{}
	for _, n := range s.snap.Nodes() {
		if _, silent := s.snap.Silent(n, s.now); !silent || n.Ready == cluster.TriTrue || !n.Gone.IsZero() {
			continue
		}
		for _, p := range s.snap.PodsOn(n.Name) {
			if p.Gone.IsZero() && !p.Finished() {
				out[p.Workload()] = append(out[p.Workload()], p)
			}
		}
	}
	return out
}

// fate describes what nodes that are down mean for a workload with these pods on them; or,
// without such pods and in the faint look, what a node that goes down means in general.
func fate(s *scene, w *cluster.Workload, lost []*cluster.Pod) (string, style) {
	who, where := podsAndNodes(w, lost)
	counted := "counts as failed"
	if w.Forgiving {
		counted = "does not count as failed"
	}
	switch {
	case w.Kind == cluster.KindService && w.Word == cluster.WordPartly:
		return fmt.Sprintf("%d of %d endpoints left", w.Ready, w.Desired), s.t.warn
	case w.Kind == cluster.KindService && w.Word == wordDown:
		return "no endpoint is ready: requests fail", s.t.bad
	case w.Word == cluster.WordEmpty:
		return "nothing: it has no endpoints", s.t.dim
	case w.Kind == cluster.KindService:
		return "it loses the endpoints on the node", s.t.dim
	case w.Kind == cluster.KindStatefulSet && len(lost) > 0:
		return who + " hangs until " + where + " is back", s.t.bad
	case w.Kind == cluster.KindStatefulSet:
		return "its pod hangs until the node is back", s.t.dim
	case w.Kind == cluster.KindDaemonSet && len(lost) > 0:
		return who + " waits on " + where, s.t.warn
	case w.Kind == cluster.KindDaemonSet:
		return "its pod waits on the node", s.t.dim
	case w.Word == wordFailed || w.Word == cluster.WordComplete:
		return "nothing: it has ended", s.t.dim
	case len(lost) > 0:
		return fmt.Sprintf("%s %s: %d of %d", who, counted, w.Failed, w.Backoff), s.t.warn
	}
	return fmt.Sprintf("its pod %s: %d of %d", counted, w.Failed, w.Backoff), s.t.dim
}

// podsAndNodes names the pods on nodes that are down, and the nodes; several by their number.
func podsAndNodes(w *cluster.Workload, lost []*cluster.Pod) (who, where string) {
	nodes := map[string]bool{}
	for _, p := range lost {
		nodes[p.Node] = true
		who, where = p.Name, p.Node
	}
	if len(lost) > 1 {
		who = fmt.Sprintf("each of %d pods", len(lost))
	} else if w.Kind != cluster.KindStatefulSet {
		who = "its pod"
	}
	if len(nodes) > 1 {
		where = "its node"
	}
	return who, where
}

// explained says in full how a workload of the kind behaves when a node goes down.
var explained = map[cluster.Kind]string{
	cluster.KindStatefulSet: "the control plane deletes the pod, but nobody confirms its end: it stays Terminating, and no other pod takes its name, " +
		"until the node is back, the Node object is deleted, or the node has the taint node.kubernetes.io/out-of-service",
	cluster.KindDaemonSet: "its pods tolerate a node that is down: the pod stays where it is, no other node gets it, and it runs again when the node is back",
	cluster.KindJob: "the control plane deletes the pod after its toleration, and the job starts another one; a deleted pod counts against backoffLimit, " +
		"unless the podFailurePolicy ignores DisruptionTarget",
	cluster.KindService: "the service loses the endpoints on the node when the control plane marks the node NotReady; until then requests are sent there",
}

// workload adds the facts about a workload.
func (d *details) workload(ref cluster.Ref) {
	s := d.s
	w := s.snap.Workload(ref)
	if w == nil {
		d.add(string(ref.Kind), "is not there, or lightsout does not watch it")
		d.described(ref)
		return
	}
	d.addStyled(wordStyle(s.t, w.Word), "status", w.Word)
	d.add("ready", fmt.Sprintf("%d of %d", w.Ready, w.Desired))
	if w.Kind == cluster.KindJob {
		d.add("failed pods", fmt.Sprintf("%d, of %d that backoffLimit allows", w.Failed, w.Backoff))
	}
	d.head("When a node goes down")
	if text, st := fate(s, w, podsOnDownNodes(s)[ref]); st != s.t.dim {
		d.addStyled(st, "now", text)
	}
	d.add("rule", explained[w.Kind])
	d.pods(ref)
	d.described(ref)
	d.head("Workload")
	d.add("kind", string(w.Kind))
	d.add("name", w.Name)
	d.add("namespace", w.Namespace)
	d.add("labels", labelList(w.Labels))
	d.events(ref.Key)
}

// pods lists the pods of a workload, those in trouble first, with why no node takes them.
func (d *details) pods(ref cluster.Ref) {
	s := d.s
	ranks := ranked(s, s.snap.PodsOwnedBy(ref), podTrouble)
	pods := slices.Concat(ranks[:]...)
	d.head("Pods")
	var names []string // of those that wait for the same
	for i, p := range pods[:min(len(pods), mostEvents)] {
		_, st := podSign(s, p)
		names = append(names, p.Name)
		if p.Unplaced == "" || i+1 == min(len(pods), mostEvents) || pods[i+1].Unplaced != p.Unplaced {
			d.addStyled(st, cmp.Or(p.Node, "no node"), text.List(names)+": "+s.snap.PodWord(p, s.now)+after(": ", p.Unplaced, ""))
			names = nil
		}
	}
	d.add("", some(max(0, len(pods)-mostEvents), "more"))
}

// Words of workloads that have a look of their own.
const (
	wordStopped = "Stopped"
	wordDown    = "Down"
	wordFailed  = "Failed"
)

// wordStyle is the look of a deployment's or another workload's word.
func wordStyle(t *theme, word string) style {
	switch word {
	case cluster.WordRunning, cluster.WordServing, cluster.WordComplete:
		return t.good
	case wordDown, wordFailed:
		return t.bad
	case wordStopped, cluster.WordSuspended, cluster.WordEmpty:
		return t.dim
	}
	return t.warn
}

// workloadSign is the sign before a workload: never its colour alone tells its state.
func workloadSign(t *theme, w *cluster.Workload) (string, style) {
	switch st := wordStyle(t, w.Word); st {
	case t.good:
		return t.up, st
	case t.dim:
		return t.dash, st
	default:
		return t.down, st
	}
}

// nextKind shows the next kind only, or all.
func nextKind(m *Model) {
	if p, ok := m.active.pane.(*workloadsPane); ok {
		p.only = shownKinds[(shownIndex(p.only)+1)%len(shownKinds)].kind
	}
}

// showKind goes to the workloads of a kind; an empty one is all.
func showKind(kind cluster.Kind) func(*Model) {
	return func(m *Model) {
		p := m.find("Workloads")
		if m.active != p {
			showPane(p.name)(m)
		}
		p.pane.(*workloadsPane).only = kind
	}
}
