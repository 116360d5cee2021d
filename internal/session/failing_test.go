package session

import (
	"strings"
	"testing"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

func TestTheTimelineReportsSpellsOfFailures(t *testing.T) {
	t.Parallel()
	t0 := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	f := loadgen.Failures{N: 14, First: t0, Last: t0.Add(37 * time.Second), Ended: t0.Add(40 * time.Second)}
	r := loadgen.Record{Class: loadgen.ClassReset, Error: "it was cut"}
	for kind, want := range map[loadgen.SpellKind]string{
		loadgen.SpellBegins: "begin to fail: reset (it was cut)",
		loadgen.SpellPart:   "some of the requests fail: 14 of 84",
		loadgen.SpellEnds:   "requests succeed again; before, 14 of 84 failed within 40.0 s",
	} {
		e := spellEvent(loadgen.SpellChange{Kind: kind, At: t0, Failures: f, Of: 84}, &r)
		if !strings.Contains(e.Text, want) || !e.At.Equal(t0) || (e.Level == view.Good) != (kind == loadgen.SpellEnds) {
			t.Errorf("%s: %+v, want %q", kind, e, want)
		}
	}
}

// A burst of 12 beside requests that hung for minutes at a dead node: "0 % (0 of 12
// failed)" stood on the timeline.
func TestTheTimelineReportsNoFailuresIfThereAreNone(t *testing.T) {
	t.Parallel()
	t0 := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r, err := NewRecordWriter("", func() time.Time { return t0 })
	if err != nil {
		t.Fatal(err)
	}
	ended := func(sent, took float64, class loadgen.Class) {
		at := func(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }
		r.Request(loadgen.Record{Class: class, Scheduled: at(sent), Sent: at(sent), End: at(sent + took)})
	}
	ended(0, 90, loadgen.ClassReset)
	ended(4, 90, loadgen.ClassTruncated)
	for i := range 12 {
		ended(91+float64(i), 0.5, loadgen.ClassOK)
	}
	ended(89, 20, loadgen.ClassReset)
	events := r.Timeline().Since(0)
	if len(events) == 0 {
		t.Error("there is no event")
	}
	for _, e := range events {
		if e.Code != view.CodeRequestsFail && (e.N == 0 || strings.Contains(e.Text, "(0 of")) {
			t.Errorf("%+v", e)
		}
	}
}
