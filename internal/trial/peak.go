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
	// queued is the largest queue that the gauges show, streaming the largest number of answers
	// of which bytes came at once.
	queued, streaming int
	// servedMost and queuedMost are how large the peaks may be if some of the requests that
	// the servers counted were of others, or if the gauge measured another deployment: missed.
	servedMost, queuedMost int
	missed                 bool
	// last is when the newest gauge was, shared how long those lasted that show requests of others.
	last   time.Time
	shared time.Duration
}

// take takes a gauge; they come in order, and may come twice.
func (p *peak) take(g loadgen.Gauge) {
	if !g.At.After(p.last) {
		return
	}
	lasts := min(gaugeLasts, g.At.Sub(p.last))
	p.last = g.At
	p.streaming, p.queued = max(p.streaming, g.Streaming), max(p.queued, g.LeastQueued())
	p.servedMost = max(p.servedMost, g.Served, g.ServedUpTo)
	p.queuedMost = max(p.queuedMost, g.Outstanding-g.OnDead-g.Stalled-g.Streaming)
	if g.Others > 0 {
		p.proven = max(p.proven, g.Heard)
		p.shared += lasts
		return
	}
	p.proven = max(p.proven, g.Streaming)
	switch estimated := p.basis == "" || p.basis == loadgen.BasisEstimated; {
	case g.Heard > 0 && (estimated || g.Heard > p.served || g.Heard == p.served && g.Basis == loadgen.BasisMeasured):
		p.served, p.basis = g.Heard, g.Basis // a measured peak replaces any estimate
	case estimated:
		p.served, p.basis = max(p.served, g.Served), loadgen.BasisEstimated
	}
}

// miss takes a gauge of the servers of another deployment: how many of the requests are served,
// and how many queue, is unknown.
func (p *peak) miss(g loadgen.Gauge) {
	p.missed = true
	p.servedMost, p.queuedMost = max(p.servedMost, g.Outstanding), max(p.queuedMost, g.Outstanding)
}

// result is the largest number of requests that were served, its source, and how large it and the
// queue may be: 0 if they are known. Of a load that others disturbed, only what bytes prove is known.
func (p *peak) result() (served int, basis loadgen.Basis, servedUpTo, queuedUpTo int) {
	served, basis = p.served, p.basis
	disturbed := p.shared >= shareLeast
	if disturbed || p.proven > served {
		served, basis = p.proven, loadgen.BasisPartial
	}
	if disturbed || p.missed {
		return served, basis, p.servedMost, p.queuedMost
	}
	return served, basis, 0, 0
}
