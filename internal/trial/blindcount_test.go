package trial

import (
	"fmt"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/trial/phase"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/power"
)

// countedRun is a trial that has switched k8s2 off at zero. see shows it the deployment and
// the pods at a time; contact is when the API server answered last.
func countedRun() (r *run, see func(s float64, state cluster.LinkState, contact float64, available, pending int)) {
	dep := cluster.Key{Namespace: "default", Name: "web"}
	now := zero
	r = &run{t: &Runner{opt: Options{Now: func() time.Time { return now }}}, deployment: dep, zero: zero, started: zero, tracker: phase.NewTracker(dep), nodes: []*nodeRun{{name: "k8s2", wantedOff: true}}}
	r.comparison.running, r.pings.running = true, true
	r.comparison.r, r.pings.r = r, r
	r.tracker.Zero(zero, nil)
	r.tracker.Switched("k8s2", power.ActionOff, zero)
	return r, func(s float64, state cluster.LinkState, contact float64, available, pending int) {
		now = at(s)
		r.ended = now
		c := cluster.Contents{At: now, Link: cluster.Link{State: state, LastContact: at(contact)},
			Deployments: []*cluster.Deployment{{Key: dep, Replicas: 6, Available: available}}}
		for i := range pending {
			c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: fmt.Sprintf("web-%d", i)}, Phase: "Pending"})
		}
		r.observe(cluster.NewSnapshot(c))
	}
}

// powerOn has the driver asked to power k8s2 on.
func powerOn(r *run, s float64) {
	r.nodes[0].wantedOn = true
	phase.Agreed(r.tracker, "k8s2", at(s))
	r.tracker.PowerOnSent("k8s2", at(s))
}

// While the API server does not answer, nobody sees whether pods become unavailable. A
// stall hides nothing, and too few are too few.
func TestPodsThatNobodySawAreNotTheLeastAvailable(t *testing.T) {
	t.Parallel()
	six, seven := 6.0, 7.0
	for name, tc := range map[string]struct {
		blind          bool
		stall          time.Duration
		x              plan.Expectation
		ok, unobserved bool
		got            string
	}{
		"seen all the time": {x: plan.Expectation{Min: &six}, ok: true, got: "6"},
		"blind":             {blind: true, x: plan.Expectation{Min: &six}, unobserved: true, got: "6, and nobody saw the pods for 350.0 s"},
		"too few anyway":    {blind: true, x: plan.Expectation{Min: &seven}, got: "6"},
		"few enough anyway": {blind: true, x: plan.Expectation{Max: &six}, ok: true, got: "6"},
		"stalled":           {stall: 3 * time.Second, x: plan.Expectation{Min: &six}, ok: true, got: "6"},
	} {
		r, see := countedRun()
		see(1, cluster.LinkLive, 1, 6, 0)
		if tc.blind {
			see(60, cluster.LinkDisconnected, 50, 6, 0)
		}
		if tc.stall > 0 {
			r.tracker.Stalled(at(50), at(50).Add(tc.stall))
		}
		see(400, cluster.LinkLive, 400, 6, 0)
		tc.x.Measure = "lowest_available"
		got := JudgeExpectation(tc.x, &record.Summary{Zero: zero, LowestAvailable: r.lowest, Blind: blindSpans(r)})
		if got.OK != tc.ok || got.Unobserved != tc.unobserved || got.Got != tc.got {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The number of pods without a node counts at the first power-on request: a blind span then
// hides it, an earlier or a later one does not.
func TestPendingPodsThatNobodyCountedAtThePowerOnAreNotObserved(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		live bool // again before the power-on
		got  string
	}{
		"blind at the power-on":           {false, notObserved},
		"blind until before, and long on": {true, "1"},
	} {
		r, see := countedRun()
		see(1, cluster.LinkLive, 1, 6, 0)
		see(60, cluster.LinkDisconnected, 50, 6, 0)
		if tc.live {
			see(290, cluster.LinkLive, 290, 6, 1)
		}
		see(300, map[bool]cluster.LinkState{true: cluster.LinkLive, false: cluster.LinkDisconnected}[tc.live], 50, 6, 1)
		powerOn(r, 300)
		see(350, cluster.LinkDisconnected, 340, 6, 1)
		see(400, cluster.LinkLive, 400, 6, 0)
		got := JudgeExpectation(plan.Expectation{Measure: "pending", Max: new(float64)}, &record.Summary{Zero: zero, Pending: r.pending.seen(r), Blind: blindSpans(r)})
		if got.OK || got.Got != tc.got || got.Unobserved != !tc.live {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The API server's answer takes 2 s when the machine is powered on: the watches deliver
// afterwards what changed.
func TestAStallAtThePowerOnFailsNoTrial(t *testing.T) {
	t.Parallel()
	r, see := countedRun()
	r.pendingForecast = &[2]int{1, 1}
	for s := 1.0; s <= 120; s++ {
		see(s, cluster.LinkLive, s, 4, 1)
	}
	powerOn(r, 120)
	r.tracker.Stalled(at(119.5), at(119.5).Add(2*time.Second))
	see(122, cluster.LinkLive, 122, 4, 1)
	sum := &record.Summary{Pending: r.pending.seen(r), PendingForecast: r.pendingForecast, Blind: blindSpans(r)}
	if got := JudgeExpectation(plan.Expectation{Measure: "pending", Predicted: true}, sum); !got.OK {
		t.Errorf("%+v", got)
	}
}

// A stall at the power-on, or one that ended between the last count and the power-on, hides
// pods that lose their node: the watches deliver them after it.
func TestPodsThatAStallHidAtThePowerOnAreNotObserved(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ends    float64 // the stall, which began at 117.5 s
		later   []int   // pods without a node that each snapshot after it shows
		pending *int
	}{
		"other pods after it":              {122.5, []int{4}, nil},
		"the same, and others at once":     {122.5, []int{0, 4}, nil},
		"the same pods after it":           {122.5, []int{0}, new(int)},
		"no snapshot after it":             {122.5, nil, nil},
		"it ends shortly before, others":   {118.9, []int{4}, nil},
		"it ends shortly before, the same": {118.9, []int{0}, new(int)},
	} {
		r, see := countedRun()
		for s := 1.0; s <= 118; s++ {
			see(s, cluster.LinkLive, min(s, 117.5), 4, 0)
		}
		powerOn(r, 119)
		see(119.1, cluster.LinkLive, 117.5, 4, 0)
		r.tracker.Stalled(at(117.5), at(tc.ends))
		for i, n := range tc.later {
			see(122.6+float64(i)/10, cluster.LinkLive, 122.6, 4, n)
		}
		for s := 130.0; s < 140 && tc.later != nil; s++ { // the pods have nodes again, which is no matter
			see(s, cluster.LinkLive, s, 6, 1)
		}
		if got := r.pending.seen(r); (got == nil) != (tc.pending == nil) || got != nil && *got != *tc.pending {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// At the power-on, the scheduler may not have found a node yet for pods that replace evicted ones,
// and some may not exist yet: those that it finds none for within 2 s count.
func TestPendingPodsOfThePowerOnSettle(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ at, soon, later, want int }{{4, 0, 0, 0}, {1, 4, 0, 4}, {4, 4, 2, 4}} {
		r, see := countedRun()
		for s := 1.0; s < 120; s++ {
			see(s, cluster.LinkLive, s, 4, 0)
		}
		see(120, cluster.LinkLive, 120, 4, tc.at)
		powerOn(r, 120.1)
		see(120.3, cluster.LinkLive, 120.3, 4, tc.soon)
		see(125, cluster.LinkLive, 125, 4, tc.later)
		if got := r.pending.seen(r); got == nil || *got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

// An operation under way can delay a power-on that was agreed to: pods that lose their node
// until the driver is asked count.
func TestPendingPodsCountUntilThePowerOnIsSent(t *testing.T) {
	t.Parallel()
	r, see := countedRun()
	see(300, cluster.LinkLive, 300, 6, 0)
	r.nodes[0].wantedOn = true
	phase.Agreed(r.tracker, "k8s2", at(300.5))
	see(350, cluster.LinkLive, 350, 4, 4)
	r.tracker.PowerOnSent("k8s2", at(360))
	see(400, cluster.LinkLive, 400, 6, 0)
	if got := r.pending.seen(r); got == nil || *got != 4 {
		t.Errorf("%v", got)
	}
}

// The forecast of a second outage is not one of the pods that were counted in the first.
func TestTheForecastOfPendingPodsIsThatOfTheFirstOutage(t *testing.T) {
	t.Parallel()
	r, see := countedRun()
	r.pendingForecast = &[2]int{1, 1}
	see(1, cluster.LinkLive, 1, 4, 1)
	powerOn(r, 120)
	r.foretell(at(300))
	if *r.pendingForecast != [2]int{1, 1} {
		t.Errorf("%v", *r.pendingForecast)
	}
}

// A blind span hid when a phase happened: if it may have been in time, the trial does not fail;
// if it was certainly late, the trial fails.
func TestATrialFailsByNoPhaseThatABlindSpanHid(t *testing.T) {
	t.Parallel()
	late := 62.0
	p := &plan.Plan{Expect: []plan.Expectation{{Measure: "endpoints_out", Predicted: true}, {Measure: "detected", Predicted: true}}}
	for verdict, detected := range map[view.Verdict]float64{view.NotObserved: 50, view.Fail: 60} {
		inside := detected < 58
		sum := &record.Summary{Phases: []view.Phase{
			{Name: view.PhaseEndpointsOut, Subject: "k8s2", Predicted: &[2]float64{47, 58}, Observed: &late, Hidden: true},
			{Name: view.PhaseDetected, Subject: "k8s2", Predicted: &[2]float64{47, 58}, Observed: &detected, Inside: &inside},
		}}
		for _, x := range p.Expect {
			sum.Expectations = append(sum.Expectations, JudgeExpectation(x, sum))
		}
		if got, want := hidden(p, sum) == len(Shortcomings(p, sum)), verdict == view.NotObserved; got != want {
			t.Errorf("%s: %q", verdict, Shortcomings(p, sum))
		}
	}
}

// Only a blind span that hid what an expectation is about makes a trial that fails not
// observed.
func TestABlindSpanExcusesOnlyWhatItHid(t *testing.T) {
	t.Parallel()
	late, bound, three, two := 400.0, 350.0, 3, 2.0
	hiddenOn3 := view.Phase{Name: view.PhaseEndpointsOut, Subject: "k8s3", Observed: &late, Hidden: true}
	never := view.Phase{Name: view.PhaseEndpointsOut, Subject: "k8s2", Note: "the node was back before"}
	before, within, stall := record.Blind{From: -60, To: -58}, record.Blind{From: 5, To: 60}, record.Blind{From: 5, To: 8, Stalled: true}
	for name, tc := range map[string]struct {
		x      plan.Expectation
		sum    record.Summary
		hidden bool
	}{
		"the phase of a node":                      {plan.Expectation{Measure: "endpoints_out", Subject: "k8s3", Max: &bound}, record.Summary{Phases: []view.Phase{never, hiddenOn3}}, true},
		"that of another node":                     {plan.Expectation{Measure: "endpoints_out", Subject: "k8s2", Max: &bound}, record.Summary{Phases: []view.Phase{never, hiddenOn3}}, false},
		"of all nodes, and one's never came":       {plan.Expectation{Measure: "endpoints_out", Max: &bound}, record.Summary{Phases: []view.Phase{never, hiddenOn3}}, false},
		"pending pods":                             {plan.Expectation{Measure: "pending", Max: &two}, record.Summary{Blind: []record.Blind{within}}, true},
		"pending pods, by a stall":                 {plan.Expectation{Measure: "pending", Max: &two}, record.Summary{Blind: []record.Blind{stall}}, true},
		"pending pods, but before zero":            {plan.Expectation{Measure: "pending", Max: &two}, record.Summary{Blind: []record.Blind{before}}, false},
		"pending pods, which had no forecast":      {plan.Expectation{Measure: "pending", Predicted: true}, record.Summary{Pending: &three, Blind: []record.Blind{within}}, false},
		"available pods":                           {plan.Expectation{Measure: "lowest_available", Min: &two}, record.Summary{LowestAvailable: &three, Blind: []record.Blind{within}}, true},
		"available pods of no deployment":          {plan.Expectation{Measure: "lowest_available", Min: &two}, record.Summary{Blind: []record.Blind{before, stall}}, false},
		"the skew at the end":                      {plan.Expectation{Measure: "skew", Max: &two}, record.Summary{Blind: []record.Blind{within}}, true},
		"the skew before a rollout that never was": {plan.Expectation{Measure: "skew_before_rollout", Max: &two}, record.Summary{Blind: []record.Blind{within}}, false},
	} {
		p := &plan.Plan{Expect: []plan.Expectation{tc.x}}
		tc.sum.Zero = zero
		tc.sum.Expectations = []view.Expectation{JudgeExpectation(tc.x, &tc.sum)}
		if got := tc.sum.Expectations[0]; got.OK || !got.Unobserved {
			t.Errorf("%s: %+v", name, got)
		}
		if got := hidden(p, &tc.sum) == len(Shortcomings(p, &tc.sum)); got != tc.hidden {
			t.Errorf("%s: hidden %v", name, got)
		}
	}
}

// The requests between a detection that a blind span hid and its observation are not counted
// as sent after it.
func TestFewFailuresAfterAHiddenDetectionAreNotObserved(t *testing.T) {
	t.Parallel()
	from, at, one := 40.0, 60.0, 1.0
	for hid, name := range map[bool]string{true: "hidden", false: "seen"} {
		p := &plan.Plan{Expect: []plan.Expectation{{Measure: "failed_after_detection", Step: "a", Max: &one}}}
		sum := &record.Summary{Zero: zero, Load: []record.Load{{Step: "a", FailedAfterDetection: new(int), Failures: record.Failures{Unasked: new(bool)}}},
			Phases: []view.Phase{{Name: view.PhaseDetected, Subject: "k8s2", Observed: &at, Hidden: hid}}}
		if hid {
			sum.Phases[0].HiddenFrom = &from
		}
		got := JudgeExpectation(p.Expect[0], sum)
		sum.Expectations = []view.Expectation{got}
		if got.OK == hid || got.Unobserved != hid || hidden(p, sum) != map[bool]int{true: 1}[hid] {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
