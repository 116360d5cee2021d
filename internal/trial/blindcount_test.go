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
		"too few anyway":    {blind: true, x: plan.Expectation{Min: &seven}, got: "6, and nobody saw the pods for 350.0 s"},
		"few enough anyway": {blind: true, x: plan.Expectation{Max: &six}, ok: true, got: "6, and nobody saw the pods for 350.0 s"},
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

// The requests between a detection that a blind span hid and its observation are not counted
// as sent after it.
func TestFewFailuresAfterAHiddenDetectionAreNotObserved(t *testing.T) {
	t.Parallel()
	from, at, one := 40.0, 60.0, 1.0
	for hid, name := range map[bool]string{true: "hidden", false: "seen"} {
		p := &plan.Plan{Expect: []plan.Expectation{{Measure: "failed_after_detection", Step: "a", Max: &one}}}
		sum := &record.Summary{Zero: zero, Load: []record.Load{{Step: "a", FailedAfterDetection: new(int)}},
			Phases: []view.Phase{{Name: view.PhaseDetected, Subject: "k8s2", Observed: &at}}}
		if hid {
			sum.Phases[0].HiddenFrom = &from
		}
		got := JudgeExpectation(p.Expect[0], sum)
		sum.Expectations = []view.Expectation{got}
		if got.OK == hid || got.Unobserved != hid || unobservedOf(sum) != map[bool]int{true: 1}[hid] {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
