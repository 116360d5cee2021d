package phase

import (
	"fmt"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// failures sums up the failed requests of the outage.
type failures struct {
	n        int
	from, to time.Time // when the first and the last was sent
	on       time.Time // the first power-on asked for
	after    int       // how many were sent after it
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
	switch r.Class {
	case loadgen.ClassOK, loadgen.ClassCancelled, loadgen.ClassCensored, loadgen.ClassUnsent:
		return
	}
	if t.zero.IsZero() || r.End.Before(t.zero) {
		return
	}
	sent := r.Sent
	for _, at := range []time.Time{r.Dial, r.Scheduled} {
		if sent.IsZero() {
			sent = at
		}
	}
	if sent.Before(t.zero) {
		sent = t.zero
	}
	f := &t.failures
	if !f.on.IsZero() && sent.After(f.on) {
		f.after += max(r.Count, 1)
		return
	}
	f.n += max(r.Count, 1)
	if f.from.IsZero() || sent.Before(f.from) {
		f.from = sent
	}
	if sent.After(f.to) {
		f.to = sent
	}
}

// foreseeErrors forecasts the end of the error window: when no endpoint on the
// nodes is ready, and kube-proxy has heard of it.
func (t *Tracker) foreseeErrors() {
	r := t.row(view.PhaseErrors, Load)
	hull := func(get func(*row) time.Time) (to time.Time) {
		for _, name := range t.names {
			if x := t.rows[rowKey{view.PhaseEndpointsOut, name}]; x != nil && get(x).After(to) {
				to = get(x)
			}
		}
		return to
	}
	if to := hull(func(x *row) time.Time { return x.predicted.To }); !to.IsZero() {
		r.predicted.From, r.predicted.To = t.zero, to.Add(proxySync)
	}
	if to := hull(func(x *row) time.Time { return x.first.To }); !to.IsZero() {
		r.first.From, r.first.To = t.zero, to.Add(proxySync)
	}
	r.from, r.observed = t.failures.from, t.failures.to
	r.notes = nil
	switch f := t.failures; {
	case f.n == 0 && f.after == 0:
	case f.n == 0:
		r.note(fmt.Sprintf("%d failed after the power-on", f.after))
	case f.after > 0:
		r.note(fmt.Sprintf("%d failed, %d more after the power-on", f.n, f.after))
	default:
		r.note(fmt.Sprintf("%d failed", f.n))
	}
}

// proxySync is kube-proxy's own delay (minSyncPeriod, 1 s by default,
// pkg/proxy/apis/config) and a little.
const proxySync = 1500 * time.Millisecond
