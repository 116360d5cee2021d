package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
	"lightsout/internal/testenv"
)

// TestTheScreenRecordsAnUnplannedOutage pulls a plug behind the screen's back, and then
// another one by its key. Each outage is in one record, and the screen lists both.
func TestTheScreenRecordsAnUnplannedOutage(t *testing.T) {
	testenv.Long(t, 150)
	t.Parallel()
	l := labtest.Start(t, "mdx")
	state := t.TempDir()
	config := l.ConfigWith(func(c map[string]any) {
		c["state"], c["recorder"] = state, map[string]any{"steady": "8s"}
	})
	records := func(of string) []string {
		dirs, err := filepath.Glob(filepath.Join(state, "*", of, "2*"))
		if err != nil {
			t.Fatal(err)
		}
		return dirs
	}
	const long = 2 * time.Minute
	x := openTerminal(t, 120, 36, nil, labtest.Program(t, "lightsout")+" "+strings.Join(args(l, config), " "))
	x.waitFor("the cluster", long, ready("5"), `16/16\s+Running`)
	x.keys("4", "R") // the operator's requests are in the record
	x.waitFor("requests", long, `[1-9]\d* ok|ok [1-9]`)

	l.Post("/machines/kube-node4/off")
	x.waitFor("the recording", long, `● rec outage`)
	x.waitFor("the sentence", long, `kube-node4 fell silent at`)
	l.Post("/machines/kube-node4/on")
	x.waitFor("the report", long, `the report is`)
	if s := x.screen(); strings.Contains(s, "rec outage") {
		t.Errorf("the screen still records:\n%s", s)
	}
	found := records("outages")
	if len(found) != 1 || len(records("trials")) > 0 {
		t.Fatalf("outages %v, trials %v", found, records("trials"))
	}
	s := readSummary(t, found[0])
	if s.Unplanned == nil || !s.Zero.Equal(s.Unplanned.Signs[0].At) || s.Ledger.Scheduled == 0 || len(s.Load) != 1 {
		t.Errorf("%+v, ledger %+v", s.Unplanned, s.Ledger)
	}
	rec, err := record.Open(found[0])
	if err != nil || !rec.Start.Before(s.Zero) {
		t.Errorf("the record has no past: %v", err)
	}
	if b, err := os.ReadFile(filepath.Join(found[0], record.HTMLFile)); err != nil || !strings.Contains(string(b), "kube-node4 fell silent at") {
		t.Errorf("the report: %v", err)
	}

	x.mark("kube-node3")
	x.keys("S")
	x.answer("Pull the plug on kube-node3?", "Pull the plug on 1 node")
	x.waitFor("the machine off", long, `kube-node3\s+(?:Not)?Ready[^\n│]*\soff\s`)
	x.waitFor("its recording, and that it is noticed", long, `● rec outage`, `kube-node3\s+NotReady`)
	if all := records("outages"); len(all) != 1 || len(records("trials")) != 1 {
		t.Errorf("outages %v, trials %v", all, records("trials"))
	}
	x.keys("o")
	x.answer("Power on kube-node3?", "Power on 1 node")

	x.keys("H")
	x.waitFor("the list", time.Minute, `outage kube-node4`, `trial`, `(?s)lightsout replay.*/trials/2`)
	x.keys("Down")
	x.waitFor("the command", time.Minute, `(?s)lightsout replay.*/outages/2`)
	x.keys("Enter")
	x.waitFor("the report", time.Minute, `Report of outage kube-node4`, `kube-node4 fell silent at`)
	x.keys("Escape")
	x.waitFor("the list again", time.Minute, `enter report`)
	x.keys("Escape")
}
