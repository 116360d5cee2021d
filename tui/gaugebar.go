package tui

import (
	"slices"

	"lightsout/loadgen"
)

// gaugeTop is how much of the scale a gauge takes: what is being worked on or
// held, and free capacity, and after it what waits.
func gaugeTop(g loadgen.Gauge) int {
	return max(g.Target, max(g.Capacity, g.Served+g.Stalled+g.OnDead)+g.Queued, 1)
}

// gaugeBar draws what is outstanding on one scale, in at most w cells: served,
// stalled, on dead nodes, free capacity, queued; with a tick each where the
// capacity is now and where it should be. It always takes w cells, so that what
// stands beside it stays where it is.
func gaugeBar(t *theme, r *row, g loadgen.Gauge, top, w int) {
	for _, n := range []*int{&g.Served, &g.Queued, &g.Stalled, &g.OnDead, &g.Capacity, &g.Target} {
		*n = max(*n, 0)
	}
	top = max(top, gaugeTop(g))
	if w -= 2; w < 1 { // the ticks
		return
	}
	at := func(n int) int { return n * w / top }
	cells := make([]span, 0, w)
	put := func(as span, to int) {
		for len(cells) < min(to, w) {
			cells = append(cells, as)
		}
	}
	sum := 0
	for _, part := range []struct {
		n  int
		as span
	}{{g.Served, span{t.good, t.full}}, {g.Stalled, span{t.bars.stalled, t.stalled}}, {g.OnDead, span{t.bad, t.onDead}},
		{max(g.Capacity-g.Served-g.Stalled-g.OnDead, 0), span{t.good, t.free}}, {g.Queued, span{t.warn, t.light}}} {
		if part.n > 0 {
			sum += part.n
			put(part.as, max(at(sum), len(cells)+1))
		}
	}
	put(span{t.dim, t.none}, w)

	type tick struct {
		n  int
		as span
	}
	ticks := []tick{{g.Capacity, span{t.bars.capacity, t.tickNow}}, {g.Target, span{t.dim, t.tickTarget}}}
	if g.Target == g.Capacity {
		ticks = ticks[:1]
	}
	slices.SortStableFunc(ticks, func(a, b tick) int { return at(a.n) - at(b.n) })
	from, end := 0, r.left-w-2
	for _, tick := range ticks {
		if tick.n > 0 {
			r.runs(cells[from:at(tick.n)]).put(tick.as.st, tick.as.s)
			from = at(tick.n)
		}
	}
	r.runs(cells[from:]).space(r.left - end)
}
