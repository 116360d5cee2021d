package session

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/power"
)

// judge ends the trial: it sums up what was seen, gives the verdict and writes
// the record's last files.
func (e *Engine) judge(r *run) {
	r.stage, r.ended, r.doing = stageOver, e.now(), ""
	e.tracked.Store(nil)
	s := e.snapshot.Load()
	r.after = spread(s, r.deployment)
	sum := e.summarize(r)
	r.verdict, r.why, r.expectations = sum.Verdict, sum.Why, sum.Expectations
	level := view.Bad
	if sum.Verdict == view.Pass {
		level = view.Good
	}
	text := "verdict: " + string(sum.Verdict)
	if len(sum.Why) > 0 {
		text += ": " + sum.Why[0]
	}
	e.say(view.Event{Lane: view.LaneOperator, Subject: "trial", Text: text, Level: level})
	r.summary = sum
	e.closeRecord(r)
	if r.opt.End {
		e.ending = true
	}
}

// summarize makes the summary of a trial that is over.
func (e *Engine) summarize(r *run) *record.Summary {
	sum := &record.Summary{
		Version: record.SummaryVersion, Name: r.name, Pace: e.opt.Pace, Cluster: e.opt.Cluster, Server: r.server,
		Started: r.started, Zero: r.zero, Ended: r.ended, Settings: r.settings,
		Phases: r.tracker.Table(), Forecast: r.forecast, Skew: r.after, SkewStart: r.before,
	}
	if sum.Pace == "" {
		sum.Pace = "real"
	}
	if r.plan != nil {
		sum.About = r.plan.About
	}
	if r.deployment != (cluster.Key{}) {
		sum.Deployment = r.deployment.String()
	}
	for _, st := range r.steps {
		sum.Steps = append(sum.Steps, record.Step{Name: st.Name, State: st.state, Started: st.started, Ended: st.ended, Text: st.text})
	}
	detected := lastDetection(r)
	for _, l := range r.loads {
		sum.Load = append(sum.Load, e.sumLoad(r, l, detected))
	}
	for _, l := range sum.Load {
		sum.Ledger.Add(l.Counts)
	}
	sum.Ledger.Balanced = e.balanced(r, &sum.Ledger)
	for _, n := range r.nodes {
		sum.Nodes = append(sum.Nodes, record.Node{Name: n.name, Machine: n.machine, OffProof: offProof(n), OnProof: onProof(n)})
		if _, ok := e.leftOff[n.name]; ok {
			sum.LeftOff = append(sum.LeftOff, n.name)
		}
	}
	for _, b := range r.blind {
		to := b.to
		if to.IsZero() {
			to = r.ended
		}
		sum.Blind = append(sum.Blind, record.Blind{From: r.offset(b.from), To: r.offset(to), Why: b.why})
	}
	if r.plan != nil {
		for _, x := range r.plan.Expect {
			sum.Expectations = append(sum.Expectations, meet(x, sum, r))
		}
	}
	sum.Verdict, sum.Why = verdict(r, sum)
	return sum
}

// offset is a moment in seconds from zero, or from the start without one.
func (r *run) offset(t time.Time) float64 {
	zero := r.zero
	if zero.IsZero() {
		zero = r.started
	}
	return t.Sub(zero).Seconds()
}

// offsetOrNil is nil for no moment, and for any without a zero.
func (r *run) offsetOrNil(t time.Time) *float64 {
	if t.IsZero() || r.zero.IsZero() {
		return nil
	}
	d := t.Sub(r.zero).Seconds()
	return &d
}

// lastDetection is when the last of the nodes switched off was marked not
// Ready; zero when one of them was not.
func lastDetection(r *run) time.Time {
	var last time.Time
	for _, n := range r.nodes {
		if !n.wantedOff {
			continue
		}
		at, ok := r.tracker.Observed(view.PhaseDetected, n.name)
		if !ok {
			return time.Time{}
		}
		if at.After(last) {
			last = at
		}
	}
	return last
}

func (e *Engine) sumLoad(r *run, l *loadRun, detected time.Time) record.Load {
	t := e.opt.Load.RunTotals(l.number)
	out := record.Load{
		Step: l.step, Sent: t.Scheduled - t.Unsent, Counts: t.Counts(),
		PeakServed: l.served, PeakQueued: l.queued, Basis: string(l.basis),
		FirstFailure: r.offsetOrNil(l.failed.First), LastFailure: r.offsetOrNil(l.failed.Last), LastFailureEnd: r.offsetOrNil(l.failed.Ended),
		Started: r.offsetOrNil(l.started), Ended: r.offsetOrNil(l.ended),
	}
	if !detected.IsZero() {
		n := 0
		for _, at := range l.sent {
			if at.After(detected) {
				n++
			}
		}
		out.FailedAfterDetection = &n
	}
	return out
}

// balanced reports whether every load's own count adds up to what the
// generator has scheduled for it.
func (e *Engine) balanced(r *run, ledger *record.Ledger) bool {
	for _, l := range r.loads {
		if !e.opt.Load.RunTotals(l.number).Balanced() {
			return false
		}
	}
	return ledger.Adds()
}

func offProof(n *nodeRun) string {
	if n.off.State != power.Off {
		return "none"
	}
	return proofText(n.off)
}

func onProof(n *nodeRun) string {
	switch {
	case n.booted:
		return "proven (new boot id)"
	case n.on.State == power.On:
		return proofText(n.on)
	}
	return "none"
}

func proofText(r power.Reading) string {
	text := r.Proof.String()
	if r.Detail != "" {
		text += " (" + r.Detail + ")"
	}
	return text
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

const notObserved = "not observed"

// meet compares an expectation with what was seen.
func meet(x plan.Expectation, sum *record.Summary, r *run) view.Expectation {
	out := view.Expectation{Name: x.Name(), Want: x.Want(), Got: notObserved}
	number := func(v float64) {
		out.Got, out.OK = plainNumber(v), x.Holds(v)
	}
	switch x.Kind() {
	case plan.OfLoad:
		for _, l := range sum.Load {
			if l.Step == x.Step {
				if v, ok := loadMeasure(x.Measure, l); ok {
					number(v)
				}
			}
		}
	case plan.OfPhase:
		out.Got, out.OK = meetPhase(x, sum.Phases)
	case plan.OfLedger:
		v := 0.0
		out.Got = "not balanced"
		if sum.Ledger.Balanced && len(sum.Load) > 0 {
			v, out.Got = 1, "balanced"
		}
		out.OK = x.Holds(v)
	case plan.OfTrial:
		switch {
		case x.Measure == "lowest_available" && r.lowest != nil:
			number(float64(*r.lowest))
		case x.Measure == "skew" && len(sum.Skew) > 0:
			number(float64(skew(sum.Skew)))
		case x.Measure == "skew_before_rollout" && r.skewRollout != nil:
			number(float64(*r.skewRollout))
		}
	}
	return out
}

func plainNumber(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.1f", v), "0"), ".")
}

func loadMeasure(name string, l record.Load) (float64, bool) {
	switch name {
	case "sent":
		return float64(l.Sent), true
	case "ok":
		return float64(l.OK), true
	case "failed":
		return float64(l.Failed), true
	case "peak_served":
		return float64(l.PeakServed), true
	case "peak_queued":
		return float64(l.PeakQueued), true
	case "failed_after_detection":
		if l.FailedAfterDetection == nil {
			return 0, false
		}
		return float64(*l.FailedAfterDetection), true
	case "error_window":
		if l.FirstFailure == nil || l.LastFailure == nil {
			return 0, l.Failed == 0
		}
		return *l.LastFailure - *l.FirstFailure, true
	}
	return 0, false
}

// meetPhase wants every row of the phase, or the one of the subject, in bounds.
func meetPhase(x plan.Expectation, phases []view.Phase) (got string, ok bool) {
	var parts []string
	ok = true
	for _, p := range phases {
		if p.Name != x.Phase() || x.Subject != "" && p.Subject != x.Subject {
			continue
		}
		text := p.Subject + " " + notObserved
		switch {
		case p.Observed == nil:
			ok = false
		case x.Predicted && p.Predicted == nil:
			ok = false
			text = fmt.Sprintf("%s at %.1f s, with no forecast", p.Subject, *p.Observed)
		case x.Predicted:
			ok = ok && p.Inside != nil && *p.Inside
			text = fmt.Sprintf("%s at %.1f s (forecast %.1f–%.1f s)", p.Subject, *p.Observed, p.Predicted[0], p.Predicted[1])
		default:
			ok = ok && x.Holds(*p.Observed)
			text = fmt.Sprintf("%s at %.1f s", p.Subject, *p.Observed)
		}
		if p.Note != "" {
			text += ", " + p.Note
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return notObserved, false
	}
	return strings.Join(parts, "; "), ok
}
