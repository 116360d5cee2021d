package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

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
		r, err := new(options).openRecord(name)
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
		for _, s := range r.Summary.Settings {
			if d, err := time.ParseDuration(s.Value); err == nil && s.Value != fmt.Sprintf("%gs", d.Seconds()) {
				t.Errorf("%s: a new record has %s of %s in seconds: compare would tell a difference", name, s.Name, s.Value)
			}
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
		if !strings.HasPrefix(at, "04:") {
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
	if lines != len(r.Events) || !strings.Contains(out.String(), "\nk8s2 was shut down at 04:07:17 UTC, down for 30 s (lightsout asked for power-on at 04:07:43). 2 of 62 requests of lightsout to http://10.0.0.10:31514/ (rate of 2 a second) sent meanwhile failed, within 4 s: 2 ×") {
		t.Errorf("%d lines of %d events:\n%s", lines, len(r.Events), out.String())
	}
}

// A name that records prints at the end of a path is a record below the state folder, the newest of that name.
func TestARecordIsFoundByTheNameOfItsFolder(t *testing.T) {
	state := t.TempDir()
	dir := filepath.Join(state, "lab", "trials", "20261130T031300Z")
	example, _ := examples.Open("vagrant")
	if err := os.CopyFS(dir, example); err != nil {
		t.Fatal(err)
	}
	var o options
	o.State = state
	if r, err := o.openRecord("20261130T031300Z"); err != nil || r.Dir != dir {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := o.openRecord("20261130"); err == nil || !strings.Contains(err.Error(), "there is no record 20261130:") {
		t.Errorf("another name: %v", err)
	}
}
