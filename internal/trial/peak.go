package trial

import (
	"time"

	"lightsout/loadgen"
)

const (
	// shareLeast is how long others must use the servers of a load until its peaks are estimates:
	// servers' averages may lag behind lightsout's own requests for less.
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
	// streaming is the largest number of answers of which bytes came at once.
	streaming int
	// last is when the newest gauge was, shared how long those lasted that show requests of
	// others, or the servers of another deployment.
	last   time.Time
	shared time.Duration
}

// take takes a gauge; they come in order, and may come twice.
func (p *peak) take(g loadgen.Gauge) {
	if !g.At.After(p.last) {
		return
	}
	lasts := min(gaugeLasts, g.At.Sub(p.last))
	p.last, p.streaming = g.At, max(p.streaming, g.Streaming)
	switch estimated := p.basis == "" || p.basis == loadgen.BasisEstimated; {
	case g.Others > 0:
		p.shared += lasts
	case g.Heard > 0 && (estimated || g.Heard > p.served || g.Heard == p.served && g.Basis == loadgen.BasisMeasured):
		p.served, p.basis = g.Heard, g.Basis // a measured peak replaces any estimate
	case estimated:
		p.served, p.basis = max(p.served, g.Served), loadgen.BasisEstimated
	}
}

// result is the largest number of requests that were served, and its source. Bytes that arrive prove
// what they are of.
func (p *peak) result() (served int, basis loadgen.Basis) {
	switch {
	case p.shared >= shareLeast:
		return max(p.served, p.streaming), loadgen.BasisEstimated
	case p.streaming > p.served:
		return p.streaming, loadgen.BasisPartial
	}
	return p.served, p.basis
}
