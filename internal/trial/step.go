package trial

import (
	"errors"
	"fmt"
	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
	"strings"
	"time"
)

// Bounds of what a plan leaves open.
const (
	rolloutWithin = 10 * time.Minute
)

// beginStep begins a step.
func beginStep(r *run, st *stepRun) poll {
	switch a := st.Action.(type) {
	case *plan.Load:
		return beginLoad(r, st.Name, a)
	case *plan.Off:
		return beginSwitch(r, view.AskPower{Action: a.How, Nodes: a.Nodes}, a.Within)
	case *plan.On:
		return beginSwitch(r, view.AskPower{Action: power.ActionOn, Nodes: a.Nodes}, a.Within)
	case *plan.Wait:
		return beginWait(r, a)
	case *plan.Cordon:
		return r.s.Cordon(a.Nodes)
	case *plan.Drain:
		return beginDrain(r, a)
	case *plan.Uncordon:
		return r.s.Uncordon(a.Nodes)
	case *plan.Rollout:
		return beginRollout(r, a)
	case *plan.Stop:
		return beginStop(r, a.Step)
	case *plan.Pause:
		until := r.now().Add(a.For)
		return func(now time.Time) (bool, string, error) {
			left := until.Sub(now)
			return left <= 0, fmt.Sprintf("pause: %s left", text.Span(max(0, left))), nil
		}
	}
	return failNow(errors.New("the step does nothing"))
}

// beginLoad starts a load step.
func beginLoad(r *run, name string, load *plan.Load) poll {
	spec := load.Spec
	if load.Timeout > 0 {
		spec.Timeout = load.Timeout
	}
	l, err := r.startLoad(name, spec)
	if err != nil {
		return failNow(err)
	}
	if load.Background {
		return func(time.Time) (bool, string, error) { return true, "in the background", nil }
	}
	return func(time.Time) (bool, string, error) {
		t := r.t.opt.Load.RunTotals(l.number)
		text := loadText(t)
		return r.atRest(l), text, nil
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
func beginStop(r *run, name string) poll {
	var stopped []*loadRun
	for _, l := range r.loads {
		if name == "all" || l.step == name {
			r.t.opt.Load.StopRun(l.number)
			stopped = append(stopped, l)
		}
	}
	return func(time.Time) (bool, string, error) {
		open := 0
		for _, l := range stopped {
			if !r.atRest(l) {
				open += max(1, r.t.opt.Load.RunTotals(l.number).InFlight())
			}
		}
		return open == 0, fmt.Sprintf("%d in flight", open), nil
	}
}

// beginWait waits until something is observed.
func beginWait(r *run, w *plan.Wait) poll {
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
	deadline := r.now().Add(w.Within)
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
func beginRollout(r *run, ro *plan.Rollout) poll {
	k := deploymentOf(ro.Deployment, r.deployment)
	if s := r.s.Snapshot(); s != nil && r.skewRollout == nil {
		n := skew(podsByNode(s, r.deployment))
		r.skewRollout = &n
	}
	within := ro.Within
	if within == 0 {
		within = rolloutWithin
	}
	over := r.s.Rollout(k)
	deadline := r.now().Add(within)
	return func(now time.Time) (bool, string, error) {
		done, doing, err := over(now)
		if !done && now.After(deadline) {
			return true, "", fmt.Errorf("the rollout of %s is not complete within %s: %s", k, text.Span(within), doing)
		}
		return done, doing, err
	}
}
