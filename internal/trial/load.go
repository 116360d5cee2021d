package trial

import (
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// loadRun is one load step of a trial: a start of the generator.
type loadRun struct {
	step   string
	number int // as the generator counts its runs
	burst  bool
	// started and ended bound it; ended is zero until it is at rest.
	started, ended time.Time
	peak           peak // of the gauge during the load
}

// loadEnded reports whether a load starts no more requests and has none in flight.
func (r *run) loadEnded(l *loadRun) bool {
	if l.ended.IsZero() && r.s.AtRest(l.number) {
		l.ended = r.now()
	}
	return !l.ended.IsZero()
}

// failedAfter counts the failed requests that were sent after a detection and before the next
// power-off, at least and at most: rows have whole seconds. It is nil if a node was not detected, or
// if no request that succeeded or failed was sent after the last detection.
func failedAfter(rows []*loadgen.Row, outages loadgen.PowerOffs) *[2]int {
	var last time.Time
	for _, o := range outages {
		if o.Detected.IsZero() {
			return nil
		}
		if o.Detected.After(last) {
			last = o.Detected
		}
	}
	undetected := func(at time.Time) bool {
		return slices.ContainsFunc(outages, func(o loadgen.PowerOff) bool { return !at.Before(o.Off) && !at.After(o.Detected) })
	}
	known, n := false, [2]int{}
	for _, x := range rows {
		known = known || x.At.After(last) && x.OK+x.Span.N > 0
		switch first, end := undetected(x.Span.First), undetected(x.Span.Last); {
		case first && end:
		case first || end:
			n[0], n[1] = n[0]+1, n[1]+x.Span.N
		default:
			n[0], n[1] = n[0]+x.Span.N, n[1]+x.Span.N
		}
	}
	if last.IsZero() || !known {
		return nil
	}
	return &n
}

// gauge keeps the largest values that the gauge of a frame shows while loads run. While the
// operator has selected another deployment, the gauge measures the servers of that one.
func (r *run) gauge(f *view.Frame) {
	g := f.Load.Gauge
	if r.deployment != (cluster.Key{}) && f.Focus != r.deployment {
		r.elsewhere = f.Now
	}
	if g.Basis == loadgen.BasisIdle || g.At.IsZero() {
		return
	}
	for _, l := range r.loads {
		switch {
		case !l.ended.IsZero() || g.At.Before(l.started):
		case g.At.After(r.elsewhere):
			l.peak.take(g)
		default:
			l.peak.shared = shareLeast
		}
	}
}

// unique is the name of a step or a load of the operator that no other one has.
func (r *run) unique(text string) string {
	return plan.Unique(text, func(name string) bool {
		return slices.ContainsFunc(r.steps, func(st *stepRun) bool { return st.Name == name }) ||
			slices.ContainsFunc(r.loads, func(l *loadRun) bool { return l.step == name })
	})
}
