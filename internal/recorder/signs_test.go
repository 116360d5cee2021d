package recorder

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/planned"
	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// allWrong returns what the rules find while everything is wrong that a rule looks for.
func allWrong(t *testing.T) (found []view.Sign) {
	w := newScene(t, nil).run(2)
	w.change = func(c *cluster.Contents) {
		w.contents(c)
		c.Nodes = nil
		for _, name := range []string{"silent", "unready", "unreturned", "switched"} {
			n := w.node
			n.Name, n.Renewed, n.RenewSeen = name, w.now.Add(-time.Hour), w.now.Add(-time.Hour)
			if name == "unready" {
				n.Ready, n.Renewed, n.RenewSeen = cluster.TriFalse, w.now, w.now
			}
			c.Nodes = append(c.Nodes, &n)
		}
	}
	w.pending, w.ready = 1, 0
	w.switched["switched"] = power.Progress{At: w.now, Action: power.ActionOff}
	w.plans["unreturned"] = &planned.Off{Since: w.now.Add(-time.Hour), Removed: w.now.Add(-time.Hour)}
	for range 3 {
		w.requests.series.Note(&loadgen.Record{Class: loadgen.ClassRefused, Scheduled: w.now, Sent: w.now, End: w.now}, w.now)
	}
	for _, w.absent = range []bool{false, true} {
		f := facts{Recorder: w.Recorder, s: w.Snapshot(), now: w.now}
		for _, rule := range rules {
			all, _ := rule.sees(f)
			for _, x := range all {
				found = append(found, x.Kind)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// A notice of what happens again has its time, and not only that of the first.
func TestANoticeTellsWhatHappensAgain(t *testing.T) {
	at := time.Date(2026, 11, 29, 23, 44, 12, 0, time.UTC)
	var signs []view.Event
	for _, x := range []record.Sign{{Kind: view.SignSilent, Subject: "n1", At: at}, {Kind: view.SignRequests, At: at}, {Kind: view.SignSilent, Subject: "n1", At: at.Add(31 * time.Second)}} {
		signs = append(signs, signEvent(x))
	}
	if said := report.SoFar(signs, "", ""); !strings.Contains(said, "; again: n1 fell silent at 23:44:43 UTC.") {
		t.Errorf("%q", said)
	}
	signs = append(signs, signEvent(record.Sign{Kind: view.SignSwitchedOff, Subject: "n2", Action: power.ActionShutdown, At: at.Add(time.Second)}))
	if said := report.SoFar(signs, "", ""); !strings.Contains(said, "n2 was asked to go off at 23:44:13") { // it may stay on
		t.Errorf("%q", said)
	}
	signs = append(signs, signEvent(record.Sign{Kind: view.SignRequests, At: at.Add(40 * time.Second)}))
	if said := report.SoFar(signs, "", ""); !strings.Contains(said, "; again: requests began to fail after 23:44:52 UTC.") {
		t.Errorf("%q", said)
	}
}

// A sign without words would be silent in reports and notices, and one without a rule never shows.
func TestEverySignHasItsWordsAndARule(t *testing.T) {
	all := slices.Sorted(maps.Keys(view.Signs))
	if found := allWrong(t); !slices.Equal(found, all) {
		t.Errorf("the rules show %q, and there are words for %q", found, all)
	}
	for _, sign := range all {
		e := signEvent(record.Sign{Kind: sign, Subject: "web", At: time.Unix(1_800_000_000, 0)})
		if e.Subject == "" || sign.Named("") == "" && !strings.Contains(sign.LastGood("web"), "web") {
			t.Errorf("%s: of what?", sign)
		}
		down := sign.Down()
		if said := report.SoFar([]view.Event{e}, "", ""); !strings.Contains(said, " UTC") || sign.LastGood("web") == string(sign) ||
			sign.OfNode() && (down.Text == "" || down.One == "" || down.Several == "") || sign.OfNode() == (sign.Clause("") != "") {
			t.Errorf("%s lacks words: %q, %+v", sign, said, down)
		}
	}
}
