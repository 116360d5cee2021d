package tui

import (
	"strings"

	"lightsout/cluster"
)

// mostCalled is how many objects the palette lists for a name.
const mostCalled = 6

// objectsCalled returns commands that go to the watched objects of a name; those whose names only
// begin so come after it.
func objectsCalled(m *Model, name string) []command {
	var whole, begun []command
	if len(name) < 2 {
		return nil
	}
	look := func(kind cluster.Kind, k cluster.Key) {
		c := command{text: string(kind) + " " + k.String(), binding: binding{run: goTo(cluster.Ref{Kind: kind, Key: k})}}
		switch {
		case k.Name == name:
			whole = append(whole, c)
		case len(begun) < mostCalled && strings.HasPrefix(k.Name, name):
			begun = append(begun, c)
		}
	}
	for _, n := range m.s.snap.Nodes() {
		look(cluster.KindNode, cluster.Key{Name: n.Name})
	}
	for _, d := range m.s.snap.Deployments() {
		look(cluster.KindDeployment, d.Key)
	}
	for _, k := range shownKinds[1:] {
		for _, w := range m.s.snap.Workloads(k.kind) {
			look(w.Kind, w.Key)
		}
	}
	for _, p := range m.s.snap.Pods() {
		look(cluster.KindPod, p.Key)
	}
	out := append(whole, begun...)
	return out[:min(len(out), mostCalled)]
}

// goTo puts the cursor on an object, in its pane.
func goTo(ref cluster.Ref) func(*Model) {
	show := showKind("")
	switch ref.Kind {
	case cluster.KindNode:
		show = showPane(nodesSpec.name)
	case cluster.KindDeployment:
		show = showPane(deploymentsSpec.name)
	case cluster.KindPod:
		show = goToAllPods
	}
	return func(m *Model) {
		filtered(show, "")(m)
		m.settle()
		if p, ok := m.active.pane.(interface {
			choose(*scene, cluster.Ref) bool
		}); ok && !p.choose(&m.s, ref) {
			m.say(ref.String() + " is not among the namespaces shown: 0 shows all")
		}
	}
}

// filtered goes to a list, and filters it by a text: as in k9s, a command does not take over the filter of
// the one before.
func filtered(show func(*Model), text string) func(*Model) {
	return func(m *Model) {
		show(m)
		if f := m.active.filter(); f != nil {
			f.text = text
		}
	}
}

// choose puts the cursor on an object, and reports whether it is in the list.
func (l *list[K, R]) choose(s *scene, ref cluster.Ref) bool {
	for i, r := range l.rows {
		if l.object(s, r).ref == ref {
			l.at, l.cursor, l.moved = i, l.id(r), true
			if l.chosen != nil {
				l.chosen(s, l.cursor)
			}
			return true
		}
	}
	return false
}
