package tui

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lightsout/loadgen"
)

// chartSpans are how many seconds of wall-clock time a column may stand for.
var chartSpans = [...]int64{1, 5, 10}

// scale is what the chart's rows and the gauge's cells stand for. While
// anything is to be seen on it, it only grows, so that nothing jumps.
type scale struct{ top, fail int }

// chart is the grid of the load over time, newest at the right: served with
// stalled, what is on dead nodes and queued on top, the capacity as a step line,
// failures by class below the axis, and the nodes' outages below those. It keeps
// its scale, and its memory, from one drawing to the next.
type chart struct {
	t        *theme
	w        int // columns
	label    int // cells at the left of them
	up, down int // rows above and below the axis
	rows     int // of those above, the height of scale.top
	scale    scale
	grid     []span // row by row from the top, one cell each
	all      []bin  // of the seconds that the pane has cells for
	bins     []bin  // of those one a column
	first    int    // the first column with a window; -1: no load was sent
	lanes    []lane
}

// bin is the load of one column's seconds: the gauge when most was
// outstanding, the last capacity, and what became of the requests sent in them.
type bin struct {
	loadgen.Second
	failed [failGroups]int
	fails  int
	some   bool // there is a window for it
}

func (b *bin) add(win loadgen.Second) {
	b.some = true
	if win.Sampled {
		if !b.Sampled || outstanding(win) > outstanding(b.Second) {
			b.Served, b.Queued, b.Stalled, b.OnDead = max(win.Served, 0), max(win.Queued, 0), max(win.Stalled, 0), max(win.OnDead, 0)
		}
		b.Capacity, b.Target, b.Sampled = win.Capacity, win.Target, true
	}
	b.Add(win)
	for class, n := range win.Failed {
		b.failed[failGroup(class)] += max(n, 0)
		b.fails += max(n, 0)
	}
}

func outstanding(win loadgen.Second) int {
	return max(win.Served, 0) + max(win.Queued, 0) + max(win.Stalled, 0) + max(win.OnDead, 0)
}

// gather sorts the windows into n columns by wall-clock time.
func (c *chart) gather(s *scene, n int) {
	span, windows := chartSpans[s.span], s.f.Load.Seconds
	newest := s.now.Unix()
	if len(windows) > 0 {
		// The newest window may be the second under way or the one before it.
		newest = max(windows[len(windows)-1].At.Unix(), newest-1)
	}
	from := floor(newest, span)/span - int64(n) + 1
	c.all = cleared(c.all, n)
	for i := range c.all {
		c.all[i].At = time.Unix((from+int64(i))*span, 0)
	}
	for _, win := range windows {
		if i := floor(win.At.Unix(), span)/span - from; i >= 0 && i < int64(n) {
			c.all[i].add(win)
		}
	}
}

// cleared gives n zero values, in the memory of a slice where they have room.
func cleared[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// floor is the largest multiple of step that is not above x.
func floor(x, step int64) int64 { return x - (x%step+step)%step }

// measure grows the scale to what the columns hold, or sets it anew when there is
// nothing of a load among them.
func (c *chart) measure(run loadgen.Run) {
	var now scale
	some := run.Active || run.Totals.InFlight() > 0
	for i := range c.all {
		b := &c.all[i]
		now.top = max(now.top, outstanding(b.Second), b.Capacity, b.Target)
		now.fail = max(now.fail, b.fails)
		some = some || b.Sent > 0 || b.fails > 0 || outstanding(b.Second) > 0
	}
	now.top = max(now.top, gaugeTop(run.Gauge))
	if some {
		now.top, now.fail = max(now.top, c.scale.top), max(now.fail, c.scale.fail)
	}
	now.top = roundTop(now.top)
	c.scale = now
}

// roundTop is the next of few steps, so that a scale seldom changes.
func roundTop(n int) int {
	for step := 1; ; step *= 2 {
		for _, m := range []int{4, 5, 6, 7} {
			if n <= m*step {
				return max(n, 1, m*step)
			}
		}
	}
}

// draw gives h lines of w cells, with the newest of w columns.
func (c *chart) draw(s *scene, w, h int) []string {
	if c.t, c.label = s.t, 6; w < c.label+11 {
		return fill(nil, w, h)
	}
	for range 2 { // their names take columns, and with them perhaps a lane
		c.lanes = foldLanes(gatherLanes(s, w-c.label-1), laneRoom(h))
		for _, l := range c.lanes {
			c.label = min(max(c.label, width(s.t.text(l.name))+2), 14)
		}
	}
	c.w = w - c.label - 1
	c.bins = c.all[w-c.w:]
	c.first = slices.IndexFunc(c.bins, func(b bin) bool { return b.some })
	labels := btoi(h >= 7)
	c.down = btoi(h >= 5) + btoi(h >= 10) + btoi(h >= 18)
	c.up = h - c.down - 1 - labels - len(c.lanes)
	if c.scale.fail == 0 && h < 9 || c.up < 3 {
		c.up, c.down = c.up+c.down, 0 // the axis itself tells of failures
	}
	if c.up < 1 {
		return fill(nil, w, h)
	}
	c.rows = evenRows(c.up-1, c.scale.top)
	c.grid = cleared(c.grid, (c.up+1+c.down)*c.w)
	for x := range c.bins {
		c.bar(x, &c.bins[x])
		c.failures(x, &c.bins[x])
	}
	c.gaps()
	c.carry(s)
	c.steps(func(b *bin) int { return b.Capacity }, c.t.line, c.t.bars.capacity, true)
	c.steps(func(b *bin) int { return b.Target }, c.t.target, c.t.dim, false)
	c.axis()
	out := c.lines(w, s.f.Load.Gauge)
	for _, l := range c.lanes {
		out = append(out, c.lane(l, w))
	}
	if labels > 0 {
		out = append(out, c.times(s, w))
	}
	return fill(out, w, h)
}

// carry fills in the capacity where it was not read, so that its line has no
// gaps: from the deployment's available replicas of that second, else as it was
// before.
func (c *chart) carry(s *scene) {
	g, history, each := s.f.Load.Gauge, s.f.History[s.f.Focus], 0
	if d := s.snap.Deployment(s.f.Focus); d != nil && d.Replicas > 0 {
		each = g.Target / d.Replicas
	}
	newest := c.bins[len(c.bins)-1].At
	for x := range c.bins {
		b := &c.bins[x]
		switch i := len(history) - 1 - int(newest.Sub(b.At)/time.Second); {
		case b.Sampled:
		case x == len(c.bins)-1:
			b.Capacity, b.Target = g.Capacity, g.Target
		case i >= 0 && i < len(history) && each > 0:
			b.Capacity, b.Target = history[i]*each, g.Target
		case x > 0:
			b.Capacity, b.Target = c.bins[x-1].Capacity, c.bins[x-1].Target
		}
	}
}

// axis draws one sign a column: what became of the requests sent in it.
func (c *chart) axis() {
	t := c.t
	for x := range c.bins {
		b := &c.bins[x]
		g, st := t.axis, t.dim
		switch {
		case b.Unresolved > 0 && b.fails > 0:
			g, st = t.open, t.bad
		case b.Unresolved > 0:
			g, st = t.open, t.accent
		case b.fails > 0 && c.down == 0:
			g, st = failSigns[largest(b.failed)].letter, t.bars.failed
		case b.fails > 0:
			g, st = t.sent, t.bad
		case b.Sent > 0:
			g, st = t.sent, t.good
		case !b.Sampled:
			g = t.noData
		}
		c.set(c.up, x, g, st)
	}
}

// lines writes the grid with the numbers at its left.
func (c *chart) lines(w int, g loadgen.Gauge) []string {
	label := map[int]string{c.up: "0"}
	if y := c.level(g.Capacity); y >= 0 {
		label[y] = fmt.Sprint(g.Capacity)
	}
	if y := c.level(c.scale.top); y >= 0 && (c.first >= 0 || g.Target > 0) {
		label[y] = fmt.Sprint(c.scale.top)
	}
	if c.scale.fail > 0 && c.down > 0 {
		label[c.up+c.down] = fmt.Sprintf("-%d", c.scale.fail)
	}
	var out []string
	for y := range c.up + 1 + c.down {
		out = append(out, newRow(w).right(c.t, c.t.dim, label[y], c.label-1).space(1).runs(c.grid[y*c.w:(y+1)*c.w]).String())
	}
	return out
}

// runs writes one-cell symbols with their looks; empty ones are spaces.
func (r *row) runs(cells []span) *row {
	for x, c := range cells {
		if x == 0 || c.st != cells[x-1].st {
			r.b.WriteString(string(c.st))
		}
		r.b.WriteString(cmp.Or(c.s, " "))
		if c.st != "" && (x+1 == len(cells) || c.st != cells[x+1].st) {
			r.b.WriteString(reset)
		}
	}
	r.left -= len(cells)
	return r
}

// times writes the trial's clock below the chart, or how long ago it was.
func (c *chart) times(s *scene, w int) string {
	from := c.first
	if len(c.lanes) > 0 {
		from = 0
	}
	if from < 0 {
		return newRow(w).String()
	}
	span := chartSpans[s.span]
	step := map[int64]int64{1: 15, 5: 60, 10: 120}[span]
	line := []byte(blank(c.w))
	free := 0
	zero := s.f.Zero
	if zero.IsZero() {
		zero = c.bins[len(c.bins)-1].At
	}
	for x := from; x < len(c.bins); x++ {
		// The column in which a round time lies.
		off := int64(c.bins[x].At.Sub(zero).Round(time.Second) / time.Second)
		round := floor(off+step-1, step)
		if round >= off+span {
			continue
		}
		text := "now"
		switch {
		case !s.f.Zero.IsZero():
			text = signed(time.Duration(round)*time.Second, false)
		case round < 0:
			text = fmt.Sprintf("%ds", round)
		}
		if at := min(x, c.w-len(text)); at >= free {
			copy(line[at:], text)
			free = at + len(text) + 2
		}
	}
	return newRow(w).space(c.label).put(c.t.dim, string(line)).String()
}

// evenRows chooses how many of at most most rows the value top takes: the topmost
// row is left for the line of a full capacity, and heights that come out even
// are worth a row or two.
func evenRows(most, top int) int {
	most = max(1, most)
	for _, parts := range []int{1, 8} {
		for rows := most; rows >= max(3, most-2); rows-- {
			if parts*rows%top == 0 || parts == 1 && top%rows == 0 {
				return rows
			}
		}
	}
	return most
}

// largest is the index of the largest number.
func largest(n [failGroups]int) int { return slices.Index(n[:], slices.Max(n[:])) }
