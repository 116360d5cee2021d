package tui

import (
	"fmt"
	"lightsout/cluster"
	"testing"
	"time"

	"lightsout/internal/view"
)

func TestFoldKeepsTheNodesLineInSight(t *testing.T) {
	at := time.Date(2026, 11, 21, 5, 37, 18, 0, time.UTC)
	var events []view.Event
	add := func(after time.Duration, e view.Event) {
		e.Seq, e.Seen, e.At = len(events)+1, at.Add(after), at.Add(after)
		events = append(events, e)
	}
	add(0, view.Event{Lane: "node", Subject: "kube-node3", Text: "Ready → NotReady (silent)"})
	for i := range 8 {
		after := time.Duration(10*i) * time.Millisecond
		add(after, view.Event{Lane: "pod", Kind: "pod", Subject: fmt.Sprint("llm-", i), Text: "ready Ready → NotReady", From: "Ready", To: "NotReady", Change: cluster.ChangeReady, Is: cluster.HealthBad})
		add(after, view.Event{Lane: "event", Kind: "pod", Subject: fmt.Sprint("llm-", i), Text: "NodeNotReady: Node is not ready"})
		add(after, view.Event{Lane: "endpoints", Kind: "endpointslice", Subject: "llm", From: fmt.Sprint(16 - i), To: fmt.Sprint(15 - i), Why: "ready", Change: cluster.ChangeEndpoints})
	}
	add(0, view.Event{Lane: "event", Kind: "node", Subject: "kube-node3", Text: "NodeNotReady"})
	add(5*time.Second, view.Event{Lane: "pod", Kind: "pod", Subject: "llm-0", Text: "ready Ready → NotReady"})
	var got []string
	for _, e := range fold(events) {
		got = append(got, string(e.Lane)+" "+e.Subject+" "+e.Text)
	}
	want := []string{
		"node kube-node3 Ready → NotReady (silent)",
		"pod 8 pods ready Ready → NotReady",
		"event 8 pods NodeNotReady: Node is not ready",
		"endpoints llm 16 → 8 ready",
		"event kube-node3 NodeNotReady",
		"pod llm-0 ready Ready → NotReady",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("folded to\n%q\nwanted\n%q", got, want)
	}
	if events[1].Subject != "llm-0" || events[3].To != "15" {
		t.Error("the frame's own events were changed")
	}
}

func TestEventsThatNameTheirPodsAreFolded(t *testing.T) {
	var events []view.Event
	for i := range 8 {
		e := view.Event{Seq: i + 1, Lane: view.LaneEvent, Kind: "pod", Subject: fmt.Sprint("llm-", i), Change: cluster.ChangeEvent,
			To: "TaintManagerEviction", Why: fmt.Sprint("Marking for deletion Pod default/llm-", i)}
		e.Text = e.Sentence()
		events = append(events, e)
	}
	if got := fold(events); len(got) != 1 || got[0].Subject != "8 pods" || got[0].Sentence() != "TaintManagerEviction: Marking for deletion Pod default/…" {
		t.Errorf("%+v", got)
	}
}

func TestManyNodesAreFoldedAndFewAreNot(t *testing.T) {
	at := time.Date(2026, 11, 21, 5, 37, 18, 0, time.UTC)
	lost := func(n int) []view.Event {
		var out []view.Event
		for i := range n {
			name := fmt.Sprint("node-", i)
			out = append(out, view.Event{Seq: i + 1, Seen: at, At: at, Lane: view.LaneNode, Subject: name, From: fmt.Sprintf("Ready (silent %ds)", 40+i), To: "NotReady"})
		}
		return out
	}
	if got := fold(lost(4)); len(got) != 4 || got[0].Subject != "node-0" {
		t.Errorf("4 nodes become %d rows, the first of %s", len(got), got[0].Subject)
	}
	if got := fold(lost(100)); len(got) != 1 || got[0].Subject != "100 nodes" {
		t.Errorf("100 nodes become %d rows, the first of %s", len(got), got[0].Subject)
	}
}
