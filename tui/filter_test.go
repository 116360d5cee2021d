package tui

import (
	"strings"
	"testing"
)

func TestLabelsAreFilteredBy(t *testing.T) {
	const labels = "App=Web,example.org/tier=db-1,zone="
	for selector, want := range map[string]bool{
		"app=web": true, "app=we": true, "app=": true, "tier=db": true, "example.org/tier=db-1": true, "app=web,tier=db": true,
		"app=db": false, "pp=web": false, "app=web,tier=x": false, "web=": false, "zone=": true, "zone=a": false, "=": false,
	} {
		if got := labelled(labels, selector); got != want {
			t.Errorf("%q fits: %v", selector, got)
		}
	}
	m, _, _ := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "/ p o o l = b enter")
	if p := nodesOf(m); len(p.rows) != 2 || p.rows[0].Name != "kube-node1" {
		t.Errorf("%d nodes have the label", len(p.rows))
	}
	typeKeys(m, "3 / ! r e v i s i o n = l l m enter")
	if p := podsOf(m); len(p.rows) != 0 {
		t.Errorf("%d pods lack the label", len(p.rows))
	}
	typeKeys(m, "esc d")
	if v := plainView(m); !strings.Contains(v, "app=llm, serving.knative.dev/revision=") {
		t.Errorf("the details do not tell the labels:\n%s", v)
	}
}
