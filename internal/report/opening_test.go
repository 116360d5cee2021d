package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"lightsout/internal/record"
)

func TestARecordThatBreaksOffAnywhere(t *testing.T) {
	whole := example(t, "mdx")
	for s := 1; s < 75; s += 7 {
		r := *whole
		r.Summary, r.Torn, r.End = nil, []string{"there is no summary"}, whole.Start.Add(time.Duration(s)*time.Second)
		var x []record.Sample
		for _, sample := range whole.Samples {
			if !sample.At.After(r.End) {
				x = append(x, sample)
			}
		}
		r.Samples = x
		var lanes []record.Lane
		for _, l := range whole.Lanes {
			cut := record.Lane{Node: l.Node}
			for _, o := range l.Spans {
				if o.From.Before(r.End) {
					if o.To.After(r.End) {
						o.To = r.End
					}
					cut.Spans = append(cut.Spans, o)
				}
			}
			lanes = append(lanes, cut)
		}
		r.Lanes = lanes
		got := strings.Join(opening(&r, FactsOf(&r)), " ")
		if !strings.HasSuffix(got, "and so is how the requests in flight ended.") {
			t.Errorf("after %d s: %s", s, got)
		}
		if s > 30 && s < 45 && !strings.Contains(got, "kube-node3 and kube-node4 were still off when the record ended") {
			t.Errorf("after %d s: %s", s, got)
		}
	}
}

func TestTheOpeningOfARedactedRecord(t *testing.T) {
	r := bare()
	signAPI(r, 20)
	loseAPI(r, 20, 46)
	want := strings.Join(opening(r, FactsOf(r)), " ")
	names := record.NewNames()
	names.Add(record.NameNamespace, "api", "sign", "lost", "server", "answers")
	names.Add(record.NameHost, "outage", "local")
	b, err := json.Marshal(r.Events)
	if err != nil {
		t.Fatal(err)
	}
	r.Events = nil
	if err := json.Unmarshal(names.JSON(b), &r.Events); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(opening(r, FactsOf(r)), " "); got != want || !strings.Contains(got, "gave lightsout no answer") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
