package trial

import (
	"time"

	"lightsout/loadgen"
)

const (
	// shareLeast is how long others must use the servers of a load until its peaks are
	// ranges: servers' averages may lag behind lightsout's own requests for less.
	shareLeast = 3 * time.Second
	// gaugeLasts is the longest time for which one gauge counts.
	gaugeLasts = time.Second
)

// peak keeps the largest values of the gauge during a load. The zero value is ready. One
// goroutine may use it.
type peak struct {
	// served is the largest number that servers reported, or an estimate without one;
	// basis is its source. proven is the largest number that arriving bytes prove.
	served, proven int
	basis          loadgen.Basis
	// queued is the largest queue that the gauges show. missed: some gauges measured another
	// deployment.
	queued int
	missed bool
	// servedMost and queuedMost are how large the peaks may be if some of the requests that
	// the servers counted were of others.
	servedMost, queuedMost int
	// elsewhere is the most that was in flight while the gauge measured another deployment.
	elsewhere int
	// streaming is the largest number of answers of which bytes came at once.
	streaming int
	// last is when the newest gauge was, seen and shared how long all of them lasted, and
	// those that show requests of others.
	last         loadgen.Gauge
	seen, shared time.Duration
}

// take takes a gauge; they come in order, and may come twice.
func (p *peak) take(g loadgen.Gauge) {
	if !p.last.At.IsZero() {
		if !g.At.After(p.last.At) {
			return
		}
		p.lasts(min(gaugeLasts, g.At.Sub(p.last.At)))
	}
	p.last = g
	p.streaming, p.queued = max(p.streaming, g.Streaming), max(p.queued, g.LeastQueued())
	p.servedMost = max(p.servedMost, g.Served, g.ServedUpTo)
	p.queuedMost = max(p.queuedMost, g.Outstanding-g.OnDead-g.Stalled-g.Streaming)
	if g.Others > 0 {
		p.proven = max(p.proven, g.Heard)
		return
	}
	p.proven = max(p.proven, g.Streaming)
	switch heard := g.Heard > 0; {
	case heard && p.basis != loadgen.BasisMeasured && p.basis != loadgen.BasisPartial:
		p.served, p.basis = g.Heard, g.Basis // a measured peak replaces any estimate
	case heard && (g.Heard > p.served || g.Heard == p.served && g.Basis == loadgen.BasisMeasured):
		p.served, p.basis = g.Heard, g.Basis
	case p.basis == "" || p.basis == loadgen.BasisEstimated:
		p.served, p.basis = max(p.served, g.Served), loadgen.BasisEstimated
	}
}

// lasts adds the time for which the newest gauge counts.
func (p *peak) lasts(d time.Duration) {
	p.seen += d
	if p.last.Others > 0 {
		p.shared += d
	}
}

// miss takes a gauge of the servers of another deployment: how many of the requests are served,
// and how many queue, is unknown.
func (p *peak) miss(g loadgen.Gauge) {
	p.missed, p.elsewhere = true, max(p.elsewhere, g.Outstanding)
}

// result is the largest number of requests that were served, its source, and how large it and the
// queue may be: 0 if they are known. Of a load that others disturbed for shareLeast, or for half of
// its time, only what bytes prove is known.
func (p *peak) result() (served int, basis loadgen.Basis, servedUpTo, queuedUpTo int) {
	served, basis, servedUpTo, queuedUpTo = p.served, p.basis, p.elsewhere, p.elsewhere
	all := *p
	if !p.last.At.IsZero() {
		all.lasts(gaugeLasts)
	}
	switch disturbed := all.shared >= shareLeast || all.shared > 0 && 2*all.shared >= all.seen; {
	case disturbed:
		return p.proven, loadgen.BasisPartial, max(servedUpTo, p.servedMost), max(queuedUpTo, p.queuedMost)
	case p.proven > served:
		return p.proven, loadgen.BasisPartial, servedUpTo, queuedUpTo
	}
	return served, basis, servedUpTo, queuedUpTo
}
