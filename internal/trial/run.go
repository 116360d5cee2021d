package trial

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/clock"
	"lightsout/internal/record"
	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/internal/trial/phase"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/power"
)

// poll checks something that takes time.
type poll = session.Progress

// run is a trial under way, or the last one that is over. It belongs to the
// session's loop.
type run struct {
	t    *Runner
	s    session.Controls
	plan *plan.Plan // nil for one by keyboard
	opt  RunOptions
	name string
	dir  string
	end  func() // as of Options.Claim
	// deployment is the trial's deployment.
	deployment cluster.Key
	// lacked are the workloads that lacked pods when it began.
	lacked []cluster.Ref
	// elsewhere is until when the operator had selected another deployment, which the gauge measures
	// then; zero: never.
	elsewhere time.Time
	// clock notices when the wall clock is set.
	clock    clock.Steps
	tracker  *phase.Tracker
	sampler  *record.Sampler
	health   record.Health
	requests *record.Requests

	started, zero, ended time.Time
	steps                []*stepRun
	next                 int
	// poll returns the progress of the present step, or its end; nil between steps.
	poll   poll
	doing  string
	ending ending
	// unsteady reports the nodes that were down before they were switched off.
	unsteady []string

	loads []*loadRun
	// open are the requests in flight when it ended, by the generator's runs.
	open  map[int]int
	nodes []*nodeRun
	// sum is what is known for the summary, and summary is that with the verdict; nil before.
	sum     record.Summary
	summary *record.Summary
}

// stepRun is a step and how it went.
type stepRun struct {
	plan.Step
	state          view.StepState
	started, ended time.Time
	text           string
}

// nodeRun is a node whose machine the trial has switched.
type nodeRun struct {
	name    string
	machine string
	// pods is how many pods of the trial's deployment it had whenever its machine was asked to go off.
	pods int
	// on is the newest reading that it is on again.
	on power.Reading
	// wantedOn is when the trial asked for that; zero: not since it was switched off.
	wantedOn time.Time
}

// newRun makes a trial that has the cluster, without the files of its record. The error is why it cannot begin.
func newRun(t *Runner, p *plan.Plan, opt RunOptions) (*run, error) {
	if t.Running() {
		return nil, fmt.Errorf("a trial is under way already: %s", t.run.name)
	}
	s := t.s.Snapshot() // from now on there always is one
	if s == nil || !s.Access[cluster.KindNode].Synced {
		return nil, fmt.Errorf("no trial can be started: lightsout has not seen the nodes yet")
	}
	for _, kind := range []cluster.Kind{cluster.KindPod, cluster.KindDeployment, cluster.KindEndpointSlice} {
		if s.Unread(kind) {
			return nil, fmt.Errorf("no trial can be started yet: lightsout is %s; try again when it has them all", s.Access[kind].Reading(kind))
		}
	}
	end, err := t.opt.Claim() // before what another trial does to the nodes is judged
	if err != nil {
		return nil, fmt.Errorf("no trial of this cluster can begin: %w", err)
	}
	r := &run{t: t, s: t.s, plan: p, opt: opt, end: end, name: "by-keyboard", started: t.opt.Now(), deployment: t.s.Focus(), ending: ending{keepOff: opt.KeepOff}}
	if p != nil {
		r.name, r.deployment = p.Name, deploymentOf(p.Deployment, r.deployment)
		if err := cmp.Or(checkStart(p, s, r.deployment), checkMachines(p, t.s), checkUp(p.Nodes(), t.s, r.started)); err != nil {
			end()
			return nil, err
		}
		r.steps = text.Each(p.Steps, func(st plan.Step) *stepRun { return &stepRun{Step: st, state: view.StepToCome} })
	}
	r.lacked, r.tracker = lacking(s), phase.NewTracker(r.deployment)
	return r, nil
}

// deploymentOf parses the name of a deployment; an empty name means instead.
func deploymentOf(name string, instead cluster.Key) cluster.Key {
	if ns, name, ok := strings.Cut(name, "/"); ok {
		return cluster.Key{Namespace: ns, Name: name}
	}
	return instead
}

// begin begins the trial.
func (r *run) begin(s *cluster.Snapshot) {
	if r.deployment != (cluster.Key{}) {
		r.s.Do(view.SetFocus{Deployment: r.deployment})
	}
	r.sum.SkewStart = podsByNode(s, r.deployment)
	r.sum.Settings = forecast.Settings(s, r.deployment)
	r.s.Say(view.NewEvent(view.CodeTrialStarted, "trial", view.Facts{Name: r.name}))
	r.tracker.Down(r.s.Down())
	r.tracker.Observe(s, r.now())
	if r.plan != nil {
		r.s.WantKubelets(r.plan.Nodes()...)
		r.beginNext()
	}
}

func (r *run) now() time.Time { return r.t.opt.Now() }

// beginNext begins the step at r.next, or the end of the trial.
func (r *run) beginNext() {
	r.poll, r.doing = nil, ""
	if r.next >= len(r.steps) {
		r.finish(inOrder)
		return
	}
	st := r.steps[r.next]
	if r.opt.Driven && !st.Action.Waits() {
		r.doing = "next: " + st.Text()
		return
	}
	r.takeStep()
}

// waiting reports whether a driven trial waits for the operator.
func (r *run) waiting() bool { return r.opt.Driven && r.ending.stage == stageSteps && r.poll == nil }

// takeStep begins the step at r.next.
func (r *run) takeStep() {
	st := r.steps[r.next]
	st.state, st.started = view.StepUnderWay, r.now()
	r.s.Say(view.NewEvent(view.CodeTrialStep, "trial", view.Facts{N: r.next + 1, Of: len(r.steps), Name: st.Text()}))
	r.poll = steps{r}.begin(st.Step)
}

// advance looks how far the trial is.
func (r *run) advance() {
	now := r.now()
	for r.poll != nil && r.ending.stage != stageOver {
		switch done, doing, err := r.poll(now); {
		case !done:
			r.doing = doing
			return
		case r.ending.stage == stageCleanup:
			r.conclude()
		default:
			r.endStep(doing, err)
		}
	}
}

// endStep ends the step under way.
func (r *run) endStep(text string, err error) {
	st := r.steps[r.next]
	st.ended, st.state, st.text = r.now(), view.StepDone, text
	r.poll = nil
	r.next++
	if err == nil {
		r.beginNext()
		return
	}
	st.state, st.text = view.StepFailed, err.Error()
	r.s.Say(view.NewEvent(view.CodeTrialStepFailed, "trial", view.Facts{Name: st.Text(), Reported: err.Error()}))
	if errors.Is(err, errNo) {
		r.finish(aborted)
		return
	}
	r.finish(stepFailed)
}

// abort ends the trial at once: it stops loads and powers on the machines that the
// trial switched off.
func (r *run) abort(why string) {
	if r.ending.stage == stageOver {
		return
	}
	if r.ending.outcome == aborted {
		r.s.Warn(view.LaneOperator, "trial", fmt.Sprintf("lightsout is aborting the trial %s already: %s", r.name, r.doing))
		return
	}
	r.s.Say(view.NewEvent(view.CodeTrialAborted, "trial", view.Facts{Reported: why}))
	r.ending.why = why
	r.finish(aborted)
}

// finish starts the end of the trial: it skips the steps left and stops the running
// ones.
func (r *run) finish(o outcome) {
	cut := r.ending.stage == stageSteps && r.poll != nil
	if !r.ending.begin(o) {
		return
	}
	if cut {
		st := r.steps[r.next]
		st.state, st.ended = view.StepCut, r.now()
		r.next++
		r.ending.where = fmt.Sprintf(" at %s in step %d (%s)", text.Offset(st.ended.Sub(cmp.Or(r.zero, r.started)), true), r.next, st.Name)
	}
	for _, st := range r.steps {
		if st.state == view.StepToCome {
			st.state = view.StepSkipped
		}
	}
	r.s.TakeSteps(nil)
	r.s.LeaveDrains()
	r.poll = cleanUp(r)
}
