package tui

import (
	"fmt"
	"strings"
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
		add(after, view.Event{Lane: "endpoints", Kind: "endpointslice", Subject: "llm", From: fmt.Sprint(16 - i), To: fmt.Sprint(15 - i), Why: "ready", Change: cluster.ChangeEndpoints})
	}
	add(0, view.Event{Lane: "event", Kind: "node", Subject: "kube-node3", Text: "NodeNotReady"})
	add(5*time.Second, view.Event{Lane: "pod", Kind: "pod", Subject: "llm-0", Text: "ready Ready → NotReady"})
	var got []string
	rows, _ := fold(events)
	for _, e := range rows {
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

// ready is a step of the number of a service's ready endpoints.
func ready(namespace, from, to string) view.Event {
	return view.Transition(cluster.Transition{Subject: cluster.Ref{Kind: cluster.KindEndpointSlice, Key: cluster.Key{Namespace: namespace, Name: "web"}},
		Change: cluster.ChangeEndpoints, From: from, To: to, Why: "ready", SourceTime: t0, When: cluster.At(t0)})
}

// numbered gives events their numbers, in order.
func numbered(events ...view.Event) []view.Event {
	for i := range events {
		events[i].Seq = i + 1
	}
	return events
}

// The timeline does not join steps of two services of one name, nor steps between which one is missing.
func TestOnlyStepsOfOneCountAreFolded(t *testing.T) {
	for what, events := range map[string][]view.Event{
		"web 16 → 8 ready; web 8 → 0 ready":                   {ready("shop", "16", "8"), ready("blog", "8", "0")},
		"web 6 → 5 ready; web 5 → 6 ready":                    {ready("shop", "6", "5"), ready("shop", "5", "6")},
		"web 16 → 8 ready; web 4 → 0 ready":                   {ready("shop", "16", "8"), ready("shop", "4", "0")},
		"web 16 → 6 ready; web 4 → 2 ready":                   {ready("shop", "16", "8"), ready("blog", "4", "2"), ready("shop", "8", "6")},
		"web 16 → 8 ready; web 4 → 1 ready; web 20 → 6 ready": {ready("shop", "16", "8"), ready("shop", "4", "1"), ready("shop", "20", "6")},
		"web 16 → 8 ready; web 4 → 1 ready; web 16 → 6 ready": {ready("shop", "16", "8"), ready("shop", "4", "2"), ready("shop", "2", "1"), ready("blog", "16", "6")},
	} {
		var rows []string
		folded, _ := fold(numbered(events...))
		for _, e := range folded {
			rows = append(rows, e.Subject+" "+e.Sentence())
		}
		if got := strings.Join(rows, "; "); got != what {
			t.Errorf("folded to %s, wanted %s", got, what)
		}
	}
}
