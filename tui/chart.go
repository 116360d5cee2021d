package tui

import (
	"fmt"
	"slices"
	"time"

	"lightsout/loadgen"
)

// chartLabel is the room for the numbers left of the chart.
const chartLabel = 6

// chart is the grid of the load over time: one column a second, newest at the
// right; served with queued on top, the capacity as a step line, failures
// below the axis.
type chart struct {
	t        *theme
	w        int // columns
	up, down int // rows above and below the axis
	rows     int // of those above, the height of top
	top      int // the largest value
	topFail  int
	glyphs   [][]string // [row][column], row 0 at the top
	looks    [][]style
	windows  []loadgen.Window // the last at column w-1; may be fewer than w
}

// drawChart gives h lines of w cells.
func drawChart(s *scene, w, h int) []string {
	c := &chart{t: s.t, w: w - chartLabel - 1}
	if c.w < 10 {
		return fill(nil, w, h)
	}
	labels := 0
	if h >= 7 {
		labels = 1
	}
	switch {
	case h >= 14:
		c.down = 2
	case h >= 5:
		c.down = 1
	}
	c.up = h - c.down - 1 - labels
	if c.up < 1 {
		return fill(nil, w, h)
	}
	c.windows = recent(s, c.w)
	g := s.f.Load.Gauge
	c.top = max(g.Target, g.Capacity, 1)
	for _, win := range c.windows {
		c.top = max(c.top, win.Served+win.Queued, win.Capacity, win.Target)
		c.topFail = max(c.topFail, win.FailedSum())
	}
	if c.topFail == 0 && h < 9 {
		c.up, c.down = c.up+c.down, 0
	}
	c.rows = evenRows(c.up-1, c.top)
	c.glyphs = make([][]string, c.up+1+c.down)
	c.looks = make([][]style, len(c.glyphs))
	for i := range c.glyphs {
		c.glyphs[i] = make([]string, c.w)
		c.looks[i] = make([]style, c.w)
	}
	c.bars()
	c.steps(func(win loadgen.Window) int { return win.Capacity }, c.t.line, lookCapacity, true)
	c.steps(func(win loadgen.Window) int { return win.Target }, c.t.target, lookTarget, false)
	c.axis()
	out := c.lines(w, g)
	if labels > 0 {
		out = append(out, c.times(s, w))
	}
	return fill(out, w, h)
}

// recent gives the windows of the last n seconds up to now. Seconds since the
// newest window are there as such without data.
func recent(s *scene, n int) []loadgen.Window {
	all := s.f.Load.Windows
	if len(all) == 0 {
		return nil
	}
	last := all[len(all)-1].Second
	// The newest window may be the second under way or the one before it.
	if gap := int(s.now.Sub(last)/time.Second) - 1; gap > 0 {
		gap = min(gap, n)
		all = slices.Clone(all[max(0, len(all)-n+gap):])
		for i := range gap {
			all = append(all, loadgen.Window{Second: last.Add(time.Duration(i+1) * time.Second)})
		}
	}
	return all[max(0, len(all)-n):]
}

// evenRows chooses how many of at most most rows the value top takes: the topmost
// row is left for the line of a full capacity, and heights that come out even
// are worth a row or two.
func evenRows(most, top int) int {
	most = max(1, most)
	for rows := most; rows >= max(3, most-2); rows-- {
		if top%rows == 0 || rows%top == 0 {
			return rows
		}
	}
	for rows := most; rows >= max(3, most-2); rows-- {
		if 8*rows%top == 0 {
			return rows
		}
	}
	return most
}

// eighths is the height of n requests in eighths of a row.
func (c *chart) eighths(n int) int { return max(n, 0) * c.rows * 8 / c.top }

// column gives the x of windows[i].
func (c *chart) column(i int) int { return c.w - len(c.windows) + i }

func (c *chart) set(y, x int, glyph string, st style) {
	if y >= 0 && y < len(c.glyphs) && x >= 0 && x < c.w {
		c.glyphs[y][x], c.looks[y][x] = glyph, st
	}
}

// bars draws served, queued and failed.
func (c *chart) bars() {
	t := c.t
	for i, win := range c.windows {
		x := c.column(i)
		served := c.eighths(win.Served)
		queued := (c.eighths(win.Served+win.Queued) + 4) / 8 // its top, in whole rows
		y := 0                                               // counted from the axis
		for ; y < served/8; y++ {
			c.set(c.up-1-y, x, t.full, t.bars[lookServed])
		}
		switch part := served % 8; {
		case t.ascii && (part >= 4 || served > 0 && y == 0):
			c.set(c.up-1-y, x, t.full, t.bars[lookServed])
			y++
		case part > 0 && !t.ascii:
			look := lookServed
			if win.Queued > 0 {
				look = lookMixed
			}
			c.set(c.up-1-y, x, t.eighths[part], t.bars[look])
			y++
		}
		if win.Queued > 0 {
			queued = max(queued, y+1) // one waiting is seen, too
		}
		for ; y < queued; y++ {
			c.set(c.up-1-y, x, t.light, t.bars[lookQueued])
		}
		c.failed(x, win.FailedSum())
	}
}

// failed draws n failures below the axis, in steps of half a row.
func (c *chart) failed(x, n int) {
	if n <= 0 || c.down == 0 {
		return
	}
	half := max(1, (n*c.down*2+c.topFail-1)/c.topFail)
	for y := 0; y < c.down && half > 0; y, half = y+1, half-2 {
		g := c.t.fail
		if half == 1 {
			g = c.t.failSign()
		}
		c.set(c.up+1+y, x, g, c.t.bars[lookFailed])
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
// and it goes over queued cells where it does not coincide with their start.
func (c *chart) steps(value func(loadgen.Window) int, glyph string, look barLook, solid bool) {
	t := c.t
	before := -1
	for i, win := range c.windows {
		x := c.column(i)
		y := c.level(value(win))
		if !win.Sampled && value(win) == 0 {
			before = -1
			continue
		}
		if solid && before >= 0 && y >= 0 && before != y {
			c.turn(x, before, y)
			before = y
			continue
		}
		before = y
		if y < 0 {
			continue
		}
		switch full := y+1 >= c.up || c.glyphs[y+1][x] == t.full; {
		case c.glyphs[y][x] == "":
			c.set(y, x, glyph, t.bars[look])
		case solid && c.glyphs[y][x] == t.light && !full:
			// Some wait although there is capacity. Otherwise the line is
			// where queued begins, which is seen without it.
			c.set(y, x, glyph, t.bars[lookCapacityOnQueue])
		}
	}
}

// turn draws the step from row a to row b in one column.
func (c *chart) turn(x, a, b int) {
	t, st := c.t, c.t.bars[lookCapacity]
	put := func(y int, g string) {
		if c.glyphs[y][x] == "" {
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

// axis draws one sign a second: what became of the requests sent in it.
func (c *chart) axis() {
	t := c.t
	for x := range c.w {
		c.set(c.up, x, t.noData, t.dim)
	}
	for i, win := range c.windows {
		g, st := t.axis, t.dim
		switch {
		case win.FailedSum() > 0:
			g, st = "x", t.bad
		case win.Unresolved > 0:
			g, st = t.open, t.accent
		case win.Sent > 0:
			g, st = t.sent, t.good
		case !win.Sampled:
			g = t.noData
		}
		c.set(c.up, c.column(i), g, st)
	}
}

// lines writes the grid with the numbers at its left.
func (c *chart) lines(w int, g loadgen.Gauge) []string {
	label := map[int]string{c.up: "0"}
	if y := c.level(g.Capacity); y >= 0 {
		label[y] = fmt.Sprint(g.Capacity)
	}
	if y := c.level(c.top); y >= 0 && (len(c.windows) > 0 || g.Target > 0) {
		label[y] = fmt.Sprint(c.top)
	}
	if c.topFail > 0 && c.down > 0 {
		label[c.up+c.down] = fmt.Sprintf("-%d", c.topFail)
	}
	out := make([]string, 0, len(c.glyphs))
	for y := range c.glyphs {
		r := newRow(w).right(c.t, c.t.dim, label[y], chartLabel-1).space(1)
		for x := 0; x < c.w; {
			st, from := c.looks[y][x], x
			for x < c.w && c.looks[y][x] == st {
				x++
			}
			r.run(st, c.glyphs[y][from:x])
		}
		out = append(out, r.String())
	}
	return out
}

// run writes one-cell symbols of one look; empty ones are spaces.
func (r *row) run(st style, glyphs []string) {
	r.b.WriteString(string(st))
	for _, g := range glyphs {
		if g == "" {
			g = " "
		}
		r.b.WriteString(g)
	}
	if st != "" {
		r.b.WriteString(reset)
	}
	r.left -= len(glyphs)
}

// times writes the trial's clock below the chart, or how long ago it was.
func (c *chart) times(s *scene, w int) string {
	line := []byte(blank(c.w))
	step := int64(15)
	if len(c.windows) == 0 {
		return newRow(w).String()
	}
	free := 0
	for i, win := range c.windows {
		var text string
		if s.f.Zero.IsZero() {
			left := int64(len(c.windows) - 1 - i)
			if left%step != 0 {
				continue
			}
			text = fmt.Sprintf("-%ds", left)
			if left == 0 {
				text = "now"
			}
		} else {
			off := win.Second.Sub(s.f.Zero).Round(time.Second)
			if int64(off/time.Second)%step != 0 {
				continue
			}
			text = signed(off, false)
		}
		x := min(c.column(i), c.w-len(text))
		if x >= free {
			copy(line[x:], text)
			free = x + len(text) + 2
		}
	}
	return newRow(w).space(chartLabel).put(c.t.dim, string(line)).String()
}
