package trial

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/trial/phase"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/power"
)

// stepsOf are the steps of a trial that has switched k8s2 off at zero. see shows it that the
// node is not Ready; contact is when the API server answered last.
func stepsOf() (r steps, set func(s float64), see func(state cluster.LinkState, contact float64)) {
	now := zero
	r = steps{&run{t: &Runner{opt: Options{Now: func() time.Time { return now }}}, tracker: phase.NewTracker(cluster.Key{}), nodes: []*nodeRun{{name: "k8s2"}}}}
	r.tracker.Zero(zero, nil)
	r.tracker.Switched("k8s2", power.ActionOff, zero)
	looks := eachSecond(func(s *cluster.Snapshot) { r.tracker.Observe(s, s.At) })
	return r, func(s float64) { now = at(s) }, func(state cluster.LinkState, contact float64) {
		looks(cluster.Contents{At: now, Link: cluster.Link{State: state, LastContact: at(contact), Err: "connection refused"},
			Nodes: []*cluster.Node{{Name: "k8s2", Ready: cluster.TriUnknown}}})
	}
}

// A wait that ends while lightsout sees nothing proves nothing: the trial is not observed.
// What it saw for minutes after a blind span fails, unless the span can have hidden it for good.
func TestAWaitThatEndsBlindIsNotObserved(t *testing.T) {
	t.Parallel()
	api := `the API server did not answer (connection refused) during the wait for `
	for name, tc := range map[string]struct {
		what        string
		blind, seen float64 // until when lightsout sees nothing, and from when on
		still       bool    // because it did not run
		want        []string
	}{
		"it sees all the time":                     {what: plan.WaitRestored},
		"it sees nothing at the end":               {what: plan.WaitRestored, blind: 24, want: []string{api + `"restored"`}},
		"it has just begun to see":                 {what: plan.WaitRestored, blind: 12, seen: 23, want: []string{api + `"restored"`}},
		"it has seen for long":                     {what: plan.WaitRestored, blind: 3, seen: 4},
		"it has seen for long, but not evictions":  {what: view.PhaseEvicted, blind: 3, seen: 4, want: []string{api + `"evicted"`}},
		"it stood still until shortly before":      {what: plan.WaitRestored, still: true, seen: 23, want: []string{`lightsout itself stood still during the wait for "restored"`}},
		"it stood still, and has seen for a while": {what: plan.WaitRestored, still: true, seen: 11},
	} {
		r, set, see := stepsOf()
		poll := r.Wait(&plan.Wait{For: tc.what, Within: 25 * time.Second})
		set(2)
		see(cluster.LinkLive, 2)
		if tc.blind > 0 {
			set(tc.blind)
			see(cluster.LinkDisconnected, 2)
		}
		set(tc.seen)
		switch live := (cluster.Link{State: cluster.LinkLive, LastContact: at(tc.seen)}); {
		case tc.still:
			r.tracker.Observe(cluster.NewSnapshot(cluster.Contents{At: at(tc.seen), Link: live}), at(tc.seen))
		case tc.seen > 0:
			see(cluster.LinkLive, tc.seen)
		}
		set(26)
		if done, _, err := poll(at(26)); !done || err == nil || !strings.Contains(err.Error(), "not seen within") {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(r.unsteady, tc.want) {
			t.Errorf("%s: %q", name, r.unsteady)
		}
	}
}

// A rollout or drain that fails while lightsout sees nothing is not observed either.
func TestAStepThatFailsWhileLightsoutSeesNothingIsNotObserved(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		blind bool
		err   error
		want  []string
	}{
		"blind":            {true, errors.New("not complete"), []string{"the API server did not answer (connection refused) during the rollout of default/web"}},
		"seeing":           {false, errors.New("not complete"), nil},
		"blind, and it is": {true, nil, nil},
	} {
		r, set, see := stepsOf()
		set(20)
		if tc.blind {
			see(cluster.LinkDisconnected, 2)
		}
		done, doing, err := r.excused("the rollout of default/web", func(time.Time) (bool, string, error) { return true, "doing", tc.err })(at(20))
		if !done || doing != "doing" || err != tc.err || !slices.Equal(r.unsteady, tc.want) {
			t.Errorf("%s: %v %q %v: %q", name, done, doing, err, r.unsteady)
		}
	}
}
