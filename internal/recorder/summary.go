package recorder

import (
	"maps"
	"slices"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// summarize sums the outage up.
func (o *incident) summarize(now time.Time) {
	r, sum := o.r, &o.sum
	sum.Ended, sum.Outages, sum.Blind = now, o.tracker.Outages(), o.blind(now)
	sum.LowestAvailable, sum.Disrupted = o.tracker.Lowest()
	o.sumLoads()
	o.found.Severity, o.found.Why, _ = o.severity() // of the requests in flight too
	sum.Unplanned = &o.found
	for _, p := range o.tracker.Table() {
		// Perhaps nobody switched a machine, a node may come back without a boot, and nobody knows of errors.
		unknown := p.Name == view.PhaseErrors && o.found.Severity == record.SeverityUnknown
		if p.Observed != nil || p.Name != view.PhaseOff && p.Name != view.PhaseBooted && !unknown {
			sum.Phases = append(sum.Phases, p)
		}
	}
	sum.ClockSet = r.clock.Since(o.zero).Seconds()
	for _, name := range o.down(r.s.Snapshot()) {
		why := " was still down when the record ended"
		if !r.alerts.down(name) {
			why = " was deleted"
		}
		o.unseen(name + why + ": its return is not in this record")
	}
	for _, name := range slices.Sorted(maps.Keys(o.nodes)) {
		m := r.s.Machine(name)
		if machine := o.nodes[name]; machine != "" {
			since := m.Reading
			if m.LeftOff {
				since = power.Reading{}
			}
			sum.Nodes = append(sum.Nodes, record.NodeOf(name, machine, sum.Phases, since))
		}
		sum.AddStanding(name, r.s.Standing(name), m.Reading)
	}
	if len(sum.LeftOff)+len(sum.MayGoOff) > 0 && r.opt.Names == nil { // otherwise it would contain names
		sum.Restore = r.opt.Restore
	}
}

// sumLoads adds the requests of each run that have ended since the zero, and those in flight.
func (o *incident) sumLoads() {
	for run := range o.open {
		o.tracker.Run(run) // none of it may have ended
	}
	for _, run := range o.tracker.Runs() {
		x := o.tracker.Run(run)
		if x.To.IsZero() {
			x.From, x.To = o.zero, o.sum.Ended
		}
		o.sum.AddLoad(record.Load{Step: o.r.loads[run].Spec.Text(), Run: run, Started: new(o.offset(x.From)), Ended: new(o.offset(x.To))}, x.Counts(o.open[run]), x.Window)
	}
	o.sum.Ledger.Balanced = o.sum.Ledger.Adds()
}

// offset is a moment in seconds from zero.
func (o *incident) offset(at time.Time) float64 { return at.Sub(o.zero).Seconds() }

// severity is what clients have noticed so far, why that is unknown, and a sentence on it; empty if
// nobody knows. Of a target that has never answered the recorder, no failure shows that.
func (o *incident) severity() (s record.Severity, why, clients string) {
	service := o.tracker.Requests().Service()
	errors, ownError := "requests of lightsout fail", o.tracker.Requests().OwnError
	if last, over := o.tracker.Requests().ErrorsEnded(); over {
		errors = "requests of lightsout failed until " + last.UTC().Format("15:04:05") + " UTC"
	}
	switch own := o.r.opt.Every > 0; {
	case len(o.tracker.Runs()) == 0:
		return record.SeverityUnknown, "lightsout sent no requests", ""
	case own && o.r.requests.first.IsZero():
		return record.SeverityUnknown, report.NeverAnswered, report.NeverAnswered
	case service == loadgen.ServiceDown:
		return record.SeverityDown, "", errors
	case service == loadgen.ServiceDegraded:
		return record.SeverityDegraded, "", errors
	case ownError != "":
		why = "lightsout could not send requests (" + ownError + ")"
		return record.SeverityUnknown, why, why + ": what clients notice is unknown"
	}
	s, why = record.SeverityNoneFailed, o.unasked()
	if why != "" {
		s = record.SeverityUnknown
	}
	return s, why, "no request has failed so far"
}

// unasked is why the requests do not show that clients noticed nothing; empty if they do.
func (o *incident) unasked() string {
	var all loadgen.Counts
	hung, unasked := 0, o.tracker.Outages()
	for _, run := range o.tracker.Runs() {
		x := o.tracker.Run(run)
		unasked = slices.DeleteFunc(unasked, func(p loadgen.PowerOff) bool {
			return x.To.After(p.Off) && (p.Returned.IsZero() || x.From.Before(p.Returned))
		})
		hung += x.Hung(o.tracker.Outages()).Cancelled
		all.Add(x.Counts(0))
	}
	stoodStill := slices.ContainsFunc(o.blind(o.r.opt.Now()), func(b record.Blind) bool { return b.StoodStill })
	switch {
	case stoodStill, all.ManyUnsent():
		return "lightsout did not send requests all the time"
	case o.found.RequestsFrom != nil:
		return "lightsout had forgotten requests"
	case o.waiting():
		return "requests had not ended"
	case len(unasked) > 0:
		return "lightsout sent no requests during an outage"
	case hung > 0:
		return "requests hung until lightsout ended them"
	case all.OK == 0:
		return "too few requests were answered"
	}
	return ""
}

// blind lists the blind spans of the outage until now.
func (o *incident) blind(now time.Time) []record.Blind {
	all := record.BlindOf(o.r.s.Snapshot(), o.offset, o.zero, now)
	if began := o.tracker.Began(); !began.IsZero() {
		all = slices.Insert(all, 0, record.Blind{To: o.offset(began), Why: "the recorder had not begun", StoodStill: true})
	}
	return all
}

// waiting reports whether requests have been in flight for so long that they may hang.
func (o *incident) waiting() bool {
	if o.r.opt.Load == nil {
		return false
	}
	run := o.r.opt.Load.Run()
	old := run.Totals.InFlight()
	for _, x := range run.Seconds {
		if o.r.opt.Now().Sub(x.At) < o.tracker.Requests().HangsAfter() {
			old -= x.Unresolved
		}
	}
	return old > 0
}
