package trial

import (
	"fmt"
	"slices"

	"lightsout/cluster"
	boots "lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/power"
)

// conclude ends the trial: it sums up the observations, gives the verdict and writes the
// record's last files.
func (r *run) conclude() {
	r.stage, r.ended, r.doing = stageOver, r.now(), ""
	r.t.rest(r)
	if s := r.s.Snapshot(); s.Link.State == cluster.LinkLive {
		r.after = podsByNode(s, r.deployment)
	}
	sum := summarize(r)
	r.summary = sum
	f := view.Facts{Verdict: sum.Verdict}
	if len(sum.Why) > 0 {
		f.Reported = sum.Why[0]
	}
	e := view.NewEvent(view.CodeTrialVerdict, "trial", f)
	switch sum.Verdict {
	case view.Pass:
		e.Level = view.Good
	case view.NoExpectations:
		e.Level = view.Info
	}
	r.s.Say(e)
	r.closeRecord()
	if r.opt.End {
		r.s.End()
	}
}

// verdict judges a trial. To pass, the outage and the return of every node that was
// switched off must have been observed, and lightsout must have run all the time.
func verdict(r *run, sum *record.Summary) (view.Verdict, []string) {
	failed := Shortcomings(r.plan, sum)
	unseen := append(unobserved(r), stoodStill(sum)...)
	switch {
	case r.aborted:
		return view.Aborted, append([]string{"the trial ended early"}, failed...)
	case len(r.unsteady) > 0:
		return view.NotObserved, append(slices.Clone(r.unsteady), failed...)
	case len(unseen) > 0:
		return view.NotObserved, append(unseen, failed...)
	case len(failed) > 0 && len(failed) == unobservedOf(sum):
		return view.NotObserved, failed
	case len(failed) > 0:
		return view.Fail, failed
	case len(sum.Expectations) == 0:
		return view.NoExpectations, nil
	}
	return view.Pass, nil
}

// unobservedOf counts the expectations that are not met only because nobody observed what they are
// about.
func unobservedOf(sum *record.Summary) (n int) {
	for _, got := range sum.Expectations {
		if got.Unobserved {
			n++
		}
	}
	return n
}

// Shortcomings lists the reasons why a trial fails, according to its summary: steps,
// expectations, requests that hung through the outage, and later failures that are more than
// stray ones. p is nil for a trial by
// keyboard.
func Shortcomings(p *plan.Plan, sum *record.Summary) (out []string) {
	for _, st := range sum.Steps {
		if st.State == view.StepFailed {
			out = append(out, fmt.Sprintf("step %q: %s", st.Name, st.Text))
		}
	}
	for _, x := range sum.Expectations {
		if !x.OK {
			out = append(out, fmt.Sprintf("%s: wanted %s, got %s", x.Name, x.Want, x.Got))
		}
	}
	for _, l := range sum.Load {
		bounds := func(measure string) bool {
			return p != nil && slices.ContainsFunc(p.Expect, func(x plan.Expectation) bool { return x.Measure == measure && x.Step == l.Step })
		}
		if l.Hung != nil && !bounds("hung") {
			out = append(out, hanging(p, l))
		}
		if l.DownAgain && !bounds("later_failures") {
			out = append(out, failedAgain(p, l))
		}
	}
	return out
}

// hanging describes the requests of a load that hung. p is nil for a trial by keyboard.
func hanging(p *plan.Plan, l record.Load) string {
	why := fmt.Sprintf("%s: %d hung through the outage (%s)", l.Step, l.Hung.Scheduled, l.Hung.Ends())
	if p != nil {
		why += fmt.Sprintf("; to accept that, expect hung: {max: %d} of this step", l.Hung.Scheduled)
	}
	return why
}

// failedAgain describes later failures that are more than stray ones. p is nil for a trial by
// keyboard.
func failedAgain(p *plan.Plan, l record.Load) string {
	s := l.LaterFailures
	why := fmt.Sprintf("%s: after requests had succeeded again, %d failed from %.1f s to %.1f s", l.Step, s.Failed, s.From, s.To)
	if p != nil {
		why += fmt.Sprintf("; to accept that, expect later_failures: {max: %d} of this step", s.Failed)
	}
	return why
}

// unobserved describes the part of the outage and the return that was not proven.
func unobserved(r *run) []string {
	var out []string
	switchedOff := 0
	for _, n := range r.nodes {
		if !n.wantedOff {
			continue
		}
		switchedOff++
		_, detected := r.tracker.Observed(view.PhaseDetected, n.name)
		_, ready := r.tracker.Observed(view.PhaseReady, n.name)
		switch {
		case n.off.State != power.Off && n.goesOff:
			out = append(out, n.name+" was still being switched off when the trial ended")
		case n.off.State != power.Off && !detected && r.otherBoot(n):
			out = append(out, n.name+" booted again, but lightsout saw neither its machine off nor the control plane notice it")
		case n.off.State != power.Off && !detected:
			out = append(out, n.name+" never went down: its machine was not seen off and its node stayed Ready")
		case n.off.State != power.Off:
			out = append(out, n.name+" was not Ready, but its machine was not seen off")
		case !detected:
			out = append(out, n.name+" was off, but lightsout did not see the control plane notice it")
		}
		if n.early {
			out = append(out, n.name+" booted before the trial powered it on: somebody else powered it on, or it rebooted by itself")
		}
		toReturn := !r.opt.KeepOff || planned(r, n.name)
		switch {
		case !n.wantedOn && !n.early && toReturn:
			out = append(out, n.name+" was not powered on again")
		case !n.wantedOn, !toReturn && !ready: // nothing is expected of it
		case r.boot(n) == boots.NotBooted && detected:
			out = append(out, n.name+" was not seen to boot again")
		case !ready && detected:
			out = append(out, n.name+" was not seen Ready again")
		case r.boot(n) == boots.CantTell && detected:
			out = append(out, n.name+" is Ready again, but its boot ID proves no boot and its machine was not proven off: lightsout can't tell whether it booted")
		}
	}
	if switchedOff == 0 {
		out = append(out, "no machine was switched off")
	}
	return out
}

// otherBoot reports whether the node's boot ID is another one than before its machine was switched off.
func (r *run) otherBoot(n *nodeRun) bool {
	_, booted := r.tracker.Observed(view.PhaseBooted, n.name)
	return booted
}

// boot returns whether a node has booted since its machine was switched off.
func (r *run) boot(n *nodeRun) boots.Answer {
	if r.otherBoot(n) {
		return boots.Booted
	}
	var was boots.Before
	var now boots.Now
	was.Asked, _ = r.tracker.Observed(view.PhaseDetected, n.name)
	now.Ready, _ = r.tracker.Observed(view.PhaseReady, n.name)
	if n.off.State == power.Off && n.off.Proof == power.Proven {
		was.Off = n.off.CountsFrom()
	}
	return was.Seen(now)
}

// stoodStill describes the spans after zero in which lightsout itself did not run: it
// sent no requests, so what clients would have noticed is unknown.
func stoodStill(sum *record.Summary) (out []string) {
	for _, b := range sum.Blind {
		if b.StoodStill && b.To > 0 {
			out = append(out, fmt.Sprintf("lightsout itself stood still for %.0f s, until %.1f s after the first power-off: it sent no requests, and what clients would have noticed then is unknown",
				b.To-b.From, b.To))
		}
	}
	return out
}

// planned reports whether the plan powers a node on; the end of a trial does
// unless it is kept off.
func planned(r *run, node string) bool {
	return slices.ContainsFunc(r.steps, func(st *stepRun) bool {
		on, ok := st.Action.(*plan.On)
		return ok && slices.Contains(on.Nodes, node)
	})
}
