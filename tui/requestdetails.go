package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/loadgen"
)

// row is the load as a whole, which has details once requests were sent.
func (p *requestsPane) row(s *scene) (object, bool) {
	return object{name: "requests", title: "Requests", facts: (*details).requests}, s.f.Load.Totals.Scheduled > 0
}

// mostRequests is the number of single requests in the list.
const mostRequests = 24

// requests adds the outcomes of the requests: the failed ones by class, endpoint and
// time, the duration of the ok ones, and the newest ones.
func (d *details) requests() {
	run, single := &d.s.f.Load, d.s.f.Requests
	failed := run.Totals.FailedSum()
	d.add("in all", fmt.Sprintf("%d scheduled: %d ok, %d failed, %d in flight, %d cancelled, %d unsent",
		run.Totals.Scheduled, run.Totals.OK, failed, run.Totals.InFlight(), run.Totals.Cancelled, run.Totals.Unsent))
	if failed == 0 {
		d.addStyled(d.s.t.good, "failed", "none")
	}
	d.failedByClass(run, single)
	if single != nil {
		d.failedByEndpoint(single)
	}
	d.failedByTime(run.Seconds)
	d.took(run, single)
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

func (d *details) failedByClass(run *loadgen.Run, single *loadgen.Digest) {
	d.head("Failed requests by class")
	for _, c := range slices.SortedFunc(maps.Keys(run.Totals.Failed), func(a, b loadgen.Class) int {
		return cmp.Or(run.Totals.Failed[b]-run.Totals.Failed[a], cmp.Compare(a, b))
	}) {
		n := run.Totals.Failed[c]
		if n == 0 {
			continue
		}
		text := fmt.Sprint(n)
		var first, last time.Time
		if single != nil {
			for _, g := range single.Failed {
				if g.Class == c && (first.IsZero() || g.First.Before(first)) {
					first = g.First
				}
				if g.Class == c && g.Last.After(last) {
					last = g.Last
				}
			}
		}
		if !first.IsZero() {
			text += ", sent from " + d.s.offset(first.Local()) + " to " + d.s.offset(last.Local())
		}
		d.addStyled(d.s.t.bad, fmt.Sprintf("%s [%s]", c, letterOf(c)), text)
	}
}

func (d *details) failedByEndpoint(single *loadgen.Digest) {
	sums, parts := map[string]int{}, map[string][]string{}
	for _, g := range single.Failed {
		sums[g.Endpoint] += g.N
		parts[g.Endpoint] = append(parts[g.Endpoint], fmt.Sprintf("%d %s", g.N, g.Class))
	}
	d.head("Failed requests by endpoint")
	for _, e := range slices.SortedFunc(maps.Keys(sums), func(a, b string) int { return cmp.Or(sums[b]-sums[a], cmp.Compare(a, b)) }) {
		text := fmt.Sprint(sums[e])
		if len(parts[e]) > 0 {
			text += ": " + strings.Join(parts[e], ", ")
		}
		d.addStyled(d.s.t.bad, cmp.Or(e, "no connection"), text)
	}
}

// spellGap is the longest time without a failure within a line of failedByTime.
const spellGap = 3 * time.Second

// failedByTime adds the periods with failed requests, for the seconds in the chart.
func (d *details) failedByTime(seconds []loadgen.Second) {
	d.head("Failed requests by the time they were sent")
	for i := 0; i < len(seconds); i++ {
		if seconds[i].FailedSum() == 0 {
			continue
		}
		first, last, sent, failed := i, i, 0, map[loadgen.Class]int{}
		for j := i; j < len(seconds) && seconds[j].At.Sub(seconds[last].At) <= spellGap; j++ {
			if seconds[j].FailedSum() > 0 {
				last = j
			}
		}
		n := 0
		for _, s := range seconds[first : last+1] {
			sent += s.Sent
			n += s.FailedSum()
			for c, k := range s.Failed {
				failed[c] += k
			}
		}
		when := d.s.offset(seconds[first].At.Local())
		if last > first {
			when += " " + d.s.t.dash + " " + d.s.offset(seconds[last].At.Local())
		}
		d.addStyled(d.s.t.bad, when, fmt.Sprintf("%d of %d sent: %s", n, sent, classes(failed, ", ")))
		i = last
	}
}

// tookWidth is the length of the longest bar of took, in cells.
const tookWidth = 32

// took adds a histogram of the duration of ok requests.
func (d *details) took(run *loadgen.Run, single *loadgen.Digest) {
	d.head("Duration of the ok requests, from their due time")
	q := run.Latency.Scheduled
	if q.Count == 0 {
		return
	}
	d.add("half of them", "at most "+took(q.P50))
	d.add("90, 95, 99 %", fmt.Sprintf("at most %s, %s, %s", took(q.P90), took(q.P95), took(q.P99)))
	d.add("slowest", took(q.Max))
	if single == nil {
		return
	}
	most := 1
	for _, s := range single.Took {
		most = max(most, s.N)
	}
	for _, s := range single.Took {
		bar := strings.Repeat(d.s.t.full, max(1, (s.N*tookWidth+most/2)/most))
		d.put(fact{label: "up to " + round(s.To), value: bar + " " + fmt.Sprint(s.N), st: d.s.t.good})
	}
}

// round formats a duration with one digit: "200 ms", "5 s".
func round(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return age(d)
}

// request adds one request: when it was sent, how it ended, how long it took.
func (d *details) request(r *loadgen.Record, st style) {
	parts := []string{r.Class.String(), took(r.End.Sub(r.Scheduled))}
	if !r.FirstByte.IsZero() && !r.Sent.IsZero() {
		parts = append(parts, "first byte after "+took(r.FirstByte.Sub(r.Sent)))
	}
	if r.Status > 0 && r.Class != loadgen.ClassOK {
		parts = append(parts, fmt.Sprint("status ", r.Status))
	}
	for _, part := range []string{cmp.Or(r.Entry, r.Remote), r.ID, r.Error} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	d.addStyled(st, d.s.offset(r.CountedAt().Local()), strings.Join(parts, " "+d.s.t.bullet+" "))
}
