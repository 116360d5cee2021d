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
	marks := marksOf(r, axisOf(r))
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
