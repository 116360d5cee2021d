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
// the pods at a time, and until then once a second that nothing changed; contact is when the API
// server answered last.
func countedRun() (r *run, see func(s float64, state cluster.LinkState, contact float64, available, pending int) *cluster.Snapshot) {
	dep := cluster.Key{Namespace: "default", Name: "web"}
	now := zero
	r = &run{t: &Runner{opt: Options{Now: func() time.Time { return now }}}, deployment: dep, zero: zero, started: zero, tracker: phase.NewTracker(dep), nodes: []*nodeRun{{name: "k8s2"}}}
	r.observe(bootOf("a", -1))
	r.tracker.Zero(zero, bootOf("a", -1))
	r.tracker.Switched("k8s2", power.ActionOff, zero)
	var last *cluster.Snapshot
	looks := eachSecond(func(s *cluster.Snapshot) {
		last, now, r.ended = s, s.At, s.At
		r.observe(s)
	})
	return r, func(s float64, state cluster.LinkState, contact float64, available, pending int) *cluster.Snapshot {
		c := cluster.Contents{At: at(s), Link: cluster.Link{State: state, LastContact: at(contact)},
			Deployments: []*cluster.Deployment{{Key: dep, Replicas: 6, Available: available}}}
		for i := range pending {
			c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: fmt.Sprintf("web-%d", i)}, Phase: "Pending"})
		}
		looks(c)
		return last
	}
}

// bootOf is a snapshot in which k8s2 is Ready with that boot.
func bootOf(id string, s float64) *cluster.Snapshot {
	return cluster.NewSnapshot(cluster.Contents{At: at(s), Link: cluster.Link{State: cluster.LinkLive, LastContact: at(s)},
		Nodes: []*cluster.Node{{Name: "k8s2", Ready: cluster.TriTrue, BootID: id, ReadyEndpoints: 1}}})
}

// eachSecond returns a function that shows what it is given to look, and before once a second that
// nothing has changed.
func eachSecond(look func(*cluster.Snapshot)) func(cluster.Contents) {
	var last cluster.Contents
	var sight cluster.Sight
	show := func(c cluster.Contents) {
		sight.Look(cluster.NewSnapshot(c), c.At)
		c.Blind = sight.Spans()
		look(cluster.NewSnapshot(c))
	}
	return func(c cluster.Contents) {
		for !last.At.IsZero() && last.At.Add(time.Second).Before(c.At) {
			if last.At = last.At.Add(time.Second); last.Link.State == cluster.LinkLive {
				last.Link.LastContact = last.At
			}
			show(last)
		}
		last = c
		show(c)
	}
}

// powerOn has the driver asked to power k8s2 on.
func powerOn(r *run, s float64) {
	r.nodes[0].wantedOn = at(s)
	r.tracker.Switched("k8s2", power.ActionOn, at(s))
}

// While the API server does not answer, nobody sees whether pods become unavailable; too few are
// too few.
func TestPodsThatNobodySawAreNotTheLeastAvailable(t *testing.T) {
	t.Parallel()
	six, seven := 6.0, 7.0
	for name, tc := range map[string]struct {
		blind          bool
		x              plan.Expectation
		ok, unobserved bool
		got            string
	}{
		"seen all the time": {x: plan.Expectation{Min: &six}, ok: true, got: "6"},
		"blind":             {blind: true, x: plan.Expectation{Min: &six}, unobserved: true, got: "6, and nobody saw the pods for 350.0 s"},
		"too few anyway":    {blind: true, x: plan.Expectation{Min: &seven}, got: "6, and nobody saw the pods for 350.0 s"},
		"few enough anyway": {blind: true, x: plan.Expectation{Max: &six}, ok: true, got: "6, and nobody saw the pods for 350.0 s"},
	} {
		r, see := countedRun()
		see(1, cluster.LinkLive, 1, 6, 0)
		if tc.blind {
			see(60, cluster.LinkDisconnected, 50, 6, 0)
		}
		s := see(400, cluster.LinkLive, 400, 6, 0)
		tc.x.Measure = "lowest_available"
		lowest, since := r.tracker.Lowest()
		got := judgeExpectation(tc.x, &record.Summary{Zero: zero, Disrupted: since, LowestAvailable: lowest, Blind: record.BlindOf(s, r.offset, r.started, r.ended)})
		if got.OK != tc.ok || got.Unobserved != tc.unobserved || got.Got != tc.got {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The pods that a drain evicts count, and what nobody saw of it: the power-off comes later.
func TestTheLeastAvailableCountsFromTheDrain(t *testing.T) {
	t.Parallel()
	tr := phase.NewTracker(cluster.Key{Namespace: "default", Name: "web"})
	for s, available := range []int{2, 6, 3, 6} { // an old rollout, then a drain
		if s == 1 {
			tr.Disrupted(at(-3))
		}
		tr.Observe(cluster.NewSnapshot(cluster.Contents{Link: cluster.Link{State: cluster.LinkLive}, Deployments: []*cluster.Deployment{{Key: cluster.Key{Namespace: "default", Name: "web"}, Replicas: 6, Available: available}}}), at(float64(s-4)))
	}
	web := cluster.Ref{Kind: cluster.KindDeployment, Key: cluster.Key{Namespace: "default", Name: "web"}}
	for s, available := range map[float64]int{-9: 0, -1: 2} { // the first before the drain, the second within one snapshot
		tr.Changed(cluster.Transition{Subject: web, Change: cluster.ChangeReplicas, Available: available, When: cluster.At(at(s))})
	}
	tr.Zero(zero, bootOf("a", -1))
	lowest, since := tr.Lowest()
	if lowest == nil || *lowest != 2 || !since.Equal(at(-3)) {
		t.Errorf("%v since %v", lowest, since)
	}
	if s := unseen(&record.Summary{Zero: zero, Disrupted: since, Blind: []record.Blind{{From: -9, To: -2}, {From: 1, To: 2}}}); s != 2 {
		t.Errorf("unseen for %v s", s)
	}
}

// The number of pods without a node is that of the first power-on, unless a blind span hides it.
func TestPendingPodsAreThoseOfTheFirstPowerOn(t *testing.T) {
	t.Parallel()
	one := 1
	for name, tc := range map[string]struct {
		blind [2]float64
		want  *int
	}{
		"seen":                  {want: &one},
		"blind at the power-on": {blind: [2]float64{50, 350}},
		"blind until before":    {blind: [2]float64{50, 290}, want: &one},
		"blind afterwards":      {blind: [2]float64{310, 350}, want: &one},
	} {
		r, see := countedRun()
		for s := 1.0; s < 360; s++ {
			state, contact, pending := cluster.LinkLive, s, 1
			if tc.blind[0] < s && s < tc.blind[1] {
				state, contact = cluster.LinkDisconnected, tc.blind[0]
			}
			if s == 300 {
				powerOn(r, s)
			}
			if s > 300 {
				pending = 7
			}
			see(s, state, contact, 6, pending)
		}
		if got := r.sum.Pending; (got == nil) != (tc.want == nil) || got != nil && *got != *tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The forecast of a second outage is not one of the pods that were counted in the first.
func TestTheForecastOfPendingPodsIsThatOfTheFirstOutage(t *testing.T) {
	t.Parallel()
	r, see := countedRun()
	r.sum.PendingForecast = &[2]int{1, 1}
	see(1, cluster.LinkLive, 1, 4, 1)
	powerOn(r, 120)
	r.foretell(at(300))
	if *r.sum.PendingForecast != [2]int{1, 1} {
		t.Errorf("%v", *r.sum.PendingForecast)
	}
}

// The requests between a detection that a blind span hid and its observation are not counted
// as sent after it.
func TestFewFailuresAfterAHiddenDetectionAreNotObserved(t *testing.T) {
	t.Parallel()
	from, at, one := 40.0, 60.0, 1.0
	for hid, name := range map[bool]string{true: "hidden", false: "seen"} {
		p := &plan.Plan{Expect: []plan.Expectation{{Measure: "failed_after_detection", Step: "a", Max: &one}}}
		sum := &record.Summary{Zero: zero, Load: []record.Load{{Step: "a", FailedAfterDetection: new([2]int)}},
			Phases: []view.Phase{{Name: view.PhaseDetected, Subject: "k8s2", Observed: &at}}}
		if hid {
			sum.Phases[0].HiddenFrom = &from
		}
		got := judgeExpectation(p.Expect[0], sum)
		if got.OK == hid || got.Unobserved != hid {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
