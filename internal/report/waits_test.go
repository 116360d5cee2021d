package report

import (
	"strings"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/power"
)

// rowsOf are the rows of a section, a line each.
func rowsOf(s section) string {
	var rows []string
	for _, row := range s.Rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, c.Text)
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	return strings.Join(rows, "\n")
}

// sees adds a phase that was observed.
func sees(r *record.Record, phase, node string, at float64) {
	r.Summary.Phases = append(r.Summary.Phases, view.Phase{Name: phase, Subject: node, Observed: &at})
}

// falls has a node fall silent, as the recorder notices it, and Kubernetes mark it NotReady.
func falls(r *record.Record, node string, from, detected float64) {
	down(r, node, view.SpanSilent, from+3, 0)
	sign := view.NewEvent(view.CodeOutageSign, node, view.Facts{Sign: view.SignSilent})
	sign.At, sign.Seen = at(from), at(from+3)
	r.Events = append(r.Events, sign)
	sees(r, view.PhaseDetected, node, detected)
}

// Two nodes that go down within a second share a row. Each waited for its own time.
func TestARowOfTwoNodesHasTheWaitOfEach(t *testing.T) {
	for name, tc := range map[string]struct {
		happen func(r *record.Record)
		want   string
	}{
		"the second one falls silent and is detected a second later": {func(r *record.Record) {
			falls(r, "a", 0, 5)
			falls(r, "b", 0.9, 5.9)
		}, "T+00:05.0|marks a, b NotReady|5 s after their last heartbeats|"},
		"the second one falls silent a second later": {func(r *record.Record) {
			falls(r, "a", 0, 3.9)
			falls(r, "b", 1, 3.9)
		}, "T+00:03.9|marks a, b NotReady|2.9–3.9 s after their last heartbeats|"},
		"the second one is detected before the first": {func(r *record.Record) {
			falls(r, "a", 0, 5.5)
			falls(r, "b", 1, 5)
		}, "T+00:05.0|marks a, b NotReady|4–5.5 s after their last heartbeats|"},
		"one of them": {func(r *record.Record) { falls(r, "a", 0, 5) }, "T+00:05.0|marks a NotReady|5 s after its last heartbeat|"},
		"they went down in different ways": {func(r *record.Record) {
			falls(r, "a", 0, 5)
			asks(r, "b", 1, power.ActionOff, power.StageSending)
			down(r, "b", view.SpanOff, 1.5, 0)
			sees(r, view.PhaseDetected, "b", 5.2)
		}, "T+00:05.0|marks a, b NotReady|5 s after its last heartbeat (a), 4.2 s after the power cut (b)|"},
		"nobody knows when one of them went down": {func(r *record.Record) {
			falls(r, "a", 0, 5)
			down(r, "b", view.SpanNotReady, 5.2, 0)
			sees(r, view.PhaseDetected, "b", 5.2)
		}, "T+00:05.0|marks a, b NotReady|5 s after its last heartbeat (a)|"},
		"they are tainted a second apart": {func(r *record.Record) {
			sees(r, view.PhaseTainted, "a", 4)
			sees(r, view.PhaseTainted, "b", 5.5)
			sees(r, view.PhaseEvicted, "a", 24.5)
			sees(r, view.PhaseEvicted, "b", 25.4)
		}, "T+00:24.5|begins to delete the pods on a, b|19.9–20.5 s after the taint|"},
	} {
		r := bare()
		tc.happen(r)
		if got := rowsOf(kubernetesOf(r)); !strings.Contains("\n"+got, "\n"+tc.want) {
			t.Errorf("%s: no %q in\n%s", name, tc.want, got)
		}
	}
}

// Each node of a row has its own reason.
func TestARowOfTwoNodesHasTheReasonOfEach(t *testing.T) {
	r := bare()
	falls(r, "a", 0, 5)
	falls(r, "b", 1, 5.5)
	e := view.NewEvent(view.CodeNodeStatus, "a", view.Facts{})
	e.Cause = cluster.CauseShutdown
	r.Events = append(r.Events, e)
	want := "its kubelet reported that it shuts down: shutdownGracePeriod (unknown) (a); no heartbeat for node-monitor-grace-period (unknown), checked every node-monitor-period (unknown) (b)"
	if got := kubernetesOf(r).Rows[0][3].Text; got != want {
		t.Errorf("got %q", got)
	}
}

// The opening names the time in which all machines of a group lost their power.
func TestMachinesThatGoLateAreOffBetweenTheFirstRequestAndTheLast(t *testing.T) {
	r := bare()
	for node, off := range map[string]float64{"a": 12, "b": 19} {
		asks(r, node, 1, power.ActionOff, power.StageSending)
		down(r, node, view.SpanOff, off, 100)
	}
	if got := strings.Join(opening(r), " "); !strings.HasPrefix(got, "a and b lost power between 08:00:01 and 08:00:19 UTC") {
		t.Errorf("got %q", got)
	}
}

// The phases of a summary are those of the last time that a node went down: the timeline has the
// earlier ones.
func TestANodeThatFlapsHasARowForEachTime(t *testing.T) {
	r := bare()
	status := func(s float64, was, is cluster.Health) {
		e := view.NewEvent(view.CodeNodeStatus, "a", view.Facts{})
		e.At, e.Seen, e.Was, e.Is = at(s), at(s), was, is
		r.Events = append(r.Events, e)
	}
	for _, s := range []float64{0, 60, 120} {
		sign := view.NewEvent(view.CodeOutageSign, "a", view.Facts{Sign: view.SignSilent})
		sign.At, sign.Seen = at(s), at(s+3)
		r.Events = append(r.Events, sign)
		down(r, "a", view.SpanSilent, s+3, s+30)
		status(s+5, cluster.HealthGood, cluster.HealthBad)
		status(s+30, cluster.HealthBad, cluster.HealthGood)
	}
	r.Summary.Unplanned = &record.Unplanned{}
	sees(r, view.PhaseDetected, "a", 125)
	sees(r, view.PhaseReady, "a", 150.4)
	status(170, cluster.HealthGood, cluster.HealthBad) // as a later look shows
	want := []string{
		"T+00:05.0|marks a NotReady|5 s after its last heartbeat", "T+00:30.0|marks a Ready|–",
		"T+01:05.0|marks a NotReady|5 s after its last heartbeat", "T+01:30.0|marks a Ready|–",
		"T+02:05.0|marks a NotReady|5 s after its last heartbeat", "T+02:30.4|marks a Ready|–",
	}
	var got []string
	for _, row := range strings.Split(rowsOf(kubernetesOf(r)), "\n") {
		got = append(got, row[:strings.LastIndex(row, "|")])
	}
	r.Summary.Phases = append(r.Summary.Phases, view.Phase{Name: view.PhaseEvicted, Subject: "a", Note: "there are no pods on a"})
	r.Summary.Phases = append(r.Summary.Phases, view.Phase{Name: view.PhaseReplaced, Subject: "default/web", Note: "no pod was evicted"})
	if s := kubernetesOf(r); len(s.Items) != 2 || s.Items[0].Text != "The last time that a went down, none of its pods was evicted: there are no pods on a." ||
		s.Items[1].Text != "The last time that a node went down, the pods of default/web were not replaced: no pod was evicted." {
		t.Errorf("beside what Kubernetes did: %+v", s.Items)
	}
	if s := phasesOf(r); len(s.Items) != 1 || s.Items[0].Text != "a went down several times: these phases are those of the last time." {
		t.Errorf("beside the phases: %+v", s.Items)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
