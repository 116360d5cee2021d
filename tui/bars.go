package tui

import (
	"slices"

	"lightsout/loadgen"
)

func (c *chart) set(y, x int, glyph string, st style) {
	if y >= 0 && y*c.w+x < len(c.grid) {
		c.grid[y*c.w+x] = span{st, glyph}
	}
}

// bar draws the requests outstanding at a time, or the requests answered and still
// waiting.
func (c *chart) bar(x int, b *bin) {
	all, seconds := [...]part{{b.Served, layerServed}, {b.Stalled, layerStalled}, {b.OnDead, layerOnDead}, {b.Queued, layerQueued}, {b.Unknown, layerUnknown}}, 1
	if c.scale.perSecond {
		all, seconds = [...]part{{b.OK, layerServed}, {b.Waited(), layerWaiting}, {}, {}, {}}, b.seconds
	}
	parts := slices.DeleteFunc(all[:], func(p part) bool { return p.n <= 0 })
	c.stack(x, parts, seconds)
}

// has reports which layers occur in the seconds that the chart may show.
func (c *chart) has() (out [layers]bool) {
	for i := range c.all {
		b := &c.all[i]
		out[layerStalled] = out[layerStalled] || b.Stalled > 0
		out[layerOnDead] = out[layerOnDead] || b.OnDead > 0
		out[layerUnknown] = out[layerUnknown] || b.Unknown > 0
	}
	return out
}

// level returns the row of the line for a value; -1 if there is none.
func (c *chart) level(n int) int {
	if n <= 0 {
		return -1
	}
	return c.up - 1 - (c.lineAt(n)-1)/8
}

// lineAt returns the upper edge of a value's line, in eighths of a row: the height at
// which a bar of that value ends.
func (c *chart) lineAt(n int) int { return max(1, min(c.eighths(n, 1), c.up*8)) }

// rule draws one cell of a line: in an empty cell, or over the colour of a layer that
// fills it. Other cells show the bar alone.
func (c *chart) rule(x, n int, look style, over bool) {
	y := c.level(n)
	if y < 0 {
		return
	}
	sign := c.t.rules[(c.lineAt(n)-1)%8]
	cell := y*c.w + x
	onLayer := c.t.over[c.solid[cell]]
	switch {
	case c.grid[cell].s == "":
		c.set(y, x, sign, look)
	case over && onLayer != "" && c.grid[cell].s == c.t.full:
		c.set(y, x, sign, onLayer)
	}
}

// rules draws the lines: with gaps the scheduled requests per second, or the target capacity
// where it differs from the capacity.
func (c *chart) rules(spec loadgen.Spec) {
	due := int(spec.PerSecond)
	whole := spec.Shape == loadgen.Rate && float64(due) == spec.PerSecond
	for x := range c.bins {
		b, gap := &c.bins[x], x%2 > 0
		switch {
		case !c.scale.perSecond:
			c.rule(x, b.Capacity, c.t.accent, true)
			if b.Target != b.Capacity && !gap {
				c.rule(x, b.Target, c.t.dim, false)
			}
		case whole && b.Sent > 0 && !gap:
			c.rule(x, due, c.t.dim, false)
		}
	}
}

// gaugeTop returns how much of the scale a gauge takes: requests in work or held, free
// capacity, and waiting requests.
func gaugeTop(g loadgen.Gauge) int {
	return max(g.Target, max(g.Capacity, g.Served+g.Stalled+g.OnDead)+g.Queued+g.Unknown, 1)
}

// gaugeBar draws the outstanding requests on one scale, in at most w cells: served,
// stalled, on dead nodes, free capacity, queued; with one tick at the capacity and one
// at the target capacity. It always takes w cells, so that the text next to it does not
// move.
func gaugeBar(t *theme, r *row, g loadgen.Gauge, top, w int) {
	for _, n := range []*int{&g.Served, &g.Queued, &g.Stalled, &g.OnDead, &g.Unknown, &g.Capacity, &g.Target} {
		*n = max(*n, 0)
	}
	top = max(top, gaugeTop(g))
	w -= 2 // the ticks
	at := func(n int) int { return n * w / top }
	cells := make([]span, 0, w)
	put := func(as span, to int) {
		for len(cells) < min(to, w) {
			cells = append(cells, as)
		}
	}
	sum := 0
	type piece struct {
		n  int
		as span
	}
	for _, part := range []piece{{g.Served, t.swatch(layerServed)}, {g.Stalled, t.swatch(layerStalled)}, {g.OnDead, t.swatch(layerOnDead)},
		{max(g.Capacity-g.Served-g.Stalled-g.OnDead, 0), span{t.good, t.free}}, {g.Queued, t.swatch(layerQueued)}, {g.Unknown, t.swatch(layerUnknown)}} {
		if part.n > 0 {
			sum += part.n
			put(part.as, max(at(sum), len(cells)+1))
		}
	}
	put(span{t.dim, t.none}, w)

	ticks := []piece{{g.Capacity, span{t.accent, t.tickNow}}, {g.Target, span{t.dim, t.tickTarget}}}
	if g.Target == g.Capacity {
		ticks = ticks[:1]
	}
	slices.SortStableFunc(ticks, func(a, b piece) int { return at(a.n) - at(b.n) })
	from, end := 0, r.left-w-2
	for _, tick := range ticks {
		if tick.n > 0 {
			r.runs(cells[from:at(tick.n)]).put(tick.as.st, tick.as.s)
			from = at(tick.n)
		}
	}
	r.runs(cells[from:]).space(r.left - end)
}
