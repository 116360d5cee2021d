package trial

import (
	"fmt"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// rolloutWithin bounds a rollout when the plan does not say.
const rolloutWithin = 10 * time.Minute

// steps carries the actions of a plan's steps out. It is plan.Runner.
type steps struct{ *run }

// Now is the trial's clock.
func (r steps) Now() time.Time { return r.now() }

// Cordon cordons nodes.
func (r steps) Cordon(nodes []string) plan.Poll { return r.s.Cordon(nodes) }

// Uncordon uncordons the nodes that lightsout has cordoned itself.
func (r steps) Uncordon(nodes []string) plan.Poll { return r.s.Uncordon(nodes) }

// Load starts a load step.
func (r steps) Load(name string, load *plan.Load) plan.Poll {
	spec := load.Spec
	if load.Timeout > 0 {
		spec.Timeout = load.Timeout
	}
	number, _, err := r.s.StartLoad(spec)
	if err != nil {
		return failNow(err)
	}
	l := &loadRun{step: name, number: number}
	r.loads = append(r.loads, l)
	r.tracker.FailsWithin(r.t.opt.Load.FailsWithin(spec))
	if load.Background {
		return func(time.Time) (bool, string, error) { return true, "in the background", nil }
	}
	return func(time.Time) (bool, string, error) {
		return r.s.AtRest(l.number), loadText(r.t.opt.Load.Result(l.number).Totals), nil
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

// Stop stops the load step of that name, or all.
func (r steps) Stop(name string) plan.Poll {
	var stopped []*loadRun
	for _, l := range r.loads {
		if name == plan.AllLoads || l.step == name {
			r.t.opt.Load.StopRun(l.number)
			stopped = append(stopped, l)
		}
	}
	return func(time.Time) (bool, string, error) {
		open := 0
		for _, l := range stopped {
			if !r.s.AtRest(l.number) {
				open += max(1, r.t.opt.Load.Result(l.number).Totals.InFlight())
			}
		}
		return open == 0, fmt.Sprintf("%d in flight", open), nil
	}
}

// Wait waits until something is observed.
func (r steps) Wait(w *plan.Wait) plan.Poll {
	var off []string
	for _, n := range r.nodes {
		off = append(off, n.name)
	}
	subjects := waited(w, off, r.deployment)
	hopeful := r.now() // until when the condition was possible
	deadline := hopeful.Add(w.Within)
	return func(now time.Time) (bool, string, error) {
		var missing, never []string
		for _, s := range subjects {
			_, ok := r.tracker.Observed(s[0], s[1])
			if s[0] == view.PhaseEvicted {
				ok = r.tracker.AllEvicted(s[1])
			}
			if ok {
				continue
			}
			text := s[1]
			why, impossible := r.tracker.Why(s[0], s[1])
			if why != "" {
				text += " (" + why + ")"
			}
			if impossible {
				never = append(never, why)
			}
			missing = append(missing, text)
		}
		if len(never) == 0 {
			hopeful = now
		}
		switch {
		case len(missing) == 0:
			return true, w.For, nil
		case len(never) > 0 && now.Sub(hopeful) >= hopelessFor:
			return true, "", fmt.Errorf("the condition cannot come true: %s", strings.Join(never, ", "))
		case now.After(deadline):
			return true, "", fmt.Errorf("not seen within %s: %s", text.Span(w.Within), strings.Join(missing, ", "))
		}
		return false, fmt.Sprintf("waiting until %s: %s", w.For, strings.Join(missing, ", ")), nil
	}
}

// hopelessFor is how long a condition must stay impossible before the step stops
// waiting for it: a snapshot and the transitions may differ for a moment.
const hopelessFor = 2 * time.Second

// Rollout restarts a rollout and waits until every pod is a new one.
func (r steps) Rollout(deployment string, within time.Duration) plan.Poll {
	k := deploymentOf(deployment, r.deployment)
	if s := r.s.Snapshot(); r.sum.SkewBeforeRollout == nil && s.Link.State == cluster.LinkLive {
		r.sum.SkewBeforeRollout = new(skew(podsByNode(s, r.deployment)))
	}
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
