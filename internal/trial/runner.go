package trial

import (
	"context"
	"slices"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/session"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// Options holds the parts of a Runner.
type Options struct {
	// Cluster and Pace stand in the summary; an empty Pace is real.
	Cluster, Pace string
	// Restore is the command that powers on the machines that a trial leaves off, for
	// its summary; empty: none.
	Restore string
	// DryRun and Production are the session's.
	DryRun, Production bool
	// Dir is where the folders of trials are made; Plans are offered to the
	// operator.
	Dir   string
	Plans []*plan.Plan
	// Timeline is the session's; a trial has its events written to its own
	// folder as well.
	Timeline *record.Timeline
	// Load is the session's generator; nil when no load can be sent.
	Load *loadgen.Generator
	// Names are replaced in the record of a trial; nil: none.
	Names *record.Names
	// Claim keeps other trials from the cluster until end is called. The error is why this one can't have it.
	Claim func() (end func(), err error)
	// Begin is called before the record of a trial begins, so that another one ends.
	Begin func()
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// RunOptions controls how a trial runs.
type RunOptions struct {
	// Dir is the folder of the record, which must not hold one yet; empty: a
	// new one below Options.Dir.
	Dir string
	// Driven: the trial takes each step at the operator's request (NextStep).
	Driven bool
	// Auto answers the question before each power-off with yes, if that takes no
	// typing; a refusal of the guards stays a refusal.
	Auto bool
	// KeepOff leaves machines off that the trial leaves off.
	KeepOff bool
	// End ends the session when the trial is over.
	End bool
}

// Runner runs trials in a session, as its guest: see session.Guest. Start and
// Outcome are its own.
type Runner struct {
	opt  Options
	s    session.Controls
	run  *run // the trial under way, or the last one that is over
	kept []string
	// loads are those that may still be running, of trials or not.
	loads []*loadRun
	ended record.Ended // in the record of the run under way

	refused error // why the last trial was not started
}

// NewRunner makes a Runner for a session.
func NewRunner(s session.Controls, opt Options) *Runner {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Runner{opt: opt, s: s}
}

// Start starts a trial; a nil plan is a trial by keyboard. If it cannot start, Outcome
// or the screen reports the reason. Start never blocks, and is safe for concurrent use.
func (t *Runner) Start(p *plan.Plan, opt RunOptions) {
	t.s.Post(func() {
		err := t.start(p, opt)
		switch {
		case err == nil:
		case opt.End: // the caller of Start reports it
			t.refused = err
			t.s.End()
		default:
			t.s.Warn(view.LaneOperator, "trial", err.Error())
		}
	})
}

// Check is why Start would refuse the plan now; nil if it would not. It is safe for concurrent use.
func (t *Runner) Check(ctx context.Context, p *plan.Plan) error {
	found := make(chan error, 1)
	t.s.Post(func() {
		r, err := newRun(t, p, RunOptions{})
		if err == nil {
			r.end()
		}
		found <- err
	})
	select {
	case err := <-found:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Kept lists the folders of the session's trials, oldest first. It must not be called before the
// session has ended.
func (t *Runner) Kept() []string { return t.kept }

// Outcome is the result of the newest trial: its summary once it has been judged and
// the folder of its record, or why it was not started. It must not be called
// before the session has ended.
func (t *Runner) Outcome() (sum *record.Summary, dir string, refused error) {
	if t.run != nil {
		sum, dir = t.run.summary, t.run.dir
	}
	return sum, dir, t.refused
}

// Running reports whether a trial is under way.
func (t *Runner) Running() bool { return t.run != nil && t.run.ending.stage != stageOver }

// Record keeps a request in the trial's own record. Safe for use by several
// goroutines.
func (t *Runner) Record(q loadgen.Record) bool { return t.ended.Record(q) }

// keep begins to keep transitions and requests for r. All requests that are scheduled after
// r.started will be in its record.
func (t *Runner) keep(r *run) {
	t.ended.Change(func() func(loadgen.Record) {
		r.started = t.opt.Now()
		return r.requests.Add
	})
}

// rest ends keep, and follows exactly the requests in the record of r: those that end later
// are in flight.
func (t *Runner) rest(r *run) {
	r.follow(t.ended.Change(func() func(loadgen.Record) {
		r.open = r.inFlight()
		return nil
	}))
}

// Handle handles what happens in the session.
func (t *Runner) Handle(e session.Event) {
	if t.Running() {
		t.run.handle(e)
	}
	switch e := e.(type) {
	case session.Draining:
		t.did(view.AskNodes{Act: view.ActDrain, Nodes: e.Nodes})
	case session.LoadStarted:
		t.loadStarted(e.Number, e.Spec)
	case session.Did:
		t.did(e.Intent)
	case session.Asked:
		t.intent(e.Intent)
	case session.TurnOver: // advances the trial
		if t.Running() {
			t.run.advance()
		}
	}
}

// loadStarted accounts for a load by keyboard.
func (t *Runner) loadStarted(number int, spec loadgen.Spec) {
	l := &loadRun{step: spec.Text(), number: number}
	t.loads = append(t.running(t.loads), l)
	if !t.Running() {
		return
	}
	r := t.run
	l.step = r.unique(spec.Text())
	r.loads = append(r.loads, l)
	r.tracker.FailsWithin(t.opt.Load.FailsWithin(spec))
	if r.plan == nil {
		r.addNamed(plan.Action{Kind: plan.Load, Spec: spec, Background: spec.Shape != loadgen.Burst}, l.step)
	}
}

// running returns those of the loads that are not at rest, in a slice of the caller's own.
func (t *Runner) running(all []*loadRun) []*loadRun {
	return slices.DeleteFunc(slices.Clone(all), func(l *loadRun) bool { return !t.opt.Load.Result(l.number).Ended.IsZero() })
}

// did turns an action of the operator by keyboard into a step.
func (t *Runner) did(i view.Intent) {
	if !t.Running() || t.run.plan != nil || t.run.ending.stage != stageSteps {
		return
	}
	switch i := i.(type) {
	case view.StopLoad:
		t.run.addStep(plan.Action{Kind: plan.Stop, Step: "all"})
	case view.AskNodes:
		a := plan.Action{Kind: plan.Kind(i.Act), Nodes: i.Nodes}
		if i.Act == view.ActDrain {
			a.Within = plan.DrainWithin
		}
		t.run.addStep(a)
	case view.AskRollout:
		t.run.addStep(plan.Action{Kind: plan.Rollout, Deployment: i.Deployment.String()})
	}
}

// intent carries out the operator's intents about trials.
func (t *Runner) intent(i view.Intent) {
	switch i := i.(type) {
	case view.AskTrial:
		t.ask()
	case view.NextStep:
		if t.Running() && t.run.waiting() && t.run.next == i.Step {
			t.run.takeStep()
		}
	case view.AbortTrial:
		if t.Running() {
			t.run.abort(i.Why)
		}
	}
}

// Show adds the trial to a frame.
func (t *Runner) Show(f *view.Frame) {
	if t.run != nil {
		t.run.show(f)
	}
}

// WillUncordon reports whether a step to come uncordons the node.
func (r *run) WillUncordon(node string) bool {
	return slices.ContainsFunc(r.steps, func(st *stepRun) bool {
		return st.Action.Kind == plan.Uncordon && st.state == view.StepToCome && slices.Contains(st.Action.Nodes, node)
	})
}

// End judges what there is when the session ends.
func (t *Runner) End() {
	if t.Running() {
		t.run.ending.begin(aborted)
		t.run.conclude()
	}
}

// start begins a trial. The error is one sentence; nothing has been switched or
// sent then.
func (t *Runner) start(p *plan.Plan, opt RunOptions) error {
	r, err := newRun(t, p, opt)
	if err != nil {
		return err
	}
	t.opt.Begin()
	if err := r.openRecord(); err != nil {
		r.end()
		return err
	}
	t.run, t.kept = r, append(t.kept, r.dir)
	t.keep(r)
	t.s.TakeSteps(r)
	r.begin(t.s.Snapshot())
	return nil
}
