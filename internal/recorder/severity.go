package recorder

import (
	"cmp"
	"slices"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/internal/trial/phase"
	"lightsout/loadgen"
)

// clients are the requests of an outage that have ended.
type clients struct {
	loads   map[int]*load // by the generator's numbers
	seconds []sentIn      // in their order
	// slowest is the longest time that a request took that was ok.
	slowest time.Duration
}

// load is a run of the generator during an outage.
type load struct {
	totals   loadgen.Totals
	from, to time.Time
}

// sentIn is the requests that were sent in one second: how many failed, and whether others were ok.
type sentIn struct {
	second int64
	failed int
	ok     bool
}

// downLeast is how many requests in a row fail while the service is down.
const downLeast = 3

func (c *clients) add(q *loadgen.Record) {
	l := c.loads[q.Run]
	if l == nil {
		l = &load{from: q.Scheduled}
		c.loads[q.Run] = l
	}
	l.totals.Count(*q)
	l.to = q.End
	x := c.sentIn(q.CountedAt().Unix())
	switch {
	case q.Class.Failed():
		x.failed++
	case q.Class == loadgen.ClassOK:
		x.ok = true
		c.slowest = max(c.slowest, q.End.Sub(q.CountedAt()))
	}
}

// sentIn is the second, until the next one is added.
func (c *clients) sentIn(second int64) *sentIn {
	i, found := slices.BinarySearchFunc(c.seconds, second, func(x sentIn, s int64) int { return cmp.Compare(x.second, s) })
	if !found {
		c.seconds = slices.Insert(c.seconds, i, sentIn{second: second})
	}
	return &c.seconds[i]
}

// inRow is how many requests failed in a row, at most, in the order in which they were sent: one
// that hangs fails among later ones that are ok.
func (c *clients) inRow() (most int) {
	failed := 0
	for _, x := range c.seconds {
		switch {
		case !x.ok:
			failed += x.failed
			most = max(most, failed)
		default:
			failed = 0
			most = max(most, min(1, x.failed))
		}
	}
	return most
}

// sentence says what clients notice; empty if nobody knows. Of a target that has never answered
// the recorder, no failure shows that.
func (c *clients) sentence(answered bool) string {
	switch failed := c.inRow() > 0; {
	case failed && answered:
		return "clients see errors"
	case failed:
		return report.NeverAnswered
	case len(c.loads) > 0:
		return "no request has failed so far"
	}
	return ""
}

// answered reports whether the target has answered the recorder, or the requests are an operator's.
func (o *incident) answered() bool { return o.r.opt.Every == 0 || !o.r.requests.first.IsZero() }

// severity is what clients have noticed so far.
func (o *incident) severity() record.Severity {
	failed := o.clients.inRow()
	switch {
	case len(o.clients.loads) == 0 || !o.answered():
		return record.SeverityUnknown
	case failed >= downLeast:
		return record.SeverityDown
	case failed > 0:
		return record.SeverityDegraded
	case o.late(), o.from != nil, o.stoodStill(), o.waiting(), o.unasked():
		return record.SeverityUnknown
	}
	return record.SeverityUnnoticed
}

// stoodStill reports whether the recorder did not run, and sent no requests, for a part of the
// outage.
func (o *incident) stoodStill() bool {
	return slices.ContainsFunc(o.tracker.Blind(), func(b phase.Blind) bool { return b.StoodStill })
}

// waitsLeast is the least time that a request must have been in flight for nobody to know
// whether it hangs.
const waitsLeast = 10 * time.Second

// waiting reports whether requests have been in flight for much longer than others took.
func (o *incident) waiting() bool {
	if o.r.opt.Load == nil {
		return false
	}
	run := o.r.opt.Load.Run()
	old := run.Totals.InFlight()
	for _, x := range run.Seconds {
		if o.r.opt.Now().Sub(x.At) < max(waitsLeast, 2*o.clients.slowest) {
			old -= x.Unresolved
		}
	}
	return old > 0
}

// unasked reports whether the requests that have ended since zero do not show what clients
// noticed: none was ok, many were not sent, or some hung until the operator ended them.
func (o *incident) unasked() bool {
	var all loadgen.Counts
	for run, l := range o.clients.loads {
		if o.tracker.Window(run).Hung().Cancelled > 0 {
			return true
		}
		all.Add(l.totals.Counts())
	}
	return all.OK == 0 || all.ManyUnsent()
}
