package trial

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/power"
)

// Somebody else powers a machine on, for instance with restore in another shell: the reasons do
// not claim that nobody did.
func TestAMachineThatSomebodyElsePoweredOnIsNotOff(t *testing.T) {
	t.Parallel()
	off := "k8s2 was off, but lightsout did not see the control plane notice it"
	for early, want := range map[bool]string{
		true:  "k8s2 booted before the trial powered it on: somebody else powered it on, or it rebooted by itself",
		false: "k8s2 was not powered on again",
	} {
		r, _ := countedRun()
		r.reading("k8s2", power.Reading{State: power.Off, Arrived: at(1)})
		if early {
			r.observe(bootOf("b", 6))
		}
		if got := unobserved(r); !slices.Equal(got, []string{off, want}) {
			t.Errorf("booted early %v: %q", early, got)
		}
	}
}

// A container's boot ID is its host's: a machine that was proven off and whose node is Ready
// again has booted. Without the proof nobody can tell.
func TestABootIDThatNeverChangesIsNoMissingBoot(t *testing.T) {
	t.Parallel()
	const cant = "k8s2 is Ready again, but its boot ID proves no boot and its machine was not proven off: lightsout can't tell whether it booted"
	for _, c := range []struct {
		boot, other string // of k8s2 and of another node
		proof       power.Proof
		want        string
	}{
		{"a", "", power.Proven, ""}, {"a", "", power.Presumed, cant},
		{"a", "a", power.Proven, ""}, {"a", "a", power.Presumed, cant},
		{"", "", power.Proven, ""}, {"", "", power.Presumed, cant},
	} {
		r, _ := countedRun()
		r.reading("k8s2", power.Reading{State: power.Off, Proof: c.proof, RequestedAt: at(1), Arrived: at(2)})
		see := func(s float64, ready cluster.Tri) {
			r.observe(cluster.NewSnapshot(cluster.Contents{At: at(s), Link: cluster.Link{State: cluster.LinkLive, LastContact: at(s)},
				Nodes: []*cluster.Node{{Name: "k8s2", Ready: ready, BootID: c.boot, Changed: at(s), ReadySince: at(s)}, {Name: "k8s3", BootID: c.other}}}))
		}
		see(40, cluster.TriUnknown)
		powerOn(r, 60)
		see(90, cluster.TriTrue)
		if got := strings.Join(unobserved(r), "; "); got != c.want {
			t.Errorf("boot ID %q, another's %q, %s off: %q", c.boot, c.other, c.proof, got)
		}
	}
}

// With --keep-off, a machine that the plan has powered on was powered on, also if the trial ends before
// its node is Ready.
func TestKeepOffDoesNotDenyThatThePlanPoweredAMachineOn(t *testing.T) {
	t.Parallel()
	r, see := countedRun()
	r.ending.keepOff = true
	r.plan = &plan.Plan{}
	r.steps = []*stepRun{{Step: plan.Step{Action: plan.Action{Kind: plan.On, Nodes: []string{"k8s2"}}}, state: view.StepDone}}
	see(1, cluster.LinkLive, 1, 6, 0)
	r.reading("k8s2", power.Reading{State: power.Off, Proof: power.Proven, Arrived: at(2)})
	powerOn(r, 60)
	r.reading("k8s2", power.Reading{State: power.On, Proof: power.Proven, Arrived: at(62)})
	if got := strings.Join(unobserved(r), "; "); strings.Contains(got, "not powered on") {
		t.Errorf("%s", got)
	}
	r.nodes[0].wantedOn = time.Time{}
	if got := strings.Join(unobserved(r), "; "); !strings.Contains(got, "k8s2 was not powered on again") {
		t.Errorf("%s", got)
	}
}

// A deployment that is deleted has no pods left.
func TestADeletedDeploymentHasNoPodsLeft(t *testing.T) {
	t.Parallel()
	r, see := countedRun()
	if got := spared(r); len(got) != 1 || !strings.Contains(got[0], "the outage did not hit it") {
		t.Errorf("no pod of it was on a node that went off: %q", got)
	}
	r.nodes[0].pods = 1
	if got := spared(r); got != nil {
		t.Errorf("a pod of it was: %q", got)
	}
	see(1, cluster.LinkLive, 1, 6, 0)
	r.observe(cluster.NewSnapshot(cluster.Contents{At: at(100), Link: cluster.Link{State: cluster.LinkLive, LastContact: at(100)},
		Deployments: []*cluster.Deployment{{Key: r.deployment, Replicas: 6, Available: 6, Gone: at(100)}}}))
	if n, _ := r.tracker.Lowest(); n == nil || *n != 0 {
		t.Errorf("%v", n)
	}
}

// A node that booted again while lightsout saw neither its machine off nor its node NotReady went
// down all the same.
func TestANodeThatBootedAgainDidGoDown(t *testing.T) {
	t.Parallel()
	r, _ := countedRun()
	r.observe(bootOf("b", 6))
	if got := strings.Join(unobserved(r), "; "); strings.Contains(got, "never went down") || !strings.Contains(got, "k8s2 booted again") {
		t.Errorf("%s", got)
	}
}

// What lightsout did not see proves nothing: the trial is not observed.
func TestAStepThatFailsWhileLightsoutSeesNothingIsNotObserved(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		state view.StepState
		blind record.Blind
		want  int
	}{
		"it fails blind":        {view.StepFailed, record.Blind{From: 15, To: 25}, 1},
		"it is done blind":      {view.StepDone, record.Blind{From: 15, To: 25}, 0},
		"it fails later":        {view.StepFailed, record.Blind{From: 1, To: 9}, 0},
		"lightsout stood still": {view.StepDone, record.Blind{From: 1, To: 9, StoodStill: true}, 1},
		"it did before zero":    {view.StepDone, record.Blind{From: -9, To: -1, StoodStill: true}, 0},
	} {
		step := record.Step{Name: "wait", State: tc.state, Started: at(10), Ended: at(20)}
		if got := hidden(&record.Summary{Zero: zero, Steps: []record.Step{step}, Blind: []record.Blind{tc.blind}}); len(got) != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
