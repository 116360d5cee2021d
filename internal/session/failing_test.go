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
		loadgen.SpellEnds:   "requests sent from now on succeed; before, 14 of 84 failed, the last 40.0 s after the first was sent",
	} {
		e := spellEvent(loadgen.SpellChange{Kind: kind, At: t0, Failures: f, Of: 84}, &r)
		if !strings.Contains(e.Text, want) || !e.At.Equal(t0) || (e.Level == view.Good) != (kind == loadgen.SpellEnds) {
			t.Errorf("%s: %+v, want %q", kind, e, want)
		}
	}
}
