package session

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// Bounds of what a plan leaves open.
const (
	rolloutWithin = 10 * time.Minute
	// returnWithin bounds the wait for nodes that are powered on at the end.
	returnWithin = 10 * time.Minute
	// restWithin is how long requests in flight are waited for at the end,
	// before they are cancelled.
	restWithin = time.Minute
)

// failNow is a step that fails at once.
func failNow(err error) poll {
	return func(time.Time) (bool, string, error) { return true, "", err }
}

// begin begins a step.
func (e *Engine) begin(st *stepRun) poll {
	switch a := st.Action.(type) {
	case *plan.Load:
		return e.beginLoad(st.Name, a)
	case *plan.Off:
		return e.beginSwitch(view.AskPower{Action: a.How, Nodes: a.Nodes}, a.Within)
	case *plan.On:
		return e.beginSwitch(view.AskPower{Action: power.ActionOn, Nodes: a.Nodes}, a.Within)
	case *plan.Wait:
		return e.beginWait(a)
	case *plan.Cordon:
		return e.beginCordon(a.Nodes)
	case *plan.Drain:
		return e.beginDrain(a)
	case *plan.Uncordon:
		return e.beginUncordon(a.Nodes)
	case *plan.Rollout:
		return e.beginRollout(a)
	case *plan.Stop:
		return e.beginStop(a.Step)
	case *plan.Pause:
		until := e.now().Add(a.For)
		return func(now time.Time) (bool, string, error) {
			left := until.Sub(now)
			return left <= 0, fmt.Sprintf("pause: %s left", text.Span(max(0, left))), nil
		}
	}
	return failNow(errors.New("the step does nothing"))
}

// beginLoad starts a load step.
func (e *Engine) beginLoad(name string, load *plan.Load) poll {
	spec := load.Spec
	if load.Timeout > 0 {
		spec.Timeout = load.Timeout
	}
	l, err := e.startRun(name, spec)
	if err != nil {
		return failNow(err)
	}
	if load.Background {
		return func(time.Time) (bool, string, error) { return true, "in the background", nil }
	}
	return func(time.Time) (bool, string, error) {
		t := e.opt.Load.RunTotals(l.number)
		text := loadText(t)
		return e.atRest(l), text, nil
	}
}

// loadText sums a load up in one sentence.
func loadText(t loadgen.Totals) string {
	text := fmt.Sprintf("%d sent = %d ok", t.Scheduled-t.Unsent, t.OK)
	for _, part := range []struct {
		n    int
		what string
	}{{t.FailedSum(), "failed"}, {t.Cancelled, "cancelled"}, {t.InFlight(), "in flight"}} {
		if part.n > 0 {
			text += fmt.Sprintf(" + %d %s", part.n, part.what)
		}
	}
	return text
}

// beginStop stops the load step of that name, or all.
func (e *Engine) beginStop(name string) poll {
	var stopped []*loadRun
	for _, l := range e.run.loads {
		if name == "all" || l.step == name {
			e.opt.Load.StopRun(l.number)
			stopped = append(stopped, l)
		}
	}
	return func(time.Time) (bool, string, error) {
		open := 0
		for _, l := range stopped {
			if !e.atRest(l) {
				open += max(1, e.opt.Load.RunTotals(l.number).InFlight())
			}
		}
		return open == 0, fmt.Sprintf("%d in flight", open), nil
	}
}

// beginSwitch switches machines after the guards, and the operator where that
// is asked for, have agreed.
func (e *Engine) beginSwitch(a view.AskPower, within time.Duration) poll {
	switch {
	case e.opt.ReadOnly:
		return failNow(errors.New("read-only: nothing can be switched"))
	case e.opt.Fleet == nil:
		return failNow(errors.New(e.noPower()))
	}
	r := e.run
	var over bool
	var failure error
	end := func(err error) { over, failure = true, err }
	s := e.snapshot.Load()
	e.asking = true
	e.goDo(func() {
		ctx, cancel := e.withTimeout(planTimeout)
		defer cancel()
		p := e.makePlan(ctx, a, s)
		e.mail.post(func() {
			e.asking = false
			if e.run != r || r.stage != stageSteps {
				return
			}
			e.decide(p, r, within, end)
		})
	})
	deadline := e.now().Add(within)
	return func(now time.Time) (bool, string, error) {
		if !over && within > 0 && now.After(deadline) {
			return true, "", fmt.Errorf("not done within %s", text.Span(within))
		}
		return over, e.switchingText(a), failure
	}
}

// decide asks, or answers by itself, whether to carry a plan out.
func (e *Engine) decide(p switchPlan, r *run, within time.Duration, end func(error)) {
	q := e.switchQuestion(p)
	switch {
	case q.Refused:
		end(errors.New("refused: " + lastBad(q)))
	case p.ask.Action == power.ActionOn:
		e.switchMachines(p, end)
	default:
		e.agree(q, r, end, func(choice string) {
			if choice == ChoiceDrain {
				e.drainFirst(p, end)
				return
			}
			e.switchMachines(p, end)
		})
	}
}

var errNo = errors.New("the operator said no")

// lastBad is the weightiest line of a refused question.
func lastBad(q view.Question) string {
	for i := len(q.Lines) - 1; i >= 0; i-- {
		if q.Lines[i].Level == view.Bad {
			return q.Lines[i].Text
		}
	}
	return q.Title
}

// switchingText says how far each machine is.
func (e *Engine) switchingText(a view.AskPower) string {
	var parts []string
	for _, n := range a.Nodes {
		v := e.machines[n]
		if v.Busy != "" && v.Phase != power.PhaseDone && v.Text != "" {
			parts = append(parts, v.Text)
		}
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, " · ")
	case len(e.questions) > 0:
		return "waiting for the answer"
	}
	return switchVerb(a.Action) + " " + strings.Join(a.Nodes, ", ")
}

// beginWait waits until something is observed.
func (e *Engine) beginWait(w *plan.Wait) poll {
	r := e.run
	nodes := w.Nodes
	if len(nodes) == 0 {
		for _, n := range r.nodes {
			nodes = append(nodes, n.name)
		}
	}
	var subjects [][2]string // phase, subject
	add := func(phase string, all []string) {
		for _, s := range all {
			subjects = append(subjects, [2]string{phase, s})
		}
	}
	dep := r.deployment.String()
	if w.Deployment != "" {
		dep = w.Deployment
	}
	switch w.For {
	case view.PhaseReplaced:
		add(view.PhaseReplaced, []string{dep})
	case plan.WaitRestored:
		add(view.PhaseReady, nodes)
		add(view.PhaseRestored, []string{dep})
	default:
		add(w.For, nodes)
	}
	deadline := e.now().Add(w.Within)
	return func(now time.Time) (bool, string, error) {
		var missing []string
		for _, s := range subjects {
			_, ok := r.tracker.Observed(s[0], s[1])
			if s[0] == view.PhaseEvicted {
				ok = r.tracker.AllEvicted(s[1])
			}
			if ok {
				continue
			}
			text := s[1]
			if why := r.tracker.Why(s[0], s[1]); why != "" {
				text += " (" + why + ")"
			}
			missing = append(missing, text)
		}
		switch {
		case len(missing) == 0:
			return true, w.For, nil
		case now.After(deadline):
			return true, "", fmt.Errorf("not seen within %s: %s", text.Span(w.Within), strings.Join(missing, ", "))
		}
		return false, fmt.Sprintf("waiting until %s: %s", w.For, strings.Join(missing, ", ")), nil
	}
}

// beginRollout restarts a rollout and waits until every pod is a new one.
func (e *Engine) beginRollout(ro *plan.Rollout) poll {
	r := e.run
	k := r.deployment
	if ns, name, ok := strings.Cut(ro.Deployment, "/"); ok {
		k = cluster.Key{Namespace: ns, Name: name}
	}
	if s := e.snapshot.Load(); s != nil && r.skewRollout == nil {
		n := skew(spread(s, r.deployment))
		r.skewRollout = &n
	}
	within := ro.Within
	if within == 0 {
		within = rolloutWithin
	}
	over := e.rollout(k)
	deadline := e.now().Add(within)
	return func(now time.Time) (bool, string, error) {
		done, doing, err := over(now)
		if !done && now.After(deadline) {
			return true, "", fmt.Errorf("the rollout of %s is not complete within %s: %s", k, text.Span(within), doing)
		}
		return done, doing, err
	}
}

// tidy ends loads, powers on what the trial has left off and uncordons what it
// has cordoned.
func (e *Engine) tidy(r *run) poll {
	stopped := e.now()
	if e.opt.Load != nil && len(r.loads) > 0 {
		if r.aborted || r.failed {
			e.opt.Load.Stop(true)
		}
		for _, l := range r.loads {
			e.opt.Load.StopRun(l.number)
		}
	}
	back, uncordoned := e.bringBack(r), e.uncordonAll()
	cancelled, settled, asked := false, false, false
	return func(now time.Time) (bool, string, error) {
		if done, doing, err := back(now); !done {
			return false, doing, err
		}
		if done, doing, err := uncordoned(now); !done {
			return false, doing, err
		}
		if e.opt.Load == nil || len(r.loads) == 0 || settled {
			return true, "", nil
		}
		open := 0
		for _, l := range r.loads {
			if !e.atRest(l) {
				open++
			}
		}
		switch {
		case open > 0 && !cancelled && now.Sub(stopped) > restWithin:
			cancelled = true
			e.opt.Load.Stop(true)
		case open == 0 && !asked:
			// Every record has been handed out when Wait returns.
			asked = true
			e.goDo(func() {
				ctx, cancel := e.withTimeout(restWithin)
				defer cancel()
				_ = e.opt.Load.Wait(ctx)
				e.mail.post(func() { settled = true })
			})
		}
		return false, "waiting for the last requests", nil
	}
}

// bringBack powers on what the trial has switched off and, unless it was
// aborted, waits until the nodes are Ready.
func (e *Engine) bringBack(r *run) poll {
	var off []string
	for _, n := range r.nodes {
		if _, left := e.leftOff[n.name]; left || n.wantedOff && !n.wantedOn {
			off = append(off, n.name)
		}
	}
	if r.opt.KeepOff || e.opt.Fleet == nil || len(off) == 0 {
		return func(time.Time) (bool, string, error) { return true, "", nil }
	}
	e.say(view.Event{Lane: view.LaneOperator, Subject: "trial", Text: "powering on what the trial switched off: " + strings.Join(off, ", ")})
	var asked, over bool
	deadline := e.now().Add(returnWithin)
	return func(now time.Time) (bool, string, error) {
		if !asked {
			// What is being switched off just now is waited for first.
			busy := e.opt.Fleet.Busy()
			for _, n := range off {
				if _, ok := busy[n]; ok {
					return now.After(deadline), "waiting until " + n + " has been switched", nil
				}
			}
			asked = true
			e.powerOn(off, func(error) { over = true })
		}
		if !over {
			return now.After(deadline), "powering on: " + strings.Join(off, ", "), nil
		}
		if r.aborted {
			return true, "", nil
		}
		for _, n := range off {
			if !e.isBack(r, n) {
				return now.After(deadline), "waiting until " + n + " is Ready", nil
			}
		}
		return true, "", nil
	}
}

// isBack reports whether a node that was powered on is Ready, and has been seen
// to return where it had been seen to go.
func (e *Engine) isBack(r *run, node string) bool {
	if _, ok := r.tracker.Observed(view.PhaseReady, node); ok {
		return true
	}
	if _, ok := r.tracker.Observed(view.PhaseDetected, node); ok {
		return false
	}
	s := e.snapshot.Load()
	n := s.Node(node)
	return n != nil && s.Link.State == cluster.LinkLive && n.Ready == cluster.TriTrue
}

// powerOn powers nodes on without asking: it undoes what the trial did.
func (e *Engine) powerOn(nodes []string, end func(error)) {
	a := view.AskPower{Action: power.ActionOn, Nodes: nodes}
	p := switchPlan{ask: a}
	for _, n := range nodes {
		if l, ok := e.leftOff[n]; ok {
			p.bindings = append(p.bindings, l.Binding)
		} else if b, ok := e.bindings[n]; ok {
			p.bindings = append(p.bindings, b)
		}
	}
	e.switchMachines(p, end)
}
