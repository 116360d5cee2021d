package tui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"lightsout/loadgen"
)

// chartSpans are how many seconds of wall-clock time a column may stand for.
var chartSpans = [...]int64{1, 5, 10}

// chart is the grid of the load over time, newest at the right. Above the axis it shows
// the requests in the service (served, stalled, on dead nodes and queued, with the
// capacity as a step line) or, for a rate or an unknown capacity, the requests answered
// per second and those waiting. Below the axis it shows failures by class, each in the
// second in which it was known, and below
// those the outages of nodes. It keeps its scale, and its memory, from one drawing to
// the next.
type chart struct {
	t        *theme
	w        int // columns
	label    int // cells at the left of them
	up, down int // rows above and below the axis
	scale    scale
	grid     []span  // row by row from the top, one span per cell
	solid    []layer // the layer that fills most of the cell
	all      []bin   // one per second, as many as the pane has cells for
	bins     []bin   // one per column
	first    int     // first column with a window; -1: no requests were sent
	lanes    []lane
}

// bin is the load of one column's seconds: the gauge when most was
// outstanding, the last capacity, the outcomes of the requests sent in them, and the
// requests that failed in them.
type bin struct {
	loadgen.Second
	failed [failGroups]int
	fails  int
	// seconds is the number of windows.
	seconds int
}

func (b *bin) add(win loadgen.Second) {
	b.seconds++
	if win.Sampled {
		b.Sample(win.Gauge())
	}
	b.Add(win)
	failed := win.FailedIn()
	b.fails += failed.Sum()
	for class, n := range failed {
		b.failed[class.Traits().Group] += n
	}
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

// perSecond reports whether the chart shows answered requests per second: for a rate,
// and for a service of unknown capacity, requests in flight mean nothing.
func perSecond(run *loadgen.Run) bool {
	if run.Spec.Shape == loadgen.Rate {
		return true
	}
	known := limited(&run.Gauge)
	for i := range run.Seconds {
		known = known || run.Seconds[i].Capacity > 0 || run.Seconds[i].Target > 0
	}
	return !known && run.Totals.Scheduled > 0
}

// measure grows the scale to fit the columns. It starts a new scale if the columns show
// no load, or if they count something else.
func (c *chart) measure(run *loadgen.Run, span int) {
	now := scale{perSecond: perSecond(run), span: span}
	some := run.Active || run.Totals.InFlight() > 0
	if now.perSecond && run.Spec.Shape == loadgen.Rate {
		now.top = int(math.Ceil(run.Spec.PerSecond))
	}
	for i := range c.all {
		b := &c.all[i]
		some = some || b.Sent > 0 || b.fails > 0 || b.InFlight() > 0
		if now.perSecond {
			each := max(b.seconds, 1)
			now.top = max(now.top, (b.OK+b.Waited()+each-1)/each)
			now.fail = max(now.fail, (b.fails+each-1)/each)
			continue
		}
		now.fail = max(now.fail, b.fails)
		now.top = max(now.top, b.InFlight(), b.Capacity, b.Target)
	}
	if !now.perSecond {
		now.top = max(now.top, gaugeTop(run.Gauge))
	}
	if some && now.perSecond == c.scale.perSecond && now.span == c.scale.span {
		now.top, now.fail = max(now.top, c.scale.top), max(now.fail, c.scale.fail)
	}
	now.top = roundTop(now.top)
	c.scale = now
}

// draw gives h lines of w cells, two or more, with the newest of w columns.
func (c *chart) draw(s *scene, w, h int) []string {
	c.divide(s, w, laneRoom(h))
	labels := btoi(h >= 5)
	c.down = btoi(h >= 5) + btoi(h >= 10) + btoi(h >= 18)
	c.up = h - c.down - 1 - labels - len(c.lanes)
	switch all := c.up + c.down; {
	case c.scale.perSecond && c.scale.fail > 0 && all >= 3:
		// Use the same scale above and below the axis, as far as possible.
		c.down = min(max(all*c.scale.fail/(c.scale.fail+c.scale.top), 1), all/2)
		c.up = all - c.down
	case c.scale.fail == 0 && h < 9 || c.up < 3:
		c.up, c.down = all, 0 // the axis itself shows the failures
	}
	c.grid = cleared(c.grid, (c.up+1+c.down)*c.w)
	c.solid = cleared(c.solid, len(c.grid))
	for x := range c.bins {
		c.bar(x, &c.bins[x])
		c.failures(x, &c.bins[x])
	}
	c.rules(s.f.Load.Spec)
	c.axis()
	out := c.lines(w, &s.f.Load)
	for _, l := range c.lanes {
		out = append(out, c.lane(l, w))
	}
	if labels > 0 {
		out = append(out, c.times(s, w))
	}
	return fill(out, w, h)
}

// leastLabel is the least room at the left of the columns.
const leastLabel = 6

// divide divides w cells between labels and columns, with room for some lanes.
func (c *chart) divide(s *scene, w, lanes int) {
	c.t, c.label = s.t, leastLabel
	for range 2 { // their names take columns, and with them perhaps a lane
		c.lanes = foldLanes(gatherLanes(s, w-c.label-1), lanes)
		for _, l := range c.lanes {
			c.label = min(max(c.label, width(s.t.text(l.name))+2), 14)
		}
	}
	c.w = w - c.label - 1
	c.bins = c.all[w-c.w:]
	c.first = slices.IndexFunc(c.bins, func(b bin) bool { return b.seconds > 0 })
}

// axis draws one sign a column: the outcome of the requests sent in it.
func (c *chart) axis() {
	t := c.t
	for x := range c.bins {
		b := &c.bins[x]
		g, st, lost := t.axis, t.dim, b.FailedSum() > 0
		switch {
		case b.Unresolved > 0 && lost:
			g, st = t.open, t.bad
		case b.Unresolved > 0:
			g, st = t.open, t.accent
		case b.fails > 0 && c.down == 0:
			g, st = loadgen.Groups[largest(b.failed)].Letter, t.alarm
		case lost:
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
func (c *chart) lines(w int, run *loadgen.Run) []string {
	labels := map[int]span{c.up: {c.t.dim, "0"}}
	unit := ""
	put := func(n int, look style) {
		value, y := fmt.Sprint(n)+unit, c.level(n)
		switch {
		case y < 0 || labels[y].s == value:
		case labels[y].s == "":
			labels[y] = span{look, value}
		case len(labels[y].s)+1+len(value) < c.label: // two values end in this row
			labels[y] = span{labels[y].st, labels[y].s + "/" + value}
		}
	}
	g := run.Gauge
	if c.scale.perSecond {
		unit = "/s"
		put(c.scale.top, c.t.dim)
	} else {
		put(g.Capacity, c.t.accent)
		put(g.Target, c.t.dim)
		if c.first >= 0 || g.Target > 0 {
			put(c.scale.top, c.t.dim)
		}
	}
	if c.scale.fail > 0 && c.down > 0 {
		labels[c.up+c.down] = span{c.t.dim, fmt.Sprintf("-%d%s", c.scale.fail, unit)}
	}
	var out []string
	for y := range c.up + 1 + c.down {
		out = append(out, newRow(w).right(c.t, labels[y].st, labels[y].s, c.label-1).space(1).runs(c.grid[y*c.w:(y+1)*c.w]).String())
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
		// The column of a round time.
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

// largest is the index of the largest number.
func largest(n [failGroups]int) int { return slices.Index(n[:], slices.Max(n[:])) }
