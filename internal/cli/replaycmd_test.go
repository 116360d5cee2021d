package cli

import (
	"reflect"
	"strings"
	"testing"

	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/record/examples"
	"lightsout/internal/record/replay"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
)

func TestTheExamplesAreWholeRecords(t *testing.T) {
	if len(examples.Names()) == 0 {
		t.Fatal("there are no examples")
	}
	for _, name := range examples.Names() {
		r, err := openRecord(name)
		if err != nil {
			t.Fatal(err)
		}
		if r.Summary == nil || r.Summary.Verdict != view.Pass || len(r.Torn) > 0 || len(r.Samples) == 0 || r.Zero.IsZero() {
			t.Errorf("%s: torn %q, %d samples, zero %v, summary %+v", name, r.Torn, len(r.Samples), r.Zero, r.Summary)
		}
		today, err := plan.Open(name)
		if then, errThen := plan.Parse(r.Plan); err != nil || errThen != nil || !reflect.DeepEqual(then.Steps, today.Steps) || !reflect.DeepEqual(then.Expect, today.Expect) {
			t.Errorf("%s: the plan is not today's: %v, %v", name, err, errThen)
		}
		if !strings.HasPrefix(r.Summary.Server, "v1.") {
			t.Errorf("%s: the API server's version is %q", name, r.Summary.Server)
		}
		off, notReady := false, false
		for _, l := range r.Lanes {
			for _, s := range l.Spans {
				off = off || s.Kind == outage.SpanOff && !s.To.IsZero()
				notReady = notReady || s.Kind == outage.SpanNotReady && !s.To.IsZero()
			}
		}
		if !off || !notReady {
			t.Errorf("%s: no machine is seen off and on again: %+v", name, r.Lanes)
		}
		if _, err := replay.New(r, replay.Options{}); err != nil {
			t.Error(err)
		}
	}
}

func TestARecordIsPrintedInTheOrderOfItsTimes(t *testing.T) {
	files, _ := examples.Open("vagrant")
	r, err := record.OpenFS(files, "vagrant")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := printRecord(&out, r); err != nil {
		t.Fatal(err)
	}
	last, lines := "", 0
	for line := range strings.Lines(out.String()) {
		at, _, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(at, "22:") {
			break
		}
		if at < last {
			t.Errorf("%s comes after %s", at, last)
		}
		last, lines = at, lines+1
	}
	if strings.Contains(out.String(), " load load ") {
		t.Error("the load is named twice")
	}
	if lines != len(r.Events) || !strings.Contains(out.String(), "\nk8s2 was shut down at 22:50:59 UTC; clients saw errors for 5.5 s (5 requests failed);") {
		t.Errorf("%d lines of %d events:\n%s", lines, len(r.Events), out.String())
	}
}
