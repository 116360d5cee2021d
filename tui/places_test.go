package tui

import (
	"strings"
	"testing"

	"lightsout/internal/view"
)

func TestNamespacesAndContextsAreSwitchedInside(t *testing.T) {
	f := calm()
	f.Places = &view.Places{Contexts: []string{"mdx", "mdx-viewer"}, Namespaces: []string{"default", "knative-serving", "kube-system"}}
	m, sent, _ := testModel(f, 120, 36, Options{})
	for _, c := range []struct {
		keys string
		want view.Place
	}{
		{": n s space k n a enter", view.Place{Namespaces: []string{"knative-serving"}}},
		{": n s space enter", view.Place{}},
		{": n s space a , b enter", view.Place{Namespaces: []string{"a", "b"}}},
		{": n s space k u b e tab enter", view.Place{Namespaces: []string{"kube-system"}}},
		{": c t x space v i e enter", view.Place{Context: "mdx-viewer"}},
		{": o t h e r space c o n t e x t", view.Place{}},
	} {
		*sent = nil
		typeKeys(m, c.keys)
		if strings.HasSuffix(c.keys, "t e x t") {
			typeKeys(m, "enter")
			if v := plainView(m); !strings.Contains(v, "ctx mdx-viewer") {
				t.Errorf("the contexts are not offered:\n%s", v)
			}
			typeKeys(m, "down enter")
			c.want = view.Place{Context: "mdx-viewer"}
		}
		wantIntent(t, sent, view.SwitchPlace{Place: c.want})
	}
	*sent = nil
	typeKeys(m, ": n s space d e f a u l t , $ ( i d ) enter")
	if v := plainView(m); len(*sent) > 0 || !strings.Contains(v, "$(id) can't be a namespace") {
		t.Errorf("a name that no namespace has: sent %#v, shown\n%s", *sent, v)
	}
	m, sent, _ = testModel(replayed(), 120, 36, Options{})
	if typeKeys(m, ": n s space a enter esc"); len(*sent) > 0 {
		t.Errorf("a replay sent %#v", (*sent)[0])
	}
}

func TestTheHeaderNamesTheNamespaces(t *testing.T) {
	f := calm()
	f.Namespaces = "shop,db"
	m, _, _ := testModel(f, 80, 24, Options{})
	if v := plainView(m); !strings.Contains(v, "mdx /shop,db") {
		t.Errorf("they are not named:\n%s", v)
	}
}
