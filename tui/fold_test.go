package tui

import (
	"fmt"
	"testing"
	"time"

	"lightsout/cluster"
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
		"event kube-node3 NodeNotReady",
		"pod llm-0 ready Ready → NotReady",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("folded to\n%q\nwanted\n%q", got, want)
	}
	if events[1].Subject != "llm-0" {
		t.Error("the frame's own events were changed")
	}
}
