package trial

import (
	"fmt"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
)

// conclude ends the trial: it sums up the observations, gives the verdict and writes the
// record's last files.
func (r *run) conclude() {
	r.ending.stage = stageOver
	r.ended, r.doing = r.now(), ""
	r.t.rest(r)
	if s := r.s.Snapshot(); s.Link.State == cluster.LinkLive {
		r.sum.Skew = podsByNode(s, r.deployment)
	}
	sum := summarize(r)
	r.summary = sum
	f := view.Facts{Verdict: sum.Verdict}
	if len(sum.Why) > 0 {
		f.Reported = sum.Why[0]
	}
	e := view.NewEvent(view.CodeTrialVerdict, "trial", f)
	if level, well := map[view.Verdict]view.Level{view.Pass: view.Good, view.NoExpectations: view.Info}[sum.Verdict]; well {
		e.Level = level
	}
	r.s.Say(e)
	r.closeRecord()
	r.end()
	if r.opt.End {
		r.s.End()
	}
}

// verdict judges a trial. To pass, the outage and the return of every node that was
// switched off must have been observed, and lightsout must have run all the time.
func verdict(r *run, sum *record.Summary) (v view.Verdict, why []string) {
	failed, open := shortcomings(r.plan, sum)
	unseen := slices.Concat(r.unsteady, unobserved(r), hidden(sum))
	if r.ending.outcome == aborted {
		unseen = []string{strings.TrimSuffix("the trial ended early"+r.ending.where+": aborted "+r.ending.why, ": aborted ")}
	}
	why = slices.Concat(unseen, failed, open)
	switch {
	case r.ending.outcome == aborted:
		return view.Aborted, why
	case len(unseen) == 0 && len(failed) > 0:
		return view.Fail, why
	case len(why) > 0:
		return view.NotObserved, why
	case len(sum.Expectations) == 0:
		return view.NoExpectations, spared(r)
	}
	return view.Pass, spared(r)
}

// spared is a warning that the outage did not hit the trial's deployment; nil if it did, or a drain before it.
func spared(r *run) []string {
	if r.deployment == (cluster.Key{}) || slices.ContainsFunc(r.nodes, func(n *nodeRun) bool { return n.pods > 0 }) ||
		slices.ContainsFunc(r.steps, func(st *stepRun) bool { return st.Action.Kind == plan.Drain }) {
		return nil
	}
	return []string{"warning: no pod of " + r.deployment.String() + " ran on a node when it was switched off: the outage did not hit it"}
}

// shortcomings lists the reasons why a trial fails, according to its summary: steps,
// expectations, requests that hung through the outage, and later failures that are more than
// stray ones. open are the expectations of which nobody saw whether they hold. p is nil for a trial
// by keyboard.
func shortcomings(p *plan.Plan, sum *record.Summary) (failed, open []string) {
	for _, st := range sum.Steps {
		if st.State == view.StepFailed {
			failed = append(failed, fmt.Sprintf("step %q: %s", st.Name, st.Text))
		}
	}
	for _, x := range sum.Expectations {
		switch text := fmt.Sprintf("%s: wanted %s, got %s", x.Name, x.Want, x.Got); {
		case x.OK:
		case x.Unobserved:
			open = append(open, "not observed: "+text)
		default:
			failed = append(failed, text)
		}
	}
	for _, l := range sum.Load {
		unless := func(measure string, n int, text string) { // the plan bounds it
			switch {
			case p == nil:
			case slices.ContainsFunc(p.Expect, func(x plan.Expectation) bool { return x.Measure == measure && x.Step == l.Step }):
				return
			default:
				text += fmt.Sprintf("; to accept that, expect %s: {max: %d} of this step", measure, n)
			}
			failed = append(failed, l.Step+": "+text)
		}
		if h := l.Hung; h != nil {
			unless("hung", h.Scheduled, fmt.Sprintf("%d hung through the outage (%s)", h.Scheduled, h.Ends()))
		}
		if s := l.LaterFailures; l.DownAgain {
			unless("later_failures", s.Failed, fmt.Sprintf("after requests had succeeded again, %d failed from %.1f s to %.1f s", s.Failed, s.From, s.To))
		}
	}
	return failed, open
}

// unobserved describes the part of the outage and the return that was not proven.
func unobserved(r *run) (out []string) {
	nodes := slices.DeleteFunc(slices.Clone(r.nodes), func(n *nodeRun) bool { return !r.tracker.WasOff(n.name) })
	if len(nodes) == 0 {
		return []string{"no machine was switched off"}
	}
	for _, n := range nodes {
		off, detected := seen(r, view.PhaseOff, n.name), seen(r, view.PhaseDetected, n.name)
		bootedAt, booted := r.tracker.Observed(view.PhaseBooted, n.name)
		add := func(text string) { out = append(out, n.name+text) }
		switch {
		case !off && !detected && booted:
			add(" booted again, but lightsout saw neither its machine off nor the control plane notice it")
		case !off && r.s.Machine(n.name).GoesOff():
			add(" was still being switched off when the trial ended")
		case !off && !detected:
			add(" never went down: its machine was not seen off and its node stayed Ready")
		case !off:
			add(" was not Ready, but its machine was not seen off")
		case !detected:
			add(" was off, but lightsout did not see the control plane notice it")
		}
		ready := seen(r, view.PhaseReady, n.name)
		switch toReturn := !r.ending.keepOff || planned(r, n.name); {
		case booted && (n.wantedOn.IsZero() || bootedAt.Before(n.wantedOn)):
			add(" booted before the trial powered it on: somebody else powered it on, or it rebooted by itself")
		case n.wantedOn.IsZero() && toReturn:
			add(" was not powered on again")
		case n.wantedOn.IsZero(), !toReturn && !ready, !detected: // nothing is expected of it
		case booted && !ready:
			add(" was not seen Ready again")
		case !booted && !ready:
			add(" was not seen to boot again")
		case !booted:
			add(" is Ready again, but its boot ID proves no boot and its machine was not proven off: lightsout can't tell whether it booted")
		}
	}
	return out
}

// seen reports whether a phase of a node was observed.
func seen(r *run, phase, node string) bool {
	_, ok := r.tracker.Observed(phase, node)
	return ok
}

// hidden describes the blind spans that leave the verdict open: lightsout itself stood still after
// zero, so that it sent no requests, or it did not see how a step went that failed.
func hidden(sum *record.Summary) (out []string) {
	for _, b := range sum.Blind {
		if b.StoodStill && b.To > 0 {
			out = append(out, fmt.Sprintf("lightsout itself stood still for %.0f s, until %.1f s after the first power-off: it sent no requests, and what clients would have noticed then is unknown",
				b.To-b.From, b.To))
		}
		for _, st := range sum.Steps {
			if st.State == view.StepFailed && b.From <= st.Ended.Sub(sum.Zero).Seconds() && b.To >= st.Started.Sub(sum.Zero).Seconds() {
				out = append(out, fmt.Sprintf("lightsout did not see everything during the step %q: %s", st.Name, b.Why))
			}
		}
	}
	return out
}

// planned reports whether the plan powers a node on; the end of a trial does
// unless it is kept off.
func planned(r *run, node string) bool {
	return slices.ContainsFunc(r.steps, func(st *stepRun) bool {
		return st.Action.Kind == plan.On && slices.Contains(st.Action.Nodes, node)
	})
}
