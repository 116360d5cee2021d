package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lightsout/internal/view"
)

// someRecords is a list with more rows than a small screen shows.
func someRecords() RecordsMsg {
	const state = "/home/op/.local/state/lightsout/kubernetes-admin@mdx/"
	msg := RecordsMsg{[]view.RecordLine{
		{At: t0, What: "outage kube-node3 kube-node4", Took: 725 * time.Second, Verdict: "down", Path: state + "outages/20260304T102030Z"},
		{At: t0.Add(-time.Hour), What: "trial mdx", Took: 190 * time.Second, Verdict: "pass", Path: state + "trials/20260304T092030Z"},
		{At: t0.Add(-2 * time.Hour), What: "outage default/llm-jp-31-13b-00001-deployment \x1b[31mkube-node1", Took: 51 * time.Second, Verdict: "no request failed", Path: state + "outages/20260304T082030Z"},
		{At: t0.Add(-3 * time.Hour), What: "trial by hand", Verdict: "cut short", Path: state + "trials/20260304T072030Z"},
	}}
	for i := range 30 {
		at := t0.Add(-time.Duration(i+4) * time.Hour)
		msg.Lines = append(msg.Lines, view.RecordLine{At: at, What: fmt.Sprint("trial ", i), Took: time.Minute, Verdict: "fail", Path: state + "trials/" + at.Format("20060102T150405Z")})
	}
	for i := range msg.Lines {
		msg.Lines[i].Cluster = []string{"mdx", "spare"}[i%2]
	}
	return msg
}

func TestTheListOfRecordsIsAsDrawnBefore(t *testing.T) {
	for _, size := range []size{{80, 24}, {120, 36}} {
		f := mdxOutage()
		f.RecordsOutage = true
		m, _, _ := testModel(f, size.w, size.h, Options{})
		typeKeys(m, "H")
		m.Update(someRecords())
		typeKeys(m, "j")
		checkWidths(t, m, size.w, size.h)
		golden(t, fmt.Sprintf("records-%dx%d.txt", size.w, size.h), plainView(m))
	}
}

func TestTheListOfRecordsLeadsToReports(t *testing.T) {
	m, sent, _ := testModel(calm(), 120, 36, Options{})
	typeKeys(m, ": r e c o r d s enter")
	wantIntent(t, sent, view.ShowRecords{})
	if v := plainView(m); !strings.Contains(v, "reading the records") {
		t.Errorf("the list does not show that it is being read:\n%s", v)
	}
	all := someRecords()
	m.Update(all)
	typeKeys(m, "j")
	second := all.Lines[1].Path
	if v := plainView(m); !strings.Contains(v, "lightsout replay "+second) {
		t.Errorf("no command replays the record:\n%s", v)
	}
	if _, cmd := m.Update(keyMsg("y")); cmd == nil || fmt.Sprint(cmd()) != second {
		t.Error("y does not copy the path")
	}
	typeKeys(m, "enter")
	wantIntent(t, sent, view.ShowReport{Dir: second, Width: 100})
	m.Update(ReportMsg{ShowReport: view.ShowReport{Dir: all.Lines[0].Path, Width: 100}, Lines: []string{"of another record"}})
	if v := plainView(m); strings.Contains(v, "of another record") {
		t.Errorf("the report of another record is shown:\n%s", v)
	}
	m.Update(ReportMsg{ShowReport: view.ShowReport{Dir: second, Width: 100}, Lines: []string{"mdx: PASS"}})
	if v := plainView(m); !strings.Contains(v, "mdx: PASS") {
		t.Errorf("the report is not shown:\n%s", v)
	}
	typeKeys(m, "esc")
	if v := plainView(m); !strings.Contains(v, "enter report") {
		t.Errorf("esc does not lead back to the list:\n%s", v)
	}
	typeKeys(m, "esc")
	m.Update(all) // too late
	if m.dialogs.top() != nil {
		t.Error("the list is still open")
	}

	typeKeys(m, "H")
	m.Update(RecordsMsg{})
	typeKeys(m, "enter j")
	if v := plainView(m); !strings.Contains(v, "no records yet") {
		t.Errorf("an empty list:\n%s", v)
	}
}
