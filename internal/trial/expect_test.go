package trial

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/trial/phase"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// outage is a trial in which only the requests matter: off at zero, on at 100.
func outage(t *testing.T, requests ...loadgen.Record) *record.Summary {
	t.Helper()
	tr := phase.NewTracker(cluster.Key{})
	tr.Zero(zero, bootOf("a", -1))
	tr.Switched("k8s2", power.ActionOff, zero)
	tr.Switched("k8s2", power.ActionOn, at(100))
	sum := &record.Summary{Zero: zero, Load: []record.Load{{Step: "a"}}}
	for _, r := range requests {
		tr.Request(r)
	}
	sum.Phases, sum.Load[0].Failures = tr.Table(), record.FailuresOf(tr.Run(1).Window, tr.Outages(), zero)
	return sum
}

var zero = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

func at(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }

func request(class loadgen.Class, sent, took float64) loadgen.Record {
	return loadgen.Record{Run: 1, Class: class, Scheduled: at(sent), Sent: at(sent), End: at(sent + took)}
}

// When clients hang through the outage, the error window lasts as long as they hang,
// and the trial fails even if the plan sets no bound.
func TestATrialFailsIfClientsHungThroughTheOutage(t *testing.T) {
	t.Parallel()
	sum := outage(t, request(loadgen.ClassTruncated, -1, 85), request(loadgen.ClassTruncated, -2, 106), request(loadgen.ClassOK, 165, 1))
	five := 5.0
	got := judgeExpectation(plan.Expectation{Measure: "error_window", Step: "a", Max: &five}, sum)
	if got.OK || got.Got != "104 s, 2 requests; 2 in flight at zero: 2 failed (2 truncated)" {
		t.Errorf("error window: %+v", got)
	}
	p := &plan.Plan{}
	if why, _ := shortcomings(p, sum); len(why) != 1 || !strings.Contains(why[0], "a: 1 hung through the outage (1 failed (1 truncated))") {
		t.Errorf("why: %+v", why)
	}
	p.Expect = []plan.Expectation{{Measure: "hung", Step: "a", Max: new(float64)}}
	if why, _ := shortcomings(p, sum); why != nil {
		t.Errorf("although the plan bounds them: %+v", why)
	}
	if got := judgeExpectation(p.Expect[0], sum); got.OK || got.Got != "1" {
		t.Errorf("hung: %+v", got)
	}
}

// What is known of a measure is an interval: it meets bounds within which it lies, misses those outside
// which it lies, and otherwise nobody observed which.
func TestAMeasureIsAnInterval(t *testing.T) {
	t.Parallel()
	f := func(v float64) *float64 { return &v }
	forecast := &[2]float64{47, 58}
	out := func(observed, hiddenFrom *float64) record.Summary {
		return record.Summary{Zero: zero, Ended: at(100), Phases: []view.Phase{{Name: view.PhaseEndpointsOut, Subject: "k8s2", Predicted: forecast, Observed: observed, HiddenFrom: hiddenFrom}}}
	}
	blind := func(sum record.Summary, spans ...record.Blind) record.Summary {
		sum.Blind = spans
		return sum
	}
	predicted := plan.Expectation{Measure: "endpoints_out", Predicted: true}
	within := func(min, max *float64) plan.Expectation {
		return plan.Expectation{Measure: "endpoints_out", Min: min, Max: max}
	}
	hidden, never := out(f(50), f(4)), out(nil, nil)
	foreseen, unforeseen := out(f(50), nil), out(f(50), nil)
	unforeseen.Phases[0].Predicted = nil
	precise := out(f(58), nil)
	precise.Phases[0].Inside = new(bool)
	three := 3
	for name, tc := range map[string]struct {
		x    plan.Expectation
		sum  record.Summary
		want string // yes, no, or ? if nobody observed which
	}{
		"seen in its forecast":                   {predicted, foreseen, "yes"},
		"seen outside it":                        {predicted, out(f(62), nil), "no"},
		"seen with no forecast":                  {predicted, unforeseen, "no"},
		"outside it by more precise times":       {predicted, precise, "no"},
		"hidden, perhaps before the forecast":    {predicted, hidden, "?"},
		"hidden within it":                       {predicted, out(f(57), f(48)), "yes"},
		"hidden, at least 40 s":                  {within(f(40), nil), hidden, "?"},
		"hidden, at least 60 s":                  {within(f(60), nil), hidden, "no"},
		"hidden, at least 3 s":                   {within(f(3), nil), hidden, "yes"},
		"hidden, at most 60 s":                   {within(nil, f(60)), hidden, "yes"},
		"hidden, at most 3 s":                    {within(nil, f(3)), hidden, "no"},
		"never until the end, at most 90 s":      {within(nil, f(90)), never, "no"},
		"never until the end, at most 110 s":     {within(nil, f(110)), never, "?"},
		"never, and the forecast is over":        {predicted, never, "no"},
		"never, and nobody watched from 20 s on": {within(nil, f(90)), blind(never, record.Blind{From: 20, To: 60}), "?"},
		"never, and nobody watched before zero":  {within(nil, f(90)), blind(never, record.Blind{From: -60, To: -58}), "no"},
		"what is shown is what is judged":        {within(nil, f(3)), out(f(3.04), nil), "yes"},
		"no row":                                 {within(nil, f(90)), record.Summary{}, "?"},
		"pending pods that nobody counted":       {plan.Expectation{Measure: "pending", Max: f(2)}, record.Summary{}, "?"},
		"pending pods without a forecast":        {plan.Expectation{Measure: "pending", Predicted: true}, record.Summary{Pending: &three}, "no"},
		"as many pending pods as forecast":       {plan.Expectation{Measure: "pending", Predicted: true}, record.Summary{Pending: &three, PendingForecast: &[2]int{3, 4}}, "yes"},
		"more pending pods than forecast":        {plan.Expectation{Measure: "pending", Predicted: true}, record.Summary{Pending: &three, PendingForecast: &[2]int{0, 0}}, "no"},
		"few available pods that nobody saw":     {plan.Expectation{Measure: "lowest_available", Min: f(2)}, blind(record.Summary{LowestAvailable: &three}, record.Blind{From: 5, To: 60}), "?"},
		"a ledger without requests":              {plan.Expectation{Measure: "balanced", Min: f(1), Max: f(1)}, record.Summary{}, "?"},
		"an estimated peak":                      {plan.Expectation{Measure: "peak_served", Step: "a", Min: f(2)}, record.Summary{Load: []record.Load{{Step: "a", PeakServed: 3, Basis: "estimated"}}}, "?"},
	} {
		got := judgeExpectation(tc.x, &tc.sum)
		if is := map[[2]bool]string{{true, false}: "yes", {false, false}: "no", {false, true}: "?"}[[2]bool{got.OK, got.Unobserved}]; is != tc.want {
			t.Errorf("%s: %q, wanted %q: %s", name, is, tc.want, got.Got)
		}
	}
	if got := judgeExpectation(predicted, &precise); !strings.Contains(got.Got, "more exactly 58.000 s of ") {
		t.Errorf("rounded, it lies inside: %q", got.Got)
	}
	if got := judgeExpectation(within(nil, f(60)), &hidden); got.Got != "k8s2 between 4.0 s and 50.0 s" {
		t.Errorf("%q", got.Got)
	}
}

// A connect timeout long after requests have succeeded again does not extend an error
// window, and has a bound of its own.
func TestALaterFailureHasABoundOfItsOwn(t *testing.T) {
	t.Parallel()
	requests := []loadgen.Record{request(loadgen.ClassTotal, 2, 3), request(loadgen.ClassTotal, 50, 3), request(loadgen.ClassConnectTimeout, 137, 3)}
	for s := 53.0; s < 137; s++ {
		requests = append(requests, request(loadgen.ClassOK, s, 0.1))
	}
	sum := outage(t, requests...)
	sixty, one := 60.0, 1.0
	for _, tc := range []struct {
		x   plan.Expectation
		got string
		ok  bool
	}{
		{plan.Expectation{Measure: "error_window", Max: &sixty}, "51 s, 2 requests; 1 failed later, from 137.0 s to 140.0 s", true},
		{plan.Expectation{Measure: "later_failures", Max: &one}, "1", true},
		{plan.Expectation{Measure: "later_failures", Max: new(float64)}, "1", false},
		{plan.Expectation{Measure: "error_window", Predicted: true}, "51 s, 2 requests, the last ended at 53.0 s, with no forecast; 1 failed later, from 137.0 s to 140.0 s", false},
	} {
		tc.x.Step = "a"
		if got := judgeExpectation(tc.x, sum); got.Got != tc.got || got.OK != tc.ok {
			t.Errorf("%s: %+v, want %q %v", tc.x.Want(), got, tc.got, tc.ok)
		}
	}
	for _, p := range sum.Phases {
		if p.Name == view.PhaseErrors && (*p.From != 2 || *p.Observed != 53 || p.Note != "2 failed; 1 failed later, from 137.0 s to 140.0 s") {
			t.Errorf("the phase: %v to %v, %s", *p.From, *p.Observed, p.Note)
		}
	}
}

// A service that goes down again after the power-on has later failures: nobody saw them end if it
// never returns, and otherwise the trial fails unless its plan bounds them.
func TestAServiceThatGoesDownAfterThePowerOnFailsTheTrial(t *testing.T) {
	t.Parallel()
	requests := []loadgen.Record{request(loadgen.ClassReset, 5, 0.1)}
	for s := 1.0; s < 400; s++ {
		class := loadgen.ClassOK
		if s >= 104 {
			class = loadgen.ClassRefused
		}
		requests = append(requests, request(class, s, 0.1))
	}
	five, most := 5.0, 296.0
	window, later := plan.Expectation{Measure: "error_window", Step: "a", Max: &five}, plan.Expectation{Measure: "later_failures", Step: "a", Max: &most}
	sum := outage(t, requests...)
	if got := judgeExpectation(window, sum); got.OK || !got.Unobserved || !strings.Contains(got.Got, "no 10 s of success followed") {
		t.Errorf("it never returns: %+v", got)
	}
	sum = outage(t, append(requests, request(loadgen.ClassOK, 460, 0.1))...)
	if got := judgeExpectation(window, sum); !got.OK {
		t.Errorf("it returns: %+v", got)
	}
	why, _ := shortcomings(&plan.Plan{Expect: []plan.Expectation{window}}, sum)
	if len(why) != 1 || why[0] != "a: after requests had succeeded again, 296 failed from 104.0 s to 399.1 s; to accept that, expect later_failures: {max: 296} of this step" {
		t.Errorf("why: %+v", why)
	}
	if why, _ := shortcomings(&plan.Plan{Expect: []plan.Expectation{window, later}}, sum); why != nil {
		t.Errorf("although the plan bounds them: %+v", why)
	}
}

// A load that ended at zero, or whose requests lightsout ended, proves nothing about an outage that
// went on. The requests of a burst are judged although it has ended.
func TestALoadThatEndedDuringTheOutageProvesNothing(t *testing.T) {
	t.Parallel()
	started, early, late := -60.0, 0.05, 130.0
	ok, cancelled := request(loadgen.ClassOK, -1, 1.05), request(loadgen.ClassCancelled, 60, 9)
	const ended, none = "this load did not go on through the outage", "no request of this load succeeded or failed during the outage"
	for name, tc := range map[string]struct {
		request  loadgen.Record
		shape    loadgen.Shape
		ended    *float64
		detected float64
		returned float64
		got      string
	}{
		"a rate that ended at zero":          {ok, loadgen.Rate, &early, 40, 120, ended},
		"nothing was seen to return":         {ok, loadgen.Hold, &early, 40, 0, ended},
		"nor to be detected":                 {ok, loadgen.Hold, &early, 0, 0, ended},
		"a rate that ended after the return": {ok, loadgen.Rate, &late, 40, 120, ""},
		"or after the detection":             {ok, loadgen.Rate, &late, 40, 0, ""},
		"a rate that goes on":                {ok, loadgen.Rate, nil, 40, 120, ""},
		"a burst in flight at zero":          {ok, loadgen.Burst, &early, 40, 120, ""},
		"a cancelled request":                {cancelled, loadgen.Rate, &late, 40, 120, none},
	} {
		sum := outage(t, tc.request)
		sum.Outages = loadgen.PowerOffs{{Off: zero, On: at(100)}}
		if tc.detected > 0 {
			sum.Outages[0].Detected = at(tc.detected)
		}
		if tc.returned > 0 {
			sum.Outages[0].Returned = at(tc.returned)
		}
		l := &sum.Load[0]
		l.Started, l.Ended = &started, tc.ended
		if tc.request.Class == loadgen.ClassCancelled {
			l.Cancelled = 1
		}
		l.Steady, l.FailedAfterDetection = tc.shape != loadgen.Burst, new([2]int)
		if got := judgeExpectation(plan.Expectation{Measure: "failed_after_detection", Step: "a", Max: new(float64)}, sum); got.OK != (tc.got != none) {
			t.Errorf("%s: failed after detection: %+v", name, got)
		}
		for _, measure := range []string{"error_window", "hung", "later_failures"} {
			got := judgeExpectation(plan.Expectation{Measure: measure, Step: "a", Max: new(float64)}, sum)
			if got.OK != (tc.got == "") || got.Unobserved == got.OK || tc.got != "" && got.Got != "not observed: "+tc.got {
				t.Errorf("%s: %s: %+v", name, measure, got)
			}
		}
	}
}

// A trial that ended before its last step can miss a bound, and meets none that it could still have missed.
func TestATrialThatEndedEarlyMeetsNoBoundThatItCouldStillMiss(t *testing.T) {
	t.Parallel()
	three, six := 3., 6.
	for name, tc := range map[string]struct {
		x       plan.Expectation
		ended   *float64 // the load
		n       int
		ok, not bool
	}{
		"few failed":               {x: plan.Expectation{Measure: "failed", Step: "a", Max: &three}, not: true},
		"too many failed":          {x: plan.Expectation{Measure: "failed", Step: "a", Max: &three}, n: 4},
		"a load that was over":     {x: plan.Expectation{Measure: "failed", Step: "a", Max: &three}, ended: new(5.), ok: true},
		"a load that was stopped":  {x: plan.Expectation{Measure: "failed", Step: "a", Max: &three}, ended: new(11.), not: true},
		"enough requests were ok":  {x: plan.Expectation{Measure: "ok", Step: "a", Min: &three}, n: 3, ok: true},
		"no error window":          {x: plan.Expectation{Measure: "error_window", Step: "a", Max: &three}, not: true},
		"pods that were available": {x: plan.Expectation{Measure: "lowest_available", Min: &six}, n: 6, not: true},
		"too few pods":             {x: plan.Expectation{Measure: "lowest_available", Min: &six}, n: 5},
		"pending pods":             {x: plan.Expectation{Measure: "pending", Max: &six}, n: 3, not: true},
	} {
		sum := &record.Summary{Zero: zero, Started: at(-9), LowestAvailable: &tc.n, Pending: &tc.n, Steps: []record.Step{{State: view.StepCut, Ended: at(10)}, {State: view.StepSkipped}},
			Load: []record.Load{{Step: "a", Ended: tc.ended, Counts: loadgen.Counts{Failed: tc.n, OK: tc.n}}}}
		if got := judgeExpectation(tc.x, sum); got.OK != tc.ok || got.Unobserved != tc.not {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A near name of a worker is suggested before that of a control-plane node, which no plan can switch off.
func TestAWorkerIsSuggested(t *testing.T) {
	t.Parallel()
	s := cluster.NewSnapshot(cluster.Contents{Nodes: []*cluster.Node{{Name: "k8s1", ControlPlane: true}, {Name: "k8s2"}}})
	p := &plan.Plan{Steps: []plan.Step{{Action: plan.Action{Kind: plan.Off, Nodes: []string{"k8s9"}}}}}
	if err := CheckPlan(p, s, cluster.Key{}); err == nil || !strings.Contains(err.Error(), `did you mean "k8s2"?`) {
		t.Error(err)
	}
}

// A trial that ended before its last step does not show how its plan would have left the pods.
func TestTheSkewOfATrialThatWasCutShortIsNotObserved(t *testing.T) {
	t.Parallel()
	most := 2.0
	for state, unobserved := range map[view.StepState]bool{view.StepDone: false, view.StepSkipped: true, view.StepCut: true} {
		sum := &record.Summary{Skew: map[string]int{"a": 3, "b": 0}, Steps: []record.Step{{Name: "rollout", State: state}}}
		if got := judgeExpectation(plan.Expectation{Measure: "skew", Max: &most}, sum); got.OK || got.Unobserved != unobserved {
			t.Errorf("%s: %+v", state, got)
		}
	}
}

// A load of which most requests were not sent does not show that few failed.
func TestALoadOfUnsentRequestsProvesNothing(t *testing.T) {
	t.Parallel()
	most, one := 5.0, 1.0
	for name, tc := range map[string]struct {
		unsent int
		x      plan.Expectation
		got    string
		ok     bool
	}{
		"most":                       {5000, plan.Expectation{Measure: "error_window", Max: &most}, "0 s, none failed, and lightsout did not send 5000 of the 5040 requests that were due", false},
		"most, and few may fail":     {5000, plan.Expectation{Measure: "failed", Max: &most}, "0, and lightsout did not send 5000 of the 5040 requests that were due", false},
		"few":                        {1, plan.Expectation{Measure: "error_window", Max: &most}, "0 s, none failed", true},
		"most, and none hung":        {5000, plan.Expectation{Measure: "hung", Max: new(float64)}, "0, and lightsout did not send 5000 of the 5040 requests that were due", false},
		"most, and enough were sent": {5000, plan.Expectation{Measure: "sent", Min: &one}, "40", true},
	} {
		requests := []loadgen.Record{request(loadgen.ClassUnsent, 1, 0)}
		requests[0].Count = tc.unsent
		for range 40 {
			requests = append(requests, request(loadgen.ClassOK, 28, 1))
		}
		sum := outage(t, requests...)
		l := &sum.Load[0]
		l.Sent, l.Counts = 40, loadgen.Counts{Scheduled: 40 + tc.unsent, OK: 40, Unsent: tc.unsent}
		tc.x.Step = "a"
		if got := judgeExpectation(tc.x, sum); got.Got != tc.got || got.OK != tc.ok || got.Unobserved == tc.ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Nobody saw an error window end if the load ended while all requests failed; a load that
// sent nothing during the outage proves nothing about it.
func TestAnUnseenEndOfTheErrorWindowIsNotObserved(t *testing.T) {
	t.Parallel()
	max, none, hour := 20.0, 0.0, 3600.0
	window := plan.Expectation{Measure: "error_window", Step: "a", Max: &max}
	before, failing := request(loadgen.ClassOK, -5, 1), request(loadgen.Class5xx, 1, 0.1)
	every := func(nth int, until float64) (out []loadgen.Record) { // of one a second
		for s := 1.0; s <= until; s++ {
			class := loadgen.ClassOK
			if int(s)%nth == 1 && s > 0 {
				class = loadgen.Class5xx
			}
			out = append(out, request(class, s, 0.1))
		}
		return out
	}
	for name, c := range map[string]struct {
		requests       []loadgen.Record
		expect         plan.Expectation
		ok, unobserved bool
		got            string
	}{
		"the service stays away":    {[]loadgen.Record{before, failing, request(loadgen.Class5xx, 8, 0.1)}, window, false, true, "no 10 s of success followed"},
		"it stays away for long":    {[]loadgen.Record{before, failing, request(loadgen.Class5xx, 80, 0.1)}, window, false, false, "no 10 s of success followed"},
		"it returns":                {[]loadgen.Record{before, failing, request(loadgen.ClassOK, 62, 0.1)}, window, true, false, "0.1 s"},
		"others are answered later": {[]loadgen.Record{before, request(loadgen.ClassReset, 1, 7), request(loadgen.ClassOK, 1, 57)}, window, false, true, "no 10 s of success followed"},
		"no request meanwhile":      {[]loadgen.Record{before}, window, false, true, "during the outage"},
		"and none hung":             {[]loadgen.Record{before}, plan.Expectation{Measure: "hung", Step: "a", Max: &none}, false, true, "during the outage"},
		"every third fails":         {every(3, 60), window, false, false, "no 10 s of success followed"},
		"every third, for a while":  {every(3, 18), window, false, true, "no 10 s of success followed"},
		"and then none":             {append(every(3, 18), every(100, 80)...), window, true, false, "15"},
		"all ok":                    {[]loadgen.Record{before, request(loadgen.ClassOK, 8, 0.1)}, window, true, false, "none failed"},
		"none was forecast":         {[]loadgen.Record{before, request(loadgen.ClassOK, 8, 0.1)}, plan.Expectation{Measure: "error_window", Step: "a", Predicted: true}, true, false, "none failed, and no failure was forecast"},
	} {
		got := judgeExpectation(c.expect, outage(t, c.requests...))
		if got.OK != c.ok || got.Unobserved != c.unobserved || !strings.Contains(got.Got, c.got) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	sum, back := outage(t, request(loadgen.ClassOK, 200, 1)), 150.0
	sum.Outages, sum.Load[0].Started = loadgen.PowerOffs{{Off: zero, Returned: at(back)}}, &hour
	if got := judgeExpectation(window, sum); !got.Unobserved {
		t.Errorf("a load that began after the return: %+v", got)
	}
	two := 2.0
	sum.Load[0].Hung = &loadgen.Counts{Scheduled: 2, Cancelled: 2}
	if got := judgeExpectation(plan.Expectation{Measure: "hung", Step: "a", Max: &two}, sum); !got.OK || got.Got != "2" {
		t.Errorf("and hung: %+v", got)
	}
}

// A phase that nobody observed is not observed, one that came late a miss.
func TestPhasesThatNobodyObservedAreNotMissed(t *testing.T) {
	t.Parallel()
	late, sixty := 70.0, 60.0
	ready := func(observed *float64) view.Phase {
		return view.Phase{Name: view.PhaseReady, Subject: "k8s2", Observed: observed}
	}
	for _, tc := range []struct {
		what   string
		phases []view.Phase
		got    string
		unseen bool
	}{
		{"no row", nil, "not observed", true},
		{"a row that nobody observed", []view.Phase{ready(nil)}, "k8s2 not observed", true},
		{"another one came late", []view.Phase{ready(nil), ready(&late)}, "k8s2 not observed; k8s2 at 70.0 s", false},
	} {
		x := plan.Expectation{Measure: "ready", Max: &sixty}
		if e := judgeExpectation(x, &record.Summary{Phases: tc.phases}); e.OK || e.Got != tc.got || e.Unobserved != tc.unseen {
			t.Errorf("%s: %+v", tc.what, e)
		}
	}
}
