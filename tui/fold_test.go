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

// ready is a step of the number of a service's ready endpoints.
func ready(namespace, from, to string) view.Event {
	return view.Transition(cluster.Transition{Subject: cluster.Ref{Kind: cluster.KindEndpointSlice, Key: cluster.Key{Namespace: namespace, Name: "web"}},
		Change: cluster.ChangeEndpoints, From: from, To: to, Why: "ready", SourceTime: t0, Seen: t0})
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
		"web 16 → 8 ready; web 4 → 0 ready":                   {ready("shop", "16", "8"), ready("shop", "4", "0")},
		"web 16 → 6 ready; web 4 → 2 ready":                   {ready("shop", "16", "8"), ready("blog", "4", "2"), ready("shop", "8", "6")},
		"web 16 → 8 ready; web 4 → 1 ready; web 20 → 6 ready": {ready("shop", "16", "8"), ready("shop", "4", "1"), ready("shop", "20", "6")},
		"web 16 → 8 ready; web 4 → 1 ready; web 16 → 6 ready": {ready("shop", "16", "8"), ready("shop", "4", "2"), ready("shop", "2", "1"), ready("blog", "16", "6")},
	} {
		var rows []string
		for _, e := range fold(numbered(events...)) {
			rows = append(rows, e.Subject+" "+e.Sentence())
		}
		if got := strings.Join(rows, "; "); got != what {
			t.Errorf("folded to %s, wanted %s", got, what)
		}
	}
}

// Pods of two namespaces that become one row belong to neither.
func TestAFoldedRowOfManyPodsHasNoNamespace(t *testing.T) {
	var events []view.Event
	for _, namespace := range []string{"shop", "blog"} {
		events = append(events, view.Event{Seen: t0, Lane: view.LanePod, Kind: "pod", Namespace: namespace, Subject: "db-0", Text: "Running → Terminating"})
	}
	if got := fold(numbered(events...)); len(got) != 1 || got[0].Subject != "2 pods" || got[0].Namespace != "" {
		t.Errorf("%+v", got)
	}
}

// The timeline names the namespace of a subject only if another namespace has one of the
// same name: in its rows, under a filter, and in the line that is copied.
func TestTheTimelineTellsSubjectsOfOneNameApart(t *testing.T) {
	f := calm()
	f.Events = numbered(ready("shop", "16", "8"), ready("blog", "4", "0"))
	m, _, _ := testModel(f, 120, 36, Options{})
	if v := plainView(m); !strings.Contains(v, "shop/web ") || !strings.Contains(v, "blog/web ") {
		t.Errorf("the services have one name:\n%s", v)
	}
	typeKeys(m, "5 / s h o p / enter")
	if v := plainView(m); !strings.Contains(v, "shop/web ") || strings.Contains(v, "blog/web ") {
		t.Errorf("the filter does not find the name in the row:\n%s", v)
	}
	if o, _ := m.active.row(&m.s); !strings.Contains(o.name, " shop/web ") || !strings.Contains(o.title, " shop/web ") {
		t.Errorf("copied is %q, and the details are called %q", o.name, o.title)
	}
	f = calm()
	f.Events = numbered(ready("shop", "16", "8"))
	m, _, _ = testModel(f, 120, 36, Options{})
	if v := plainView(m); strings.Contains(v, "shop/web ") {
		t.Errorf("the only service of its name has a namespace:\n%s", v)
	}
}
