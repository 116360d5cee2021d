package recorder

import (
	"slices"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/trial/phase"
	"lightsout/loadgen"
)

// severity is what clients have noticed so far, or until the record ended.
func (o *outage) severity() record.Severity {
	switch {
	case o.final != "":
		return o.final
	case len(o.loads) == 0:
		return record.SeverityUnknown
	case o.failed() >= downLeast:
		return record.SeverityDown
	case o.failed() > 0:
		return record.SeverityDegraded
	case o.late(), o.stoodStill(), o.waiting(), o.unasked():
		return record.SeverityUnknown
	}
	return record.SeverityUnnoticed
}

// failed is how many requests failed in a row. Of a target that has never answered the recorder, no
// failure shows what clients noticed.
func (o *outage) failed() int {
	if o.r.probes.count && o.r.probes.newest.IsZero() {
		return 0
	}
	return o.mostInRow
}

// stoodStill reports whether the recorder did not run, and sent no requests, for a part of the
// outage.
func (o *outage) stoodStill() bool {
	return slices.ContainsFunc(o.tracker.Blind(), func(b phase.Blind) bool { return b.StoodStill })
}

// waitsLeast is the least time that a request must have been in flight for nobody to know
// whether it hangs.
const waitsLeast = 10 * time.Second

// waiting reports whether requests have been in flight for much longer than others took.
func (o *outage) waiting() bool {
	if o.r.opt.Load == nil {
		return false
	}
	run := o.r.opt.Load.Run()
	old := run.Totals.InFlight()
	for _, x := range run.Seconds {
		if o.r.opt.Now().Sub(x.At) < max(waitsLeast, 2*o.slowest) {
			old -= x.Unresolved
		}
	}
	return old > 0
}

// unasked reports whether the requests that have ended since zero do not show what clients
// noticed: none was ok, many were not sent, or some hung until the operator ended them.
func (o *outage) unasked() bool {
	var all loadgen.Counts
	for run, l := range o.loads {
		if o.tracker.Window(run).Hung().Cancelled > 0 {
			return true
		}
		all.Add(l.totals.Counts())
	}
	return all.OK == 0 || all.ManyUnsent()
}

// countRow counts the requests that failed in a row, in the order in which they were sent.
func (o *outage) countRow(inFlight map[int64]bool) {
	o.mostInRow = max(o.mostInRow, o.r.row.longest(o.zero, o.r.opt.Now(), inFlight))
}

// secondsInFlight has the seconds of the requests that are in flight. Who takes the ended requests
// afterwards has all others.
func (o *outage) secondsInFlight() map[int64]bool {
	seconds := map[int64]bool{}
	if o.r.opt.Load == nil {
		return seconds
	}
	for _, x := range o.r.opt.Load.Run().Seconds {
		if x.Unresolved > 0 {
			seconds[x.At.Unix()] = true
		}
	}
	return seconds
}
