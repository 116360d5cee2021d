package trial

import (
	"strings"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/trial/phase"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// A load that sent nothing after the detection proves nothing about later requests; those
// that lightsout ended prove nothing either.
func TestALoadThatSentNothingAfterTheDetectionProvesNothingAboutLater(t *testing.T) {
	t.Parallel()
	observed := 45.0
	for name, tc := range map[string]struct {
		later          []loadgen.Record
		ok, unobserved bool
		got            string
	}{
		"nothing":     {nil, false, true, "not observed: a node was not detected, or no request of this load"},
		"a cancelled": {[]loadgen.Record{request(loadgen.ClassCancelled, 50, 1)}, false, true, "not observed: a node was not detected, or no request of this load"},
		"an ok":       {[]loadgen.Record{request(loadgen.ClassOK, 50, 1)}, true, false, "0"},
		"a failed":    {[]loadgen.Record{request(loadgen.ClassReset, 50, 1)}, false, false, "1"},
	} {
		requests := append([]loadgen.Record{request(loadgen.ClassOK, -5, 1), request(loadgen.ClassReset, 1, 1), request(loadgen.ClassOK, 10, 80)}, tc.later...)
		sum := outage(t, requests...)
		sum.Phases = []view.Phase{{Name: view.PhaseDetected, Subject: "k8s2", Observed: &observed}}
		sum.Outages = loadgen.PowerOffs{{Off: zero, Detected: at(observed)}}
		sum.Load[0].FailedAfterDetection = windowOf(requests...).FailedAfterDetection(sum.Outages)
		got := judgeExpectation(plan.Expectation{Measure: "failed_after_detection", Step: "a", Max: new(float64)}, sum)
		if got.OK != tc.ok || got.Unobserved != tc.unobserved || !strings.HasPrefix(got.Got, tc.got) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// In a trial of several outages, failures between the detection of one and the next power-off
// count too.
func TestFailuresAfterEachDetectionCount(t *testing.T) {
	t.Parallel()
	outages := loadgen.PowerOffs{{Off: at(0), Detected: at(45)}, {Off: at(10), Detected: at(45)}, {Off: at(400), Detected: at(450.5)}, {Off: at(405), Detected: at(450.5)}}
	var requests []loadgen.Record
	for _, s := range []float64{-5, 5, 30, 46, 399, 401, 410, 449, 450.2, 450.7, 451, 600} {
		requests = append(requests, request(loadgen.ClassReset, s, 1))
	}
	if n := windowOf(requests...).FailedAfterDetection(outages); n == nil || *n != [2]int{5, 6} {
		t.Errorf("%v, wanted those at 46, 399, 451 and 600 s, and of the two at 450 s at least one", n)
	}
}

// windowOf is the window of requests.
func windowOf(requests ...loadgen.Record) *loadgen.Window {
	w := loadgen.NewWindow()
	for i := range requests {
		w.Note(&requests[i], zero, zero)
	}
	return w
}

// A load between two outages sends no request during an outage.
func TestALoadBetweenTwoOutagesIsNotObserved(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		from, to   float64
		unobserved bool
	}{{350, 400, true}, {320, 400, false}, {350, 601, false}, {950, 1000, true}} {
		tr := twiceOff()
		for s := tc.from; s < tc.to; s++ {
			tr.Request(request(loadgen.ClassOK, s, 0.1))
		}
		most := 60.0
		sum := &record.Summary{Zero: zero, Outages: tr.Outages(), Phases: tr.Table(), Load: []record.Load{{Step: "x", Failures: record.FailuresOf(tr.Run(1).Window, tr.Outages(), zero), Started: &tc.from, Ended: &tc.to}}}
		if got := judgeExpectation(plan.Expectation{Measure: "error_window", Step: "x", Max: &most}, sum); got.Unobserved != tc.unobserved || got.OK == tc.unobserved {
			t.Errorf("%v to %v s: %+v", tc.from, tc.to, got)
		}
	}
}

// twiceOff is a tracker after k8s2 was off from 0 to 300 s, NotReady from 40 s and Ready again at
// 330 s, and the same from 600 s on.
func twiceOff() *phase.Tracker {
	tr := phase.NewTracker(cluster.Key{})
	see := func(s float64, ready cluster.Tri, boot string) {
		tr.Observe(cluster.NewSnapshot(cluster.Contents{At: at(s), Link: cluster.Link{State: cluster.LinkLive, LastContact: at(s)},
			Nodes: []*cluster.Node{{Name: "k8s2", Ready: ready, BootID: boot, Changed: at(s), ReadySince: at(s)}}}), at(s))
	}
	see(-1, cluster.TriTrue, "a")
	tr.Zero(zero, bootOf("a", -1))
	for i, boots := range [][2]string{{"a", "b"}, {"b", "c"}} {
		off := 600 * float64(i)
		tr.Switched("k8s2", power.ActionOff, at(off))
		see(off+40, cluster.TriUnknown, boots[0])
		tr.Switched("k8s2", power.ActionOn, at(off+300))
		see(off+330, cluster.TriTrue, boots[1])
	}
	return tr
}
