package phase

import (
	"fmt"
	"time"

	"lightsout/cluster/forecast"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// failures sums up the failed requests of the outage.
type failures struct {
	window loadgen.Failures // those of the error window
	// windows are the same of each of the generator's runs.
	windows map[int]*loadgen.Failures
	on      time.Time // the first power-on asked for
	after   int       // how many were sent after it
}

func (f *failures) returned(at time.Time) {
	if f.on.IsZero() || at.Before(f.on) {
		f.on = at
	}
}

// Request notes a request that has ended. Failed ones make the error window: it
// goes from the sending of the first to that of the last, up to the first
// power-on. One that was in flight at zero counts as sent at zero.
func (t *Tracker) Request(r loadgen.Record) {
	if !r.Class.Failed() || t.zero.IsZero() || r.End.Before(t.zero) {
		return
	}
	if r.CountedAt().Before(t.zero) {
		r.Sent = t.zero
	}
	f := &t.failures
	if !f.on.IsZero() && r.CountedAt().After(f.on) {
		f.after += r.Requests()
		return
	}
	f.window.Note(&r)
	if f.windows == nil {
		f.windows = map[int]*loadgen.Failures{}
	}
	if f.windows[r.Run] == nil {
		f.windows[r.Run] = &loadgen.Failures{}
	}
	f.windows[r.Run].Note(&r)
}

// Window is what of the error window one run of the generator has.
func (t *Tracker) Window(run int) loadgen.Failures {
	if w := t.failures.windows[run]; w != nil {
		return *w
	}
	return loadgen.Failures{}
}

// forecastErrors forecasts the end of the error window: when no endpoint on the
// nodes is ready, and kube-proxy has heard of it.
func (t *Tracker) forecastErrors() {
	r := t.row(view.PhaseErrors, Load)
	var predicted, first forecast.Interval
	for _, name := range t.names {
		if x := t.rows[rowKey{view.PhaseEndpointsOut, name}]; x != nil {
			predicted, first = predicted.Latest(x.predicted), first.Latest(x.first)
		}
	}
	if !predicted.To.IsZero() {
		r.predicted = forecast.Interval{From: t.zero, To: predicted.To.Add(proxySync)}
	}
	if !first.To.IsZero() {
		r.first = forecast.Interval{From: t.zero, To: first.To.Add(proxySync)}
	}
	r.from, r.observed = t.failures.window.First, t.failures.window.Last
	r.notes = nil
	switch f := t.failures; {
	case f.window.N == 0 && f.after == 0:
	case f.window.N == 0:
		r.note(fmt.Sprintf("%d failed after the power-on", f.after))
	case f.after > 0:
		r.note(fmt.Sprintf("%d failed, %d more after the power-on", f.window.N, f.after))
	default:
		r.note(fmt.Sprintf("%d failed", f.window.N))
	}
}

// proxySync is kube-proxy's own delay (minSyncPeriod, 1 s by default,
// pkg/proxy/apis/config) and a little.
const proxySync = 1500 * time.Millisecond
