package trial

import (
	"fmt"
	"slices"

	"lightsout/internal/record"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/power"
)

// judge ends the trial: it sums up what was seen, gives the verdict and writes
// the record's last files.
func (r *run) judge() {
	r.stage, r.ended, r.doing = stageOver, r.now(), ""
	r.t.tracked.Store(nil)
	r.after = podsByNode(r.s.Snapshot(), r.deployment)
	sum := summarize(r)
	r.summary = sum
	level := view.Bad
	if sum.Verdict == view.Pass {
		level = view.Good
	}
	text := "verdict: " + string(sum.Verdict)
	if len(sum.Why) > 0 {
		text += ": " + sum.Why[0]
	}
	r.s.Say(view.Event{Lane: view.LaneOperator, Subject: "trial", Text: text, Level: level})
	r.closeRecord()
	if r.opt.End {
		r.s.End()
	}
}

// verdict judges a trial. It passes only what was seen: the outage and the
// return of every node that was switched off.
func verdict(r *run, sum *record.Summary) (view.Verdict, []string) {
	var failed []string
	for _, st := range sum.Steps {
		if st.State == view.StepFailed {
			failed = append(failed, fmt.Sprintf("step %q: %s", st.Name, st.Text))
		}
	}
	for _, x := range sum.Expectations {
		if !x.OK {
			failed = append(failed, fmt.Sprintf("%s: wanted %s, got %s", x.Name, x.Want, x.Got))
		}
	}
	unseen := unobserved(r)
	switch {
	case r.aborted:
		return view.Aborted, append([]string{"the trial was ended before its end"}, failed...)
	case len(r.unsteady) > 0:
		return view.NotObserved, append(slices.Clone(r.unsteady), failed...)
	case len(unseen) > 0:
		return view.NotObserved, append(unseen, failed...)
	case len(failed) > 0:
		return view.Fail, failed
	}
	return view.Pass, nil
}

// unobserved says what of the outage and the return was not proven.
func unobserved(r *run) []string {
	var out []string
	off := 0
	for _, n := range r.nodes {
		if !n.wantedOff {
			continue
		}
		off++
		_, detected := r.tracker.Observed(view.PhaseDetected, n.name)
		_, ready := r.tracker.Observed(view.PhaseReady, n.name)
		switch {
		case n.off.State != power.Off && !detected:
			out = append(out, n.name+" never went down: its machine was not seen off and its node stayed Ready")
		case n.off.State != power.Off:
			out = append(out, n.name+" was not Ready, but its machine was not seen off")
		case !detected:
			out = append(out, n.name+" was off, but the control plane was not seen to notice")
		}
		if !n.wantedOn || r.opt.KeepOff && !ready {
			if planned(r, n.name) {
				out = append(out, n.name+" was not powered on again")
			}
			continue
		}
		switch {
		case !n.booted && n.bootID != "" && detected:
			out = append(out, n.name+" was not seen to boot again")
		case !ready && detected:
			out = append(out, n.name+" was not seen Ready again")
		}
	}
	if off == 0 {
		out = append(out, "no machine was switched off")
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
