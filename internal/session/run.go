package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/trial/phase"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// RunOptions says how a trial is carried out.
type RunOptions struct {
	// Dir is the folder of the record, which must not hold one yet; empty: a
	// new one below Options.TrialsDir.
	Dir string
	// Driven: each step is taken when the operator says so (NextStep).
	Driven bool
	// Auto answers the question before each power-off with yes where that can
	// be answered without typing; it still refuses what the guards refuse.
	Auto bool
	// KeepOff leaves machines off that the trial leaves off.
	KeepOff bool
	// End ends the engine when the trial is over.
	End bool
}

// run is a trial under way, or the last one that is over. It belongs to the
// engine's loop.
type run struct {
	plan *plan.Plan // nil for one by keyboard
	opt  RunOptions
	name string
	dir  string
	// deployment is what the trial is about.
	deployment cluster.Key
	tracker    *phase.Tracker
	sampler    *record.Sampler
	requests   *record.Requests

	started, zero, ended time.Time
	steps                []*stepRun
	next                 int
	// waiting: a driven trial waits for the operator.
	waiting bool
	// poll says how far the step under way is; nil between steps.
	poll  poll
	doing string
	// stage is where the trial stands; failed and aborted say why it is ending
	// before its steps are over.
	stage   stage
	failed  bool
	aborted bool
	cleanup poll

	loads []*loadRun
	nodes []*nodeRun
	// before and after are the deployment's pods by node.
	before, after map[string]int
	skewRollout   *int
	lowest        *int
	settings      []record.Setting
	server        string
	forecast      []string
	blind         []blindSpan
	verdict       view.Verdict
	why           []string
	expectations  []view.Expectation
	summary       *record.Summary
}

// stage is where a trial stands.
type stage int

const (
	stageSteps   stage = iota // the steps are taken
	stageCleanup              // loads are stopped, machines powered on
	stageOver                 // judged and written
)

// poll looks at something that takes time. It returns done with an error when
// that has failed; doing is one sentence for the operator.
type poll func(now time.Time) (done bool, doing string, err error)

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
	bootID  string // before it was switched off
	off, on power.Reading
	// wantedOff and wantedOn: the trial has asked for it.
	wantedOff, wantedOn bool
	booted              bool
}

// blindSpan is a span without a word from the API server; to is zero while it
// lasts.
type blindSpan struct {
	from, to time.Time
	why      string
}

// running reports whether a trial is under way.
func (e *Engine) running() bool { return e.run != nil && e.run.stage != stageOver }

// startTrial begins a trial. The error is one sentence; nothing has been
// switched or sent then.
func (e *Engine) startTrial(p *plan.Plan, opt RunOptions) error {
	if e.running() {
		return fmt.Errorf("a trial is under way already: %s", e.run.name)
	}
	s := e.snapshot.Load()
	if s == nil || !s.Access[cluster.KindNode].Synced {
		return fmt.Errorf("no trial can be started: the nodes have not been seen yet")
	}
	r := &run{plan: p, opt: opt, name: "by-keyboard", started: e.now()}
	if k := e.focus.Load(); k != nil {
		r.deployment = *k
	}
	if p != nil {
		r.name = p.Name
		if ns, name, ok := strings.Cut(p.Deployment, "/"); ok {
			r.deployment = cluster.Key{Namespace: ns, Name: name}
		}
		if err := checkPlan(p, s, r.deployment); err != nil {
			return err
		}
		for _, st := range p.Steps {
			r.steps = append(r.steps, &stepRun{Step: st, state: view.StepToCome})
		}
	}
	if err := e.openRecord(r); err != nil {
		return err
	}
	if r.deployment != (cluster.Key{}) {
		e.setFocus(r.deployment)
	}
	r.tracker = phase.NewTracker(r.deployment)
	r.before = spread(s, r.deployment)
	e.run = r
	e.tracked.Store(r)
	e.noteSettings(s)
	e.say(view.Event{Lane: view.LaneOperator, Subject: "trial", Text: "trial " + r.name + " started"})
	r.tracker.Look(s, e.now())
	if p != nil {
		e.beginNext()
	}
	return nil
}

// checkPlan finds what the plan names in the cluster.
func checkPlan(p *plan.Plan, s *cluster.Snapshot, deployment cluster.Key) error {
	var names []string
	for _, n := range s.Nodes() {
		if n.Gone.IsZero() {
			names = append(names, n.Name)
		}
	}
	if err := p.CheckNodes(func(name string) bool { return slices.Contains(names, name) }, names); err != nil {
		return err
	}
	if !s.Access[cluster.KindDeployment].Synced {
		return nil
	}
	names = nil
	for _, d := range s.Deployments() {
		if d.Gone.IsZero() {
			names = append(names, d.Key.String())
		}
	}
	if err := p.CheckDeployments(func(name string) bool { return slices.Contains(names, name) }, names); err != nil {
		return err
	}
	if deployment == (cluster.Key{}) {
		return fmt.Errorf("the plan is about no deployment: set deployment in it, or load.deployment in lightsout.yaml")
	}
	return nil
}

// openRecord makes the trial's folder and begins to write into it.
func (e *Engine) openRecord(r *run) error {
	var err error
	if r.dir = r.opt.Dir; r.dir == "" {
		if r.dir, err = record.NewSessionDir(e.opt.TrialsDir, r.started); err != nil {
			return err
		}
	} else if err := record.NewTrialDir(r.dir); err != nil {
		return err
	}
	if r.plan != nil {
		if err := os.WriteFile(filepath.Join(r.dir, record.PlanFile), r.plan.Text, 0o600); err != nil {
			return fmt.Errorf("the record can't be kept: %w", err)
		}
	}
	if r.requests, err = record.NewRequests(filepath.Join(r.dir, record.RequestsFile)); err != nil {
		return err
	}
	if err := e.timeline.Tee(filepath.Join(r.dir, record.EventsFile)); err != nil {
		return err
	}
	r.sampler, err = record.NewSampler(r.dir, e.opt.Render, e.now)
	return err
}

// beginNext begins the step at r.next, or the end of the trial.
func (e *Engine) beginNext() {
	r := e.run
	r.poll, r.doing = nil, ""
	if r.next >= len(r.steps) {
		e.wind()
		return
	}
	st := r.steps[r.next]
	if r.opt.Driven && !plan.Waits(st.Action) {
		r.waiting, r.doing = true, "next: "+st.Text()
		return
	}
	e.takeStep()
}

// takeStep begins the step at r.next.
func (e *Engine) takeStep() {
	r := e.run
	st := r.steps[r.next]
	r.waiting = false
	st.state, st.started = view.StepUnderWay, e.now()
	e.say(view.Event{Lane: view.LaneOperator, Subject: "trial", Text: fmt.Sprintf("step %d of %d: %s", r.next+1, len(r.steps), st.Text())})
	r.poll = e.begin(st)
}

// nextStep is the operator's word to a driven trial.
func (e *Engine) nextStep(step int) {
	if !e.running() || !e.run.waiting || e.run.next != step || len(e.questions) > 0 || e.asking {
		return
	}
	e.takeStep()
}

// advance looks how far the trial is. The loop calls it after each turn.
func (e *Engine) advance() {
	r := e.run
	if r == nil || r.stage == stageOver {
		return
	}
	now := e.now()
	if r.stage == stageCleanup {
		if done, doing, _ := r.cleanup(now); !done {
			r.doing = doing
			return
		}
		e.judge(r)
		return
	}
	for r.poll != nil && r.stage == stageSteps {
		done, doing, err := r.poll(now)
		if !done {
			r.doing = doing
			return
		}
		e.endStep(doing, err)
	}
}

// endStep ends the step under way.
func (e *Engine) endStep(text string, err error) {
	r := e.run
	st := r.steps[r.next]
	st.ended, st.state, st.text = e.now(), view.StepDone, text
	r.poll = nil
	r.next++
	if err == nil {
		e.beginNext()
		return
	}
	st.state, st.text = view.StepFailed, err.Error()
	e.say(view.Event{Lane: view.LaneOperator, Subject: "trial", Text: "step failed: " + st.Text() + ": " + err.Error(), Level: view.Bad})
	r.failed = true
	e.wind()
}

// abortTrial ends the trial at once: loads are stopped and what it switched off
// is powered on.
func (e *Engine) abortTrial(why string) {
	if !e.running() || e.run.aborted {
		return
	}
	r := e.run
	r.aborted = true
	e.say(view.Event{Lane: view.LaneOperator, Subject: "trial", Text: "aborted: " + why, Level: view.Warning})
	e.wind()
}

// endTrial ends a trial by keyboard in order.
func (e *Engine) endTrial(powerOn bool) {
	if !e.running() {
		return
	}
	e.run.opt.KeepOff = e.run.opt.KeepOff || !powerOn
	e.wind()
}

// wind begins the end of the trial: what is still to come is skipped, what runs
// is stopped.
func (e *Engine) wind() {
	r := e.run
	if r.stage != stageSteps && !r.aborted {
		return
	}
	if r.poll != nil && r.next < len(r.steps) {
		st := r.steps[r.next]
		st.state, st.ended = view.StepCut, e.now()
		r.next++
	}
	for _, st := range r.steps {
		if st.state == view.StepToCome {
			st.state = view.StepSkipped
		}
	}
	r.poll, r.waiting, r.stage = nil, false, stageCleanup
	e.leaveDrains()
	r.cleanup = e.tidy(r)
}

// view is what is shown of the trial.
func (r *run) view() *view.TrialView {
	v := &view.TrialView{
		Name: r.name, Dir: r.dir, Free: r.plan == nil, Driven: r.opt.Driven, Waiting: r.waiting,
		Next: r.next, Doing: r.doing, Started: r.started,
		Verdict: r.verdict, Why: r.why, Expectations: r.expectations, Phases: r.tracker.Table(),
	}
	for _, st := range r.steps {
		v.Steps = append(v.Steps, view.StepView{Name: st.Name, Text: st.Text(), State: st.state})
	}
	return v
}

// node returns what the trial keeps of a node, made when missing.
func (r *run) node(name string) *nodeRun {
	for _, n := range r.nodes {
		if n.name == name {
			return n
		}
	}
	n := &nodeRun{name: name}
	r.nodes = append(r.nodes, n)
	return n
}

// spread counts a deployment's pods that are neither lost nor being deleted,
// by node, with zeros for workers that can take pods.
func spread(s *cluster.Snapshot, k cluster.Key) map[string]int {
	if s == nil || s.Deployment(k) == nil {
		return nil
	}
	out := map[string]int{}
	for _, n := range s.Nodes() {
		if n.Gone.IsZero() && n.Ready == cluster.TriTrue && !n.Unschedulable && !n.ControlPlane {
			out[n.Name] = 0
		}
	}
	for _, p := range s.PodsOf(k) {
		if _, ok := out[p.Node]; ok && p.Gone.IsZero() && p.Deleting.IsZero() && p.Ready {
			out[p.Node]++
		}
	}
	return out
}

// skew is the largest minus the smallest number of a spread.
func skew(by map[string]int) int {
	if len(by) == 0 {
		return 0
	}
	first := true
	var lo, hi int
	for _, n := range by {
		if first {
			lo, hi, first = n, n, false
		}
		lo, hi = min(lo, n), max(hi, n)
	}
	return hi - lo
}

// watchTrial keeps what the trial wants to know of a new look at the cluster.
func (e *Engine) watchTrial(s *cluster.Snapshot) {
	r := e.run
	if r == nil || r.stage == stageOver {
		return
	}
	now := e.now()
	r.tracker.Look(s, now)
	r.server = s.ServerVersion
	if s.Link.State == cluster.LinkLive && !r.zero.IsZero() {
		if d := s.Deployment(r.deployment); d != nil && (r.lowest == nil || d.Available < *r.lowest) {
			n := d.Available
			r.lowest = &n
		}
	}
	for _, n := range r.nodes {
		if node := s.Node(n.name); node != nil && n.wantedOn && n.bootID != "" && node.BootID != n.bootID {
			n.booted = true
		}
	}
}

// watchRequest keeps the end of one request. It is called on the loop.
func (e *Engine) watchRequest(rec loadgen.Record) {
	r := e.run
	if r == nil || r.stage == stageOver {
		return
	}
	r.tracker.Request(rec)
	for _, l := range r.loads {
		if l.number == rec.Run {
			l.note(rec)
			return
		}
	}
}

// withTimeout is a context for one call to the outside.
func (e *Engine) withTimeout(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(e.ctx, d)
}
