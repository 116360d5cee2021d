package tui

import (
	"cmp"
	"fmt"
	"strings"

	"lightsout/loadgen"
)

// row is the load as a whole, which has details once requests were sent.
func (p *requestsPane) row(s *scene) (object, bool) {
	return object{name: "requests", title: "Requests", facts: (*details).requests}, s.f.Load.Totals.Scheduled > 0
}

// mostRequests is the number of single requests in the list.
const mostRequests = 24

// requests adds the outcomes of the requests: the failed ones by class and endpoint, the
// duration of the ok ones, and the newest ones.
func (d *details) requests() {
	run, single := &d.s.f.Load, d.s.f.Requests
	failed := run.Totals.FailedSum()
	d.add("in all", fmt.Sprintf("%d scheduled: %d ok, %d failed, %d in flight, %d cancelled, %d unsent",
		run.Totals.Scheduled, run.Totals.OK, failed, run.Totals.InFlight(), run.Totals.Cancelled, run.Totals.Unsent))
	if failed == 0 {
		d.addStyled(d.s.t.good, "failed", "none")
	}
	d.head("Failed requests by class")
	for _, c := range mostFirst(run.Totals.Failed) {
		d.addStyled(d.s.t.bad, fmt.Sprintf("%s [%s]", c, letterOf(c)), fmt.Sprint(run.Totals.Failed[c]))
	}
	if single != nil {
		d.failedByEndpoint(single)
	}
	d.took(run)
	if single == nil {
		d.head("Single requests")
		d.addStyled(d.s.t.dim, "none here", "requests.jsonl in the folder of the record has each request")
		return
	}
	d.head("Newest failed requests")
	for _, r := range single.Failures[:min(len(single.Failures), mostRequests)] {
		d.request(&r, d.s.t.bad)
	}
	d.head("Newest ok requests")
	for _, r := range single.Answers[:min(len(single.Answers), mostRequests)] {
		d.request(&r, "")
	}
}

func (d *details) failedByEndpoint(single *loadgen.Digest) {
	sums, parts := map[string]int{}, map[string][]string{}
	for _, g := range single.Failed {
		sums[g.Endpoint] += g.N
		parts[g.Endpoint] = append(parts[g.Endpoint], fmt.Sprintf("%d %s", g.N, g.Class))
	}
	d.head("Failed requests by endpoint")
	for _, e := range mostFirst(sums) {
		d.addStyled(d.s.t.bad, cmp.Or(e, "no connection"), fmt.Sprintf("%d: %s", sums[e], strings.Join(parts[e], ", ")))
	}
}

// took adds the durations of the ok requests.
func (d *details) took(run *loadgen.Run) {
	d.head("Duration of the ok requests, from their due time")
	q := run.Latency.Scheduled
	if q.Count == 0 {
		return
	}
	d.add("half of them", "at most "+took(q.P50))
	d.add("90, 95, 99 %", fmt.Sprintf("at most %s, %s, %s", took(q.P90), took(q.P95), took(q.P99)))
	d.add("slowest", took(q.Max))
}

// request adds one request: when it was sent, how it ended, how long it took.
func (d *details) request(r *loadgen.Record, st style) {
	first, status := "", ""
	if !r.FirstByte.IsZero() && !r.Sent.IsZero() {
		first = "first byte after " + took(r.FirstByte.Sub(r.Sent))
	}
	if r.Status > 0 && r.Class != loadgen.ClassOK {
		status = fmt.Sprint("status ", r.Status)
	}
	d.addStyled(st, d.s.offset(r.CountedAt().Local()),
		d.s.facts(r.Class.String(), took(r.End.Sub(r.Scheduled)), first, status, cmp.Or(r.Entry, r.Remote), r.ID, r.Error))
}
