package tui

import (
	"maps"
	"strings"
	"testing"
)

func TestColumnsAreChosenAndKept(t *testing.T) {
	var kept map[string]Choice
	o := Options{KeepColumns: func(all map[string]Choice) error { kept = all; return nil }}
	m, _, _ := testModel(outage(), 120, 36, o)
	press := func(keys string) {
		t.Helper()
		for key := range strings.FieldsSeq(keys) {
			typeKeys(m, key)
			if key == "space" || key == "0" {
				m.keeper.command(o.KeepColumns)()
			}
		}
	}
	head := func(title string) string {
		for line := range strings.SplitSeq(plainView(m), "\n") {
			if strings.Contains(line, " "+title+" ") {
				return line
			}
		}
		return ""
	}
	if line := head("POD"); !strings.Contains(line, "NEXT") || strings.Contains(line, "ADDRESS") {
		t.Fatalf("at first the columns are %q", line)
	}
	press("3 v")
	if v := plainView(m); !strings.Contains(v, "Columns of Pods") || !strings.Contains(v, "[-] ADDRESS") || !strings.Contains(v, "where there is room") {
		t.Fatalf("the columns are not listed:\n%s", v)
	}
	press("j j j space j j j space esc") // NEXT never, ADDRESS always
	want := Choice{"NEXT": false, "ADDRESS": true}
	if line := head("POD"); strings.Contains(line, "NEXT") || !strings.Contains(line, "ADDRESS") || !maps.Equal(kept["Pods"], want) {
		t.Errorf("the columns are %q, kept is %v", line, kept)
	}
	o.Columns = kept
	m, _, _ = testModel(outage(), 120, 36, o)
	if line := head("POD"); strings.Contains(line, "NEXT") || !strings.Contains(line, "ADDRESS") {
		t.Errorf("in the next session the columns are %q", line)
	}
	press(": c o l u m n s enter")
	if v := plainView(m); !strings.Contains(v, "Columns of Nodes") {
		t.Errorf(":columns leads to\n%s", v)
	}
	press("esc 3 v 0 esc")
	if line := head("POD"); !strings.Contains(line, "NEXT") || len(kept) > 0 {
		t.Errorf("as at first, the columns are %q, kept is %v", line, kept)
	}
	for pane, titles := range map[string]string{"1": "NODE MACHINE", "2": "DEPLOYMENT UPDATED", "W": "NAME KIND"} {
		m, _, _ = testModel(outage(), 120, 36, Options{})
		typeKeys(m, pane+" v")
		for title := range strings.FieldsSeq(titles) {
			if v := plainView(m); !strings.Contains(v, "] "+title) {
				t.Errorf("pane %s has no column %s to choose:\n%s", pane, title, v)
			}
		}
	}
}
