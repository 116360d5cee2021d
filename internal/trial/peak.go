package trial

import (
	"time"

	"lightsout/loadgen"
)

const (
	// shareSpan is how long before and after a time in which others used the servers a
	// gauge may have counted their requests as lightsout's own.
	shareSpan = 10 * time.Second
	// shareLeast is the least such time within the span: servers' averages may lag behind
	// lightsout's own requests for less.
	shareLeast = 3 * time.Second
	// gaugeLasts is the longest time for which one gauge counts.
	gaugeLasts = time.Second
)

// peak keeps the largest values of the gauge during a load. The zero value is ready. One
// goroutine may use it.
type peak struct {
	// served is the largest number that servers reported, or an estimate without one;
	// basis is its source.
	served int
	basis  loadgen.Basis
	// queued is the largest queue that the gauges show. missed: some gauges measured another
	// deployment.
	queued int
	missed bool
	// servedUpTo and queuedUpTo are how large the peaks may be: the servers counted requests
	// of others as well, or the gauge measured another deployment. They are 0 if neither.
	servedUpTo, queuedUpTo int
	// streaming is the largest number of answers of which bytes came at once.
	streaming int

	// recent are the gauges that are undecided, from number undecided on, and those that
	// decide about them: up to shareSpan earlier.
	recent    []loadgen.Gauge
	undecided int
}

// take takes a gauge; they come in order, and may come twice.
func (p *peak) take(g loadgen.Gauge) {
	if n := len(p.recent); n > 0 && !g.At.After(p.recent[n-1].At) {
		return
	}
	p.streaming, p.queued = max(p.streaming, g.Streaming), max(p.queued, g.LeastQueued())
	p.recent = append(p.recent, g)
	p.settle(g.At.Add(-shareSpan))
}

// miss takes a gauge of the servers of another deployment: how many of the requests are served,
// and how many queue, is unknown.
func (p *peak) miss(g loadgen.Gauge) {
	p.missed = true
	p.servedUpTo, p.queuedUpTo = max(p.servedUpTo, g.Outstanding), max(p.queuedUpTo, g.Outstanding)
}

// settle decides about the gauges up to a time, and forgets those that decide nothing any more.
func (p *peak) settle(until time.Time) {
	for p.undecided < len(p.recent) && !p.recent[p.undecided].At.After(until) {
		p.decide(p.undecided)
		p.undecided++
	}
	old := 0
	for old < p.undecided && p.recent[old].At.Before(until.Add(-shareSpan)) {
		old++
	}
	p.recent, p.undecided = p.recent[old:], p.undecided-old
}

// settleAll decides about all gauges: the load is over.
func (p *peak) settleAll() {
	if n := len(p.recent); n > 0 {
		p.settle(p.recent[n-1].At)
	}
}

// decide counts a gauge: as one of lightsout's requests alone, or as one that may include those
// of others.
func (p *peak) decide(i int) {
	g := p.recent[i]
	switch {
	case p.shared(i):
		p.share(g)
	case g.Others == 0:
		p.count(g)
	case g.Heard > p.served:
		p.served, p.basis = g.Heard, loadgen.BasisPartial // bytes prove them
	}
}

// shared reports whether others used the servers around a gauge: for shareLeast or, of a short
// load, for half of the time.
func (p *peak) shared(i int) bool {
	var seen, shared time.Duration
	at := p.recent[i].At
	for j, g := range p.recent {
		if d := g.At.Sub(at); d < -shareSpan || d > shareSpan {
			continue
		}
		lasts := gaugeLasts
		if j+1 < len(p.recent) {
			lasts = min(lasts, p.recent[j+1].At.Sub(g.At))
		}
		seen += lasts
		if g.Others > 0 {
			shared += lasts
		}
	}
	return shared >= shareLeast || shared > 0 && 2*shared >= seen
}

// count counts a gauge of lightsout's requests alone.
func (p *peak) count(g loadgen.Gauge) {
	switch heard := g.Heard > 0; {
	case heard && !p.measured():
		p.served, p.basis = g.Heard, g.Basis // a measured peak replaces any estimate
	case heard && g.Heard >= p.served:
		if g.Heard > p.served || g.Basis == loadgen.BasisMeasured {
			p.basis = g.Basis
		}
		p.served = g.Heard
	case !p.measured():
		p.served, p.basis = max(p.served, g.Served), loadgen.BasisEstimated
	}
}

// share counts a gauge that may include requests of others. What arriving bytes prove is
// served; the rest is served or queued.
func (p *peak) share(g loadgen.Gauge) {
	p.servedUpTo = max(p.servedUpTo, g.Served, g.ServedUpTo)
	p.queuedUpTo = max(p.queuedUpTo, g.Outstanding-g.OnDead-g.Stalled-g.Streaming)
	if g.Streaming > p.served || !p.measured() {
		p.served, p.basis = g.Streaming, loadgen.BasisPartial
	}
}

// measured reports whether servers reported the peak, or bytes proved it.
func (p *peak) measured() bool {
	return p.basis == loadgen.BasisMeasured || p.basis == loadgen.BasisPartial
}
