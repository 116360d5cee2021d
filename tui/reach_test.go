package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

func TestThePaletteFindsAndCarriesOut(t *testing.T) {
	m, sent, _ := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "4 : s e n d space t h i s space m a n y space a t")
	if v := plainView(m); !strings.Contains(v, "send this many at once") {
		t.Fatalf("the command is not found:\n%s", v)
	}
	typeKeys(m, "down down enter")
	wantIntent(t, sent, view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Burst, N: 16}})
	if m.dialogs.top() != nil {
		t.Error("the palette stays open")
	}
	typeKeys(m, ": w o r k l tab enter")
	if m.active.name != "Workloads" {
		t.Errorf("the active pane is %s", m.active.name)
	}
	typeKeys(m, "esc 1 : f i l t e r down enter")
	if d, ok := m.dialogs.top().(*promptDialog); !ok {
		t.Errorf("the filter is not asked for but %T", d)
	}
	f := calm()
	f.ReadOnly = true
	m, sent, _ = testModel(f, 120, 36, Options{})
	typeKeys(m, ": p l u g down enter esc")
	for _, i := range *sent {
		if _, ok := i.(view.Inspect); !ok { // the API server may serve a kind of this name
			t.Errorf("read-only, the palette sent %#v", i)
		}
	}
}

func TestLinesAndCommandsAreCopied(t *testing.T) {
	copied := func(m *Model) string {
		if _, cmd := m.Update(keyMsg("Y")); cmd != nil {
			return fmt.Sprint(cmd())
		}
		return ""
	}
	m, _, now := testModel(mdxOutage(), 120, 36, Options{Clipboard: " (tmux: …)"})
	for _, want := range []string{"clipboard: kube-node3 (tmux: …)", "clipboard: kube-node3"} { // what tmux needs, once
		typeKeys(m, "1 Y")
		*now = now.Add(30 * time.Second)
		m.Update(tickMsg{})
		if v := plainView(m); !strings.Contains(v, "sent to the terminal's "+want) {
			t.Errorf("%q is not on the screen:\n%s", want, v)
		}
	}
	typeKeys(m, "5 g")
	if got := copied(m); got != "2026-03-04T10:19:10Z T-01:20.0 link mdx connected to https://10.0.0.10:6443 (v1.36.3)" {
		t.Errorf("of the timeline %q is copied", got)
	}
	typeKeys(m, "M")
	if got := copied(m); !strings.HasPrefix(got, "2026-03-04T10:19:10Z T-01:20.0") {
		t.Errorf("of what was said %q is copied", got)
	}
	f := calm()
	f.Question = &view.Question{ID: "1", Title: "Leave?", Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Stay"}, {ID: view.ChoiceYes, Label: "Leave"}},
		Lines: []view.Line{{Text: "kube-node3"}, {Text: "Later: `lightsout restore --config 'a b.yaml'`. The next start asks, too.", Command: "lightsout restore --config 'a b.yaml'"}}}
	m, sent, _ := testModel(f, 120, 36, Options{})
	if got := copied(m); got != "lightsout restore --config 'a b.yaml'" || len(*sent) > 0 {
		t.Errorf("of the question %q is copied, %v sent", got, *sent)
	}
	f.Question.Type = "mdx"
	m, _, _ = testModel(f, 120, 36, Options{})
	if got := copied(m); got != "" {
		t.Errorf("while a name is typed %q is copied", got)
	}
}

func TestSuspendingIsRefusedWhileSomethingRuns(t *testing.T) {
	m, _, _ := testModel(calm(), 120, 36, Options{})
	if _, cmd := m.Update(keyMsg("ctrl+z")); cmd == nil {
		t.Error("ctrl+z does nothing")
	} else if _, ok := cmd().(tea.SuspendMsg); !ok {
		t.Errorf("ctrl+z gives %T", cmd())
	}
	for name, f := range map[string]*view.Frame{"trial": silent(), "load": mdxOutage()} {
		m, _, _ := testModel(f, 120, 36, Options{})
		if _, cmd := m.Update(keyMsg("ctrl+z")); cmd != nil {
			t.Errorf("suspended although the %s would stop", name)
		}
		if v := plainView(m); !strings.Contains(v, "not suspended: the "+name) {
			t.Errorf("the screen does not say why:\n%s", v)
		}
	}
}
