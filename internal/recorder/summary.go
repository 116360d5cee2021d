package recorder

import (
	"maps"
	"slices"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/power"
)

// sumLoads adds the requests of each run that have ended since the zero, and those in flight.
func (o *incident) sumLoads(sum *record.Summary) {
	for run := range o.open {
		o.tracker.Run(run) // none of it may have ended
	}
	for _, run := range o.tracker.Runs() {
		x := o.tracker.Run(run)
		if x.To.IsZero() {
			x.From, x.To = o.zero, sum.Ended
		}
		from, to := x.From.Sub(o.zero).Seconds(), x.To.Sub(o.zero).Seconds()
		counts := x.Counts(o.open[run])
		sum.Load = append(sum.Load, record.Load{
			Step: o.r.specs[run].Text(), Run: run, Sent: counts.Scheduled - counts.Unsent, Counts: counts,
			Failures: record.FailuresOf(x.Window, o.zero), Started: &from, Ended: &to,
		})
		sum.Ledger.Add(counts)
	}
}

// summary sums the outage up.
func (o *incident) summary(now time.Time, down []string) *record.Summary {
	r := o.r
	sum := &o.sum
	sum.Ended, sum.Outages, sum.LowestAvailable = now, o.tracker.Outages(), o.tracker.Lowest()
	o.sumLoads(sum)
	sum.Ledger.Balanced = sum.Ledger.Adds()
	o.found.Severity, o.found.Why = o.severity() // of the requests in flight too
	sum.Unplanned = &o.found
	for _, p := range o.tracker.Table() {
		// Perhaps nobody switched a machine, a node may come back without a boot, and nobody knows of errors.
		unknown := p.Name == view.PhaseErrors && o.found.Severity == record.SeverityUnknown
		if p.Observed != nil || p.Name != view.PhaseOff && p.Name != view.PhaseBooted && !unknown {
			sum.Phases = append(sum.Phases, p)
		}
	}
	r.clock.Look(r.opt.Now())
	sum.ClockSet = r.clock.Since(o.zero).Seconds()
	sum.Blind = o.blind(now)
	for _, name := range slices.Sorted(maps.Keys(o.down)) {
		why := " was still down when the record ended"
		if !slices.Contains(down, name) {
			why = " was deleted"
		}
		o.unseen(name + why + ": its return is not in this record")
	}
	o.sumOff(sum)
	return sum
}

// sumOff names the machines that the operator left off.
func (o *incident) sumOff(sum *record.Summary) {
	for _, name := range slices.Sorted(maps.Keys(o.nodes)) {
		switch m, left := o.r.s.Machine(name), o.r.s.LeftOff(name); {
		case left && m.Reading.State != power.On:
			sum.LeftOff = append(sum.LeftOff, name)
		case left, m.Busy.GoesOff():
			sum.MayGoOff = append(sum.MayGoOff, name)
		}
	}
	if len(sum.LeftOff)+len(sum.MayGoOff) > 0 && o.r.opt.Names == nil { // otherwise it would contain names
		sum.Restore = o.r.opt.Restore
	}
}
