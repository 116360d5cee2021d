package session

import (
	"strings"
	"testing"
	"time"

	"lightsout/loadgen"
)

func TestSpellsOfFailuresAreTold(t *testing.T) {
	t0 := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	var f failing
	request := func(at float64, class loadgen.Class, took float64) string {
		sent := t0.Add(time.Duration(at * float64(time.Second)))
		e, ok := f.note(loadgen.Record{Class: class, Scheduled: sent, Sent: sent, End: sent.Add(time.Duration(took * float64(time.Second)))})
		if !ok {
			return ""
		}
		return e.Text
	}
	for _, step := range []struct {
		at    float64
		class loadgen.Class
		took  float64
		want  string
	}{
		{0, loadgen.ClassOK, 0.1, ""},
		{1, loadgen.ClassTotal, 3, "begin to fail: total timeout"},
		{1.5, loadgen.ClassOK, 0.1, ""}, // half of them succeed all the time
		{2, loadgen.ClassTotal, 3, ""},
		{4.9, loadgen.ClassOK, 0.1, ""}, // sent before the last failure was known
		{5, loadgen.ClassCancelled, 1, ""},
		{5.1, loadgen.ClassOK, 0.1, "succeed again: 2 failed that were sent within 1.0 s"},
		{6, loadgen.ClassOK, 0.1, ""},
		{7, loadgen.ClassReset, 0.1, "begin to fail: reset"},
	} {
		got := request(step.at, step.class, step.took)
		if (step.want == "") != (got == "") || !strings.Contains(got, step.want) {
			t.Errorf("at %g s, %s: %q, want %q", step.at, step.class, got, step.want)
		}
	}
}
