package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
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

func TestPatternsAreFilteredBy(t *testing.T) {
	for _, c := range []struct {
		filter string
		rows   int
		fault  string
	}{
		{`node[12]$`, 2, ""}, {`!node[12]$`, 3, ""}, {`^KUBE-NODE\d`, 4, ""}, {`^node`, 0, ""}, {`kube.node`, 0, ""},
		{`node[1`, 0, "missing closing ]"}, {`!node[1`, 5, "missing closing ]"}, {`(`, 0, "missing closing )"}, {`*`, 0, "missing argument"},
		{`\`, 0, "trailing backslash"}, {`(a{1000}){1000}`, 0, "invalid repeat count"}, {"node1", 1, ""},
	} {
		m, _, _ := testModel(calm(), 120, 36, Options{})
		typeKeys(m, "1 /")
		for _, r := range c.filter {
			m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
		if p := nodesOf(m); len(p.rows) != c.rows {
			t.Errorf("%q leaves %d nodes, not %d", c.filter, len(p.rows), c.rows)
		}
		v := plainView(m)
		if c.fault != "" && !strings.Contains(v, "not a pattern: searching for plain text") || c.fault == "" && strings.Contains(v, "not a pattern") {
			t.Errorf("%q: the fault %q is not beside the input:\n%s", c.filter, c.fault, v)
		}
		if typeKeys(m, "enter"); m.dialogs.top() != nil {
			t.Errorf("%q is not accepted", c.filter)
		}
	}
}

// A filter is visible wherever a title fits, together with the number of rows that it
// leaves, and with those in sight of them.
func TestTheTitleShowsTheFilterFirst(t *testing.T) {
	for _, at := range []size{{80, 24}, {120, 36}, {200, 50}, {60, 15}, {40, 10}} {
		m, _, _ := testModel(mdxOutage(), at.w, at.h, Options{})
		typeKeys(m, "3 / ! n o d e 3 enter")
		m.notices = notices{}
		m.Update(FrameMsg{m.s.f})
		v := plainView(m)
		if !strings.Contains(v, " /!node3: 12 of 16 ") || podsOf(m).page < 12 && !strings.Contains(v, "–"+fmt.Sprint(podsOf(m).page)+" of 12 ") {
			t.Errorf("%v: the screen does not show the filter:\n%s", at, v)
		}
		if strings.Contains(v, "12/12 ready") {
			t.Errorf("%v: the title does not count the hidden rows:\n%s", at, v)
		}
	}
}
