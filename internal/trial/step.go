package trial

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/power"
)

// rolloutWithin bounds a rollout when the plan does not say.
const rolloutWithin = 10 * time.Minute

// steps carries the actions of a plan's steps out.
type steps struct{ *run }

// begin begins a step, and returns at once.
func (r steps) begin(st plan.Step) poll {
	a := &st.Action
	switch a.Kind {
	case plan.Load:
		return r.load(st)
	case plan.Stop:
		return r.stop(a.Step)
	case plan.Off, plan.On:
		return r.power(cmp.Or(a.How, power.ActionOn), a.Nodes, a.Within)
	case plan.Cordon:
		return r.s.Cordon(a.Nodes)
	case plan.Uncordon:
		return r.s.Uncordon(a.Nodes) // those that lightsout has cordoned itself
	case plan.Drain:
		return r.drain(a.Nodes, a.Within)
	case plan.Rollout:
		return r.rollout(a.Deployment, a.Within)
	case plan.Wait:
		return r.wait(a)
	}
	return r.pause(a.Pause)
}

// pause waits until the time is over.
func (r steps) pause(d time.Duration) poll {
	until := r.now().Add(d)
	return func(now time.Time) (bool, string, error) {
		left := until.Sub(now)
		return left <= 0, fmt.Sprintf("%s left", text.Span(max(0, left))), nil
	}
}

// load starts a load step.
func (r steps) load(st plan.Step) poll {
	spec := st.Action.Spec
	number, _, err := r.s.StartLoad(spec)
	if err != nil {
		return session.FailNow(err)
	}
	l := &loadRun{step: st.Name, number: number}
	r.loads = append(r.loads, l)
	r.tracker.FailsWithin(r.t.opt.Load.FailsWithin(spec))
	if st.Action.Background {
		return func(time.Time) (bool, string, error) { return true, "in the background", nil }
	}
	return func(time.Time) (bool, string, error) {
		c := r.t.opt.Load.Result(l.number).Totals.Counts()
		return r.s.AtRest(l.number), fmt.Sprintf("%d scheduled: %s", c.Scheduled, c.Ends()), nil
	}
}

// stop stops the load step of that name, or all.
func (r steps) stop(name string) poll {
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

// wait waits until something is observed.
func (r steps) wait(w *plan.Action) poll {
	off := text.Each(r.nodes, func(n *nodeRun) string { return n.name })
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

// rollout restarts a rollout and waits until every pod is a new one.
func (r steps) rollout(deployment string, within time.Duration) poll {
	k := deploymentOf(deployment, r.deployment)
	if s := r.s.Snapshot(); r.sum.SkewBeforeRollout == nil && s.Link.State == cluster.LinkLive {
		r.sum.SkewBeforeRollout = new(skew(podsByNode(s, r.deployment)))
	}
	within = cmp.Or(within, rolloutWithin)
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
