package tui

import "fmt"

// row is the load as a whole, which has details once requests were sent.
func (p *requestsPane) row(s *scene) (object, bool) {
	return object{name: "requests", title: "Requests", facts: (*details).requests}, s.f.Load.Totals.Scheduled > 0
}

// requests adds the outcomes of the requests: the failed ones by class, the duration of the
// ok ones, and where each request is.
func (d *details) requests() {
	run, t := &d.s.f.Load, d.s.t
	failed := run.Totals.FailedSum()
	d.add("in all", fmt.Sprintf("%d scheduled: %d ok, %d failed, %d in flight, %d cancelled, %d unsent",
		run.Totals.Scheduled, run.Totals.OK, failed, run.Totals.InFlight(), run.Totals.Cancelled, run.Totals.Unsent))
	if failed == 0 {
		d.addStyled(t.good, "failed", "none")
	}
	d.head("Failed requests by class")
	for _, c := range mostFirst(run.Totals.Failed) {
		d.addStyled(t.bad, fmt.Sprintf("%s [%s]", c, letterOf(c)), fmt.Sprint(run.Totals.Failed[c]))
	}
	d.add("the last one", run.LastError)
	d.head("Duration of the ok requests, from their due time")
	if q := run.Latency.Scheduled; q.Count > 0 {
		d.add("half of them", "at most "+took(q.P50))
		d.add("90, 95, 99 %", fmt.Sprintf("at most %s, %s, %s", took(q.P90), took(q.P95), took(q.P99)))
		d.add("slowest", took(q.Max))
	}
	d.head("Single requests")
	d.addStyled(t.dim, "each request", "is in requests.jsonl of a record")
}
