package tui

import (
	"strings"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// places adds namespaces and contexts that the snapshot lacks.
func places(f *view.Frame) *view.Frame {
	f.Scopes = &view.Scopes{Contexts: []string{"mdx", "mdx-viewer"}, Namespaces: []string{"default", "knative-serving", "kube-system"}}
	return f
}

// A namespace is a filter: the session continues, with its timeline, chart and marks.
func TestANamespaceIsAFilter(t *testing.T) {
	m, sent, _ := testModel(places(mdxOutage()), 120, 36, Options{})
	typeKeys(m, "space")
	*sent = nil
	before := plainView(m)
	for keys, want := range map[string]string{
		": n s space k n a enter": "knative-serving", ": n s space a , b enter": "a,b", ": n s space k u b e tab enter": "kube-system", ": n s space enter": "", "0": "",
	} {
		typeKeys(m, keys)
		if m.s.only.text != want || len(*sent) > 0 {
			t.Errorf("%s: the screen shows %q and sends %v", keys, m.s.only.text, *sent)
		}
	}
	typeKeys(m, ": n s space d e f enter 1")
	if n := len(podsOf(m).rows); n == 0 || len(m.s.marks) != 1 {
		t.Errorf("%d pods, marks %v", n, m.s.marks)
	}
	for _, title := range []string{"3 in default: 4 of 4 · Pods", "2 in default: 1 of 1 · Deployments"} {
		if v := plainView(m); !strings.Contains(v, title) || !strings.Contains(v, "mdx /default") {
			t.Errorf("the screen does not show the filter:\n%s", v)
		}
	}
	typeKeys(m, ": n s space k n a enter")
	if v := plainView(m); !strings.Contains(v, "in knative-serving: 0 of 4") || len(podsOf(m).rows) > 0 {
		t.Errorf("the screen shows pods of another namespace:\n%s", v)
	}
	typeKeys(m, "0")
	m.notices = notices{}
	m.Update(FrameMsg{m.s.f})
	if after := plainView(m); after != before {
		t.Errorf("0 does not lead back to\n%s\nbut to\n%s", before, after)
	}
	typeKeys(m, ": n s space d e f a u l t , $ ( i d ) enter")
	if v := plainView(m); len(*sent) > 0 || !strings.Contains(v, "$(id) can't be a namespace") {
		t.Errorf("a name that no namespace has: sent %#v, shown\n%s", *sent, v)
	}
	m, sent, _ = testModel(replayed(), 120, 36, Options{})
	if typeKeys(m, ": n s space a , b enter esc"); len(*sent) > 0 || m.s.only.text != "a,b" {
		t.Errorf("a replay sent %#v, and shows %q", *sent, m.s.only.text)
	}
}

// To show unwatched namespaces takes another session.
func TestUnwatchedNamespacesNeedAnotherSession(t *testing.T) {
	f := places(calm())
	f.Namespaces = "default,shop"
	m, sent, _ := testModel(f, 120, 36, Options{})
	typeKeys(m, ": n s space s h o p enter")
	if m.s.only.text != "shop" || len(*sent) > 0 {
		t.Errorf("the screen shows %q and sends %v", m.s.only.text, *sent)
	}
	typeKeys(m, ": n s space a l l enter")
	if m.s.only.on() || len(*sent) > 0 {
		t.Errorf("the screen shows %q and sends %v", m.s.only.text, *sent)
	}
	typeKeys(m, ": n s space a l l enter")
	wantIntent(t, sent, view.SwitchScope{})
	typeKeys(m, ": n s space k n a enter")
	wantIntent(t, sent, view.SwitchScope{Scope: view.Scope{Namespaces: []string{"knative-serving"}}})
}

func TestTheScreenSwitchesContexts(t *testing.T) {
	m, sent, _ := testModel(places(calm()), 120, 36, Options{})
	typeKeys(m, ": c t x space v i e enter")
	wantIntent(t, sent, view.SwitchScope{Scope: view.Scope{Context: "mdx-viewer"}})
	typeKeys(m, ": a n o t h e r space c o n t e x t enter")
	if v := plainView(m); !strings.Contains(v, "ctx mdx-viewer") {
		t.Errorf("the palette does not offer the contexts:\n%s", v)
	}
	typeKeys(m, "down enter")
	wantIntent(t, sent, view.SwitchScope{Scope: view.Scope{Context: "mdx-viewer"}})
	m, sent, _ = testModel(replayed(), 120, 36, Options{})
	if typeKeys(m, ": c t x space v i e enter esc"); len(*sent) > 0 {
		t.Errorf("a replay sent %#v", (*sent)[0])
	}
}

// The keys of a deployment act on none that a filter or a choice of namespaces hides, and
// say why; nor do its pods stay chosen.
func TestNoKeyActsOnAHiddenDeployment(t *testing.T) {
	const ways = ": 2 and then esc clear a filter, 0 shows all namespaces"
	const filtered, hidden = "no deployments match the filter" + ways, "no deployments" + ways
	for keys, want := range map[string]string{
		"/ n o s u c h enter f":         filtered,
		"/ n o s u c h enter r":         filtered,
		"/ n o s u c h enter down up f": filtered,
		"/ n o s u c h enter 1 r":       filtered,
		": n s space k n a enter 2 f":   hidden,
		": n s space k n a enter 2 r":   hidden,
		": n s space k n a enter 1 r":   hidden,
	} {
		f := places(calm())
		f.Focus = cluster.Key{}
		m, sent, _ := testModel(f, 120, 36, Options{})
		typeKeys(m, "2 down "+keys)
		if v := plainView(m); len(*sent) > 0 || m.notices.newest() != want || !strings.Contains(v, want) {
			t.Errorf("%s: sent %#v, said %q, shown\n%s", keys, *sent, m.notices.newest(), v)
		}
		if m.s.deployment.Name != "" || podsOf(m).of != "" {
			t.Errorf("%s: %v is chosen, with the pods of %q", keys, m.s.deployment, podsOf(m).of)
		}
	}
}
