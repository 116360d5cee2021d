package record

import (
	"slices"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// A recording has a marker for each change that a viewer wants to find: one for what happens to many at once.
func TestARecordingHasMarkers(t *testing.T) {
	at := time.Date(2026, 3, 4, 10, 20, 30, 0, time.UTC)
	off := view.Event{Code: view.CodeMachineState, From: power.On.String(), To: power.Off.String()}
	status := func(was, is cluster.Health) view.Event {
		return view.Event{Code: view.CodeNodeStatus, Subject: "n1", Was: was, Is: is}
	}
	evicted := view.Event{Code: view.CodePodStatus, Subject: "web-1", Is: cluster.HealthChanging, Cause: cluster.CauseEvicted}
	deleted := view.Event{Code: view.CodePodStatus, Subject: "web-2", Is: cluster.HealthChanging}
	named := func(e view.Event, name string) view.Event { e.Subject = name; return e }
	observed := 61.5
	var m Moments
	var events []view.Event
	for _, frame := range []struct {
		events []view.Event
		trial  *view.TrialView
		want   []string
	}{
		{[]view.Event{named(off, "n0")}, nil, nil}, // before the recording
		{[]view.Event{named(off, "n1"), named(off, "n2")}, nil, []string{"n1, n2 machine off"}},
		{[]view.Event{status(cluster.HealthGood, cluster.HealthBad), {Code: view.CodeAPILost}}, nil, []string{"n1 NotReady", "API server silent"}},
		{[]view.Event{evicted, evicted, deleted}, nil, []string{"pods evicted", "pods are deleted"}},
		{[]view.Event{status(cluster.HealthBad, cluster.HealthGood), {Code: view.CodeRemark, Facts: view.Facts{Reported: "look here"}}}, nil, []string{"n1 Ready", "look here"}},
		{nil, &view.TrialView{Phases: []view.Phase{{Name: view.PhaseRestored, Observed: &observed}}}, []string{view.PhaseRestored}},
		{nil, &view.TrialView{Phases: []view.Phase{{Name: view.PhaseRestored, Observed: &observed}}, Verdict: view.Pass}, []string{"verdict: pass"}},
	} {
		for _, e := range frame.events {
			e.Seq, e.Seen = len(events)+1, at
			events = append(events, e)
		}
		at = at.Add(time.Second)
		if got := m.In(&view.Frame{Events: events, Trial: frame.trial}); !slices.Equal(got, frame.want) {
			t.Errorf("%q, want %q", got, frame.want)
		}
	}
}
