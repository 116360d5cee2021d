package trial

import (
	"cmp"
	"slices"
	"time"

	"lightsout/internal/record"
	"lightsout/loadgen"
)

// summarize completes the summary of a trial that is over, once.
func summarize(r *run) *record.Summary {
	sum := &r.sum
	sum.Version, sum.Name, sum.Pace, sum.Cluster = record.SummaryVersion, r.name, cmp.Or(r.t.opt.Pace, "real"), r.t.opt.Cluster
	sum.Deployment, sum.Started, sum.Zero, sum.Ended = r.deployment.String(), r.started, r.zero, r.ended
	sum.Outages, sum.Phases = r.tracker.Outages(), r.tracker.Table()
	sum.LowestAvailable, sum.Disrupted = r.tracker.Lowest()
	sum.Blind = record.BlindOf(r.s.Snapshot(), r.offset, r.started, r.ended)
	r.clock.Look(r.now())
	sum.ClockSet = r.clock.Since(r.started).Seconds()
	if r.plan != nil {
		sum.About = r.plan.About
	}
	for _, st := range r.steps {
		sum.Steps = append(sum.Steps, record.Step{Name: st.Name, State: st.state, Started: st.started, Ended: st.ended, Text: st.text})
	}
	for _, l := range r.loads {
		addLoad(r, sum, l)
	}
	sum.Ledger.Balanced = sum.Ledger.Adds() && !slices.ContainsFunc(r.loads, func(l *loadRun) bool { return !r.t.opt.Load.Result(l.number).Totals.Balanced() })
	for _, n := range r.nodes {
		sum.Nodes = append(sum.Nodes, record.NodeOf(n.name, n.machine, sum.Phases, n.on))
		sum.AddStanding(n.name, r.s.Standing(n.name), r.s.Machine(n.name).Reading)
	}
	if len(sum.LeftOff)+len(sum.MayGoOff) > 0 && r.t.opt.Names == nil { // otherwise it would contain names
		sum.Restore = r.t.opt.Restore
	}
	if r.plan != nil {
		for _, x := range r.plan.Expect {
			sum.Expectations = append(sum.Expectations, judgeExpectation(x, sum))
		}
	}
	sum.Verdict, sum.Why = verdict(r, sum)
	return sum
}

// offset is a moment in seconds from zero, or from the start without one.
func (r *run) offset(t time.Time) float64 {
	return t.Sub(cmp.Or(r.zero, r.started)).Seconds()
}

// offsetOrNil is nil for no moment, and for any without a zero.
func (r *run) offsetOrNil(t time.Time) *float64 {
	if t.IsZero() || r.zero.IsZero() {
		return nil
	}
	return new(r.offset(t))
}

// addLoad adds a load to a summary.
func addLoad(r *run, sum *record.Summary, l *loadRun) {
	requests, result := r.tracker.Run(l.number), r.t.opt.Load.Result(l.number)
	served, basis := l.peak.result()
	sum.AddLoad(record.Load{
		Step: l.step, Run: l.number, Steady: result.Spec.Shape != loadgen.Burst, Started: r.offsetOrNil(result.Started), Ended: r.offsetOrNil(result.Ended),
		PeakServed: served, PeakQueued: result.PeakQueued, PeakStreaming: l.peak.streaming, Basis: string(basis),
		FailedAfterDetection: requests.FailedAfterDetection(sum.Outages),
	}, requests.Counts(r.open[l.number]), requests.Window)
}
