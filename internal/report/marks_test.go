package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
)

// told gathers the timeline's lines as "subject: text".
func told(r *record.Record) []string {
	var out []string
	marks, _ := marksOf(r, axisOf(r))
	for _, m := range marks {
		for _, e := range m.Entries {
			out = append(out, e.who()+": "+e.Text)
		}
	}
	return out
}

func TestTheTimelineKeepsWhatTellsMost(t *testing.T) {
	r := mdxRecord()
	before := told(r)
	for i := range 5000 { // far more than fit
		s := -10 + float64(i)*0.01
		r.Events = append(r.Events, view.Event{Seq: len(r.Events) + 1, At: at(s), Seen: at(s), Lane: "pod", Kind: "pod",
			Subject: fmt.Sprintf("web-%d", i), Text: fmt.Sprintf("status %d", i)})
	}
	lines := told(r)
	if len(lines) > entriesMost {
		t.Errorf("%d lines", len(lines))
	}
	for _, want := range before {
		if strings.Contains(want, "NotReady") && !slices.Contains(lines, want) {
			t.Errorf("%q is no longer told", want)
		}
	}
	if text := timelineOf(r).Lead[0].Text; !strings.Contains(text, fmt.Sprintf("All %d are in", len(r.Events))) || !strings.Contains(text, "events.jsonl") {
		t.Errorf("it does not say that there is more: %q", text)
	}
}

// The timeline joins no steps and no subjects of two namespaces, and tells services of
// one name apart.
func TestTheTimelineTellsSubjectsOfOneNameApart(t *testing.T) {
	r := mdxRecord()
	for i, step := range [][3]string{{"shop", "16", "8"}, {"blog", "8", "0"}, {"shop", "8", "6"}, {"news", "16", "6"}} {
		r.Events = append(r.Events, view.Event{Seq: len(r.Events) + i, At: at(300), Seen: at(300), Lane: view.LaneEndpoints, Kind: "endpointslice", Change: cluster.ChangeEndpoints,
			Namespace: step[0], Subject: "web", From: step[1], To: step[2], Why: "ready", Text: step[1] + " → " + step[2] + " ready"})
	}
	lines := told(r)
	for _, want := range []string{"news/web, shop/web: 16 → 6 ready", "blog/web: 8 → 0 ready"} {
		if !slices.Contains(lines, want) {
			t.Errorf("%q is missing in\n%s", want, strings.Join(lines, "\n"))
		}
	}
}

// changed adds changes of a node.
func changed(r *record.Record, node string, s float64, from, to string) {
	r.Events = append(r.Events, view.Event{At: at(s), Seen: at(s), Lane: view.LaneNode, Kind: "node", Subject: node, From: from, To: to, Text: from + " → " + to})
}

// timeline is the report's table of events, as lines.
func timeline(t *testing.T, r *record.Record) string {
	t.Helper()
	_, all, found := strings.Cut(string(write(t, asMarkdown, r)), "## Timeline\n")
	if !found {
		t.Fatal("the report has no timeline")
	}
	all, _, _ = strings.Cut(all, "\n## ")
	return all
}

func TestTheTimelineTellsTheOutageFirst(t *testing.T) {
	r := bare()
	r.Start, r.Events = at(-900), nil
	for i := range 200 {
		changed(r, fmt.Sprintf("old-%d", i), -900+4*float64(i), "Ready", "NotReady")
	}
	changed(r, "k8s2", 20, "Ready", "NotReady")
	counts(r, 21, "6/6", "0/6")
	lines := timeline(t, r)
	for _, want := range []string{"T+00:20.0 | node | k8s2 | Ready → NotReady |", "T+00:21.0 | deployment | web |", "old-199", "There was no room for those before T-"} {
		if !strings.Contains(lines, want) {
			t.Errorf("%q is missing in\n%s", want, lines)
		}
	}
	if strings.Contains(lines, "old-0 ") {
		t.Errorf("the past takes all the room:\n%s", lines)
	}
	for i := range 200 {
		changed(r, fmt.Sprintf("new-%d", i), 25+2*float64(i), "Ready", "NotReady")
	}
	if lines := timeline(t, r); !strings.Contains(lines, "k8s2") || strings.Contains(lines, "old-") || !strings.Contains(lines, "There was no room for those after T+") {
		t.Errorf("the end of an outage is cut, and nothing else:\n%s", lines)
	}
}

func TestEachLineOfTheTimelineHasItsTime(t *testing.T) {
	r := bare()
	for _, x := range []struct {
		s        float64
		node     string
		from, to string
	}{
		{10, "k8s3", "schedulable", "SchedulingDisabled"}, {12, "k8s3", "SchedulingDisabled", "schedulable"},
		{14, "k8s3", "schedulable", "SchedulingDisabled"}, {16, "k8s3", "SchedulingDisabled", "schedulable"},
		{100, "k8s2", "NotReady", "Ready"}, {108, "k8s3", "NotReady", "Ready"},
		{200, "k8s2", "Ready", "NotReady"}, {200.5, "k8s3", "Ready", "NotReady"},
	} {
		changed(r, x.node, x.s, x.from, x.to)
	}
	lines := timeline(t, r)
	for _, want := range []string{"T+00:10.0 | node | k8s3 | schedulable →", "T+00:12.0 | node | k8s3 | SchedulingDisabled →", "T+00:14.0 | node | k8s3 | schedulable →", "T+00:16.0 | node | k8s3 | SchedulingDisabled →",
		"T+01:40.0 | node | k8s2 |", "T+01:48.0 | node | k8s3 |", "T+03:20.0 | node | k8s2, k8s3 | Ready → NotReady (by T+03:20.5) |"} {
		if !strings.Contains(lines, want) {
			t.Errorf("%q is missing in\n%s", want, lines)
		}
	}
}

// A line of the timeline does not cross the beginning of an outage: a rollout before it is one of its own.
func TestTheTimelineTellsARolloutFromTheOutage(t *testing.T) {
	r := bare()
	off(r, 400)
	for s, n := range map[float64][2]string{19.5: {"6", "5"}, 20.3: {"5", "2"}} {
		r.Events = append(r.Events, view.Event{At: at(s), Seen: at(s), Lane: view.LaneEndpoints, Change: cluster.ChangeEndpoints, Subject: "web", From: n[0], To: n[1], Why: "ready", Text: n[0] + " → " + n[1] + " ready"})
	}
	if lines := timeline(t, r); !strings.Contains(lines, "T+00:19.5 | endpoints | web | 6 → 5 ready |") || !strings.Contains(lines, "T+00:20.3 | endpoints | web | 5 → 2 ready |") {
		t.Error(lines)
	}
}

func TestTheTimelineKeepsADip(t *testing.T) {
	for gap, want := range map[float64][]string{
		2:   {"T+00:20.0 | endpoints | web | 6 → 0 ready (by T+00:22.0)", "T+00:24.0 | endpoints | web | 0 → 6 ready (by T+00:26.0)"},
		0.5: {"T+00:20.0 | endpoints | web | 6 → 6 ready, 0 at the lowest (by T+00:21.5)"},
	} {
		r := bare()
		for i, n := range []string{"3", "0", "3", "6"} {
			s, was := 20+gap*float64(i), []string{"6", "3", "0", "3"}[i]
			r.Events = append(r.Events, view.Event{At: at(s), Seen: at(s), Lane: view.LaneEndpoints, Kind: "endpointslice", Change: cluster.ChangeEndpoints,
				Namespace: "default", Subject: "web", From: was, To: n, Why: "ready", Text: was + " → " + n + " ready"})
		}
		lines := timeline(t, r)
		for _, want := range want {
			if !strings.Contains(lines, want) {
				t.Errorf("%q is missing in\n%s", want, lines)
			}
		}
	}
}
