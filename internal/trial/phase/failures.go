package phase

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// failures collects the failed requests of the outage.
type failures struct {
	row  row // of the error window
	all  *loadgen.Window
	runs map[int]*Run
	// within is the longest time that a request takes to fail.
	within time.Duration
}

// Run is what is known of the ended requests of one of the generator's runs.
type Run struct {
	*loadgen.Window
	totals loadgen.Totals
	// From is when the first of them was due, To when the newest one ended; zero if there is none.
	From, To time.Time
}

// Counts counts the requests, and those that are still in flight.
func (x *Run) Counts(inFlight int) loadgen.Counts {
	c := x.totals.Counts()
	c.Scheduled, c.InFlight = c.Scheduled+inFlight, inFlight
	return c
}

// Run returns the requests of a run.
func (t *Tracker) Run(number int) *Run {
	f := &t.failures
	if f.runs[number] == nil {
		f.runs[number] = &Run{Window: loadgen.NewWindow()}
	}
	return f.runs[number]
}

// Runs are the numbers of the runs with requests, in their order.
func (t *Tracker) Runs() []int { return slices.Sorted(maps.Keys(t.failures.runs)) }

// Request records a request that has ended.
func (t *Tracker) Request(r loadgen.Record) {
	t.failures.all.Note(&r, t.zero, t.disrupted)
	x := t.Run(r.Run)
	x.Note(&r, t.zero, t.disrupted)
	x.totals.Count(r)
	if x.From.IsZero() {
		x.From = r.Scheduled
	}
	x.To = r.End
}

// FailsWithin sets the longest time that a request takes to fail when its machine goes
// silent. The largest value counts.
func (t *Tracker) FailsWithin(d time.Duration) { t.failures.within = max(t.failures.within, d) }

// Requests returns the window of all requests.
func (t *Tracker) Requests() *loadgen.Window { return t.failures.all }

// healed forecasts when requests can be answered again: no endpoint on the nodes is ready; where
// that leaves no pod, the pods are replaced or have returned.
func healed(t *Tracker) (i forecast.Interval, why string) {
	for _, name := range t.names {
		if x := t.nodes[name].rows[view.PhaseEndpointsOut]; x != nil {
			i = i.Latest(x.predicted)
		}
	}
	v := t.service()
	if v.lost == 0 || v.lost < len(v.pods) {
		return i, ""
	}
	i = v.rows.of(view.PhaseReplaced).seenOr()
	if back := v.rows.of(view.PhaseRestored).seenOr(); i.IsZero() || !back.IsZero() && back.To.Before(i.To) {
		i = back
	}
	return i, "all pods that served are on nodes that are down"
}

// forecastErrors forecasts the end of the error window: requests can be answered again,
// kube-proxy has learned of it, and the last request has failed.
func (t *Tracker) forecastErrors() {
	r := &t.failures.row
	i, why := healed(t)
	r.why = ""
	switch {
	case !i.To.IsZero():
		r.predicted = forecast.Interval{From: t.zero, To: i.To.Add(proxySync + t.failures.within)}
	case why != "":
		r.predicted, r.why = forecast.Interval{}, why
	}
	found := t.failures.all.Findings(t.Outages())
	r.notes = nil
	for i, w := range found.ErrorWindows {
		text := fmt.Sprintf("%d failed", w.N)
		if i < len(found.ErrorWindows)-1 {
			text += fmt.Sprintf(" in an earlier window from %.1f s to %.1f s", w.First.Sub(t.zero).Seconds(), w.Ended.Sub(t.zero).Seconds())
		}
		r.from, r.when = w.First, cluster.At(w.Ended)
		r.explain(text)
	}
	if n := t.failures.all.AtZero(); n.Scheduled > 0 {
		r.explain(AtZeroText(n))
	}
	if later := found.LaterFailures; later.N > 0 {
		r.explain(fmt.Sprintf("%d failed later, from %.1f s to %.1f s", later.N, later.First.Sub(t.zero).Seconds(), later.Ended.Sub(t.zero).Seconds()))
	}
}

// AtZeroText describes how the requests in flight at zero ended.
func AtZeroText(n loadgen.Counts) string {
	return fmt.Sprintf("%d in flight at zero: %s", n.Scheduled, n.Ends())
}

// proxySync is kube-proxy's own delay (minSyncPeriod, 1 s by default,
// pkg/proxy/apis/config) and a little.
const proxySync = 1500 * time.Millisecond
