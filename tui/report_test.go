package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"lightsout/internal/view"
)

func TestTheVerdictLeadsToTheReport(t *testing.T) {
	m, sent, _ := testModel(passed(), 120, 36, Options{})
	path := m.s.f.Trial.Report
	typeKeys(m, "T")
	if v := plainView(m); !strings.Contains(v, "enter reads it here") || !strings.Contains(v, path) || !strings.Contains(v, "enter report") {
		t.Errorf("the verdict does not tell of its report:\n%s", v)
	}
	if _, cmd := m.Update(keyMsg("Y")); cmd == nil || fmt.Sprint(cmd()) != path {
		t.Error("Y does not copy the path")
	}
	typeKeys(m, "enter")
	wantIntent(t, sent, view.ShowReport{Width: 100})
	if v := plainView(m); !strings.Contains(v, "reading it") {
		t.Errorf("it is not said that the report is being read:\n%s", v)
	}
	lines := []string{"mdx: PASS", "═════════", "\x1b[31mhostile"}
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("row %d", i))
	}
	m.Update(ReportMsg{ShowReport: view.ShowReport{Width: 100}, Lines: lines})
	if v := plainView(m); !strings.Contains(v, "mdx: PASS") || !strings.Contains(v, "row 20") || strings.Contains(m.View().Content, "\x1b[31mhostile") {
		t.Errorf("the report is not shown:\n%s", v)
	}
	if v := plainView(m); !strings.Contains(v, "1–31 of 63") || !strings.Contains(m.View().Content, string(m.s.t.strong)+"mdx: PASS") {
		t.Errorf("which part of the report is shown, or what its headings are, does not stand out:\n%s", v)
	}
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 36})
	wantIntent(t, sent, view.ShowReport{Width: 74})
	m.Update(ReportMsg{ShowReport: view.ShowReport{Width: 100}, Lines: []string{"too late"}})
	if v := plainView(m); !strings.Contains(v, "mdx: PASS") {
		t.Errorf("the report of the old width is read again:\n%s", v)
	}
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 36})
	if typeKeys(m, "/ 5 9 enter"); !strings.Contains(plainView(m), "row 59") {
		t.Errorf("the report can't be searched:\n%s", plainView(m))
	}
	if _, cmd := m.Update(keyMsg("Y")); cmd == nil || fmt.Sprint(cmd()) != path {
		t.Error("Y does not copy the path in the report")
	}
	m.Update(ReportMsg{ShowReport: view.ShowReport{Width: 100}, Err: "the report can't be read: no such folder"})
	if v := plainView(m); !strings.Contains(v, "no such folder") {
		t.Errorf("it is not said why there is none:\n%s", v)
	}
	typeKeys(m, "esc")
	if m.dialogs.top() != nil || m.active.name != "Trial" {
		t.Errorf("esc does not lead back to the verdict but to %s", m.active.name)
	}
}

func TestTheScreenAndTheTimelineAreKept(t *testing.T) {
	for keys, want := range map[string]view.Intent{
		"P": view.SaveScreen{}, "E": view.SaveTimeline{}, ": s h o t enter": view.SaveScreen{}, "5 : t e x t space f i l e down down enter": view.SaveTimeline{},
		"? P": view.SaveScreen{},
	} {
		m, sent, _ := testModel(calm(), 120, 36, Options{})
		typeKeys(m, keys)
		if wantIntent(t, sent, want); m.dialogs.top() != nil && keys != "? P" {
			t.Errorf("%s leaves a dialog open", keys)
		}
	}
}
