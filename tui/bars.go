package tui

import (
	"slices"

	"lightsout/loadgen"
)

// eighths is the height of n requests in eighths of a row.
func (c *chart) eighths(n int) int { return max(n, 0) * c.rows * 8 / c.scale.top }

func (c *chart) set(y, x int, glyph string, st style) {
	if y >= 0 && y*c.w+x < len(c.grid) {
		c.grid[y*c.w+x] = span{st, glyph}
	}
}

// glyph is what a cell has; empty while it has nothing.
func (c *chart) glyph(y, x int) string { return c.grid[y*c.w+x].s }

// bar draws what was outstanding: served in eighths of a row, the rest on top
// of it in whole ones.
func (c *chart) bar(x int, b *bin) {
	t := c.t
	served := c.eighths(b.Served)
	y := 0 // counted from the axis
	for ; y < served/8; y++ {
		c.set(c.up-1-y, x, t.full, t.good)
	}
	switch part := served % 8; {
	case t.ascii && (part >= 4 || served > 0 && y == 0):
		c.set(c.up-1-y, x, t.full, t.good)
		y++
	case part > 0 && !t.ascii:
		look := t.good
		if b.Queued > 0 && b.Stalled+b.OnDead == 0 {
			look = t.bars.mixed
		}
		c.set(c.up-1-y, x, t.eighths[part], look)
		y++
	}
	sum := b.Served
	for _, part := range []struct {
		n     int
		glyph string
		look  style
	}{{b.Stalled, t.stalled, t.bars.stalled}, {b.OnDead, t.onDead, t.bad}, {b.Queued, t.light, t.warn}} {
		if part.n <= 0 {
			continue
		}
		sum += part.n
		top := max((c.eighths(sum)+4)/8, y+1) // one is seen, too
		for ; y < top; y++ {
			c.set(c.up-1-y, x, part.glyph, part.look)
		}
	}
}

// gapMost is how many columns without a reading are still a gap in the bars.
const gapMost = 3

// gaps draws a neutral sign where the gauge was not read for a moment although
// requests were under way before and after: not knowing is not nothing.
func (c *chart) gaps() {
	for x, last := 0, -1; x < len(c.bins); x++ {
		if !c.bins[x].Sampled {
			continue
		}
		if n := x - last - 1; last >= 0 && n > 0 && n <= gapMost {
			least := min(outstanding(c.bins[last].Second), outstanding(c.bins[x].Second))
			for y := 0; least > 0 && y < max(1, c.eighths(least)/8); y++ {
				for gap := last + 1; gap < x; gap++ {
					c.set(c.up-1-y, gap, c.t.unread, c.t.dim)
				}
			}
		}
		last = x
	}
}

// level is the row of the line for a value; -1 when there is none.
func (c *chart) level(n int) int {
	if n <= 0 {
		return -1
	}
	return max(0, c.up-1-c.eighths(n)/8)
}

// steps draws a step line into empty cells. Where solid, its turns are drawn,
// and it goes over what is queued or begins in the middle of a cell: how much
// can be served is always in sight. Where it is what lies on the bars of served
// it leaves every other cell, so that both are seen.
func (c *chart) steps(value func(*bin) int, glyph string, look style, solid bool) {
	t := c.t
	before := -1
	for x := range c.bins {
		y := c.level(value(&c.bins[x]))
		if solid && before >= 0 && y >= 0 && before != y {
			c.turn(x, before, y)
			before = y
			continue
		}
		before = y
		switch {
		case y < 0:
		case c.glyph(y, x) == "":
			c.set(y, x, glyph, look)
		case !solid || c.glyph(y, x) == t.full:
		case y+1 < c.up && c.glyph(y+1, x) != t.full || x%2 == 0:
			c.set(y, x, glyph, t.bars.capacityOnQueue)
		}
	}
}

// turn draws the step from row a to row b in one column.
func (c *chart) turn(x, a, b int) {
	t, st := c.t, c.t.bars.capacity
	put := func(y int, g string) {
		if c.glyph(y, x) == "" {
			c.set(y, x, g, st)
		}
	}
	if a < b { // down
		put(a, t.capDown)
		put(b, t.capBot)
	} else {
		put(a, t.capTop)
		put(b, t.capUp)
	}
	for y := min(a, b) + 1; y < max(a, b); y++ {
		put(y, t.capTurn)
	}
}

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
