package trial

import (
	"time"

	"lightsout/loadgen"
)

const (
	// shareSpan is how long before and after a time in which other clients used the
	// service a gauge may have counted their requests as lightsout's own.
	shareSpan = 10 * time.Second
	// shareLeast is the least such time: servers' averages may lag behind for less.
	shareLeast = 3 * time.Second
)

// peak keeps the largest values of the gauge during a load. The zero value is ready. One
// goroutine may use it.
type peak struct {
	// served is the largest number that servers reported, or an estimate without one;
	// basis is its source.
	served int
	basis  loadgen.Basis
	// servedUpTo and queuedUpTo are how large the peaks may be: the servers counted requests
	// of other clients as well. They are 0 if they did not.
	servedUpTo, queuedUpTo int

	// The gauges of the last shareSpan: a share that begins now may include them.
	undecided []loadgen.Gauge
	// sharedFrom is since when the servers have held requests of others; zero: they hold
	// none. sharedUntil is the end of the last such time that was at least shareLeast.
	sharedFrom, sharedUntil time.Time
}

// take takes a gauge; they come in order, and may come twice.
func (p *peak) take(g loadgen.Gauge) {
	if n := len(p.undecided); n > 0 && !g.At.After(p.undecided[n-1].At) {
		return
	}
	if g.Others == 0 {
		p.sharedFrom = time.Time{}
		p.settle(g.At.Add(-shareSpan))
		p.undecided = append(p.undecided, g)
		return
	}
	if p.sharedFrom.IsZero() {
		p.sharedFrom = g.At
	}
	p.share(g)
	if g.At.Sub(p.sharedFrom) < shareLeast {
		return
	}
	for _, earlier := range p.undecided {
		p.share(earlier)
	}
	p.undecided, p.sharedUntil = nil, g.At
}

// settle decides about the gauges up to a time.
func (p *peak) settle(until time.Time) {
	for len(p.undecided) > 0 && !p.undecided[0].At.After(until) {
		p.decide(p.undecided[0])
		p.undecided = p.undecided[1:]
	}
}

// settleAll decides about all gauges: the load is over.
func (p *peak) settleAll() {
	for _, g := range p.undecided {
		p.decide(g)
	}
	p.undecided = nil
}

func (p *peak) decide(g loadgen.Gauge) {
	if !p.sharedUntil.IsZero() && g.At.Sub(p.sharedUntil) < shareSpan {
		p.share(g)
		return
	}
	p.count(g)
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
	proven := 0
	if g.Others > 0 {
		proven = g.Heard
	}
	p.servedUpTo = max(p.servedUpTo, g.Served, g.ServedUpTo)
	p.queuedUpTo = max(p.queuedUpTo, g.Outstanding-g.OnDead-g.Stalled-proven)
	if proven > p.served || !p.measured() {
		p.served, p.basis = proven, loadgen.BasisPartial
	}
}

// measured reports whether servers reported the peak, or bytes proved it.
func (p *peak) measured() bool {
	return p.basis == loadgen.BasisMeasured || p.basis == loadgen.BasisPartial
}
