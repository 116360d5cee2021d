package tui

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// shown is the content of a terminal.
type shown struct {
	em   *vt.Emulator
	w, h int
}

func onTerminal(m *Model, w, h int) shown {
	s := shown{vt.NewEmulator(w, h), w, h}
	for y, l := range strings.Split(m.View().Content, "\n") {
		fmt.Fprintf(s.em, "\x1b[%d;1H%s", y+1, l)
	}
	return s
}

// at returns the sign of a cell and its colours, "" for a default colour.
func (s shown) at(x, y int) (sign, fg, bg string) {
	c := s.em.CellAt(x, y)
	return c.Content, colourName(c.Style.Fg), colourName(c.Style.Bg)
}

func colourName(c color.Color) string {
	if c == nil {
		return ""
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("%02x%02x%02x", r>>8, g>>8, b>>8)
}

// line returns a row of the screen as text, one character a cell.
func (s shown) line(y int) string {
	var b strings.Builder
	for x := range s.w {
		if sign, _, _ := s.at(x, y); sign != "" {
			b.WriteString(sign)
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// find returns the position of a text in a row; -1 if the row lacks it.
func (s shown) find(text string, y int) int {
	l := s.line(y)
	if i := strings.Index(l, text); i >= 0 {
		return width(l[:i])
	}
	return -1
}

// row returns the row that contains a text.
func (s shown) row(t *testing.T, text string) int {
	t.Helper()
	for y := range s.h {
		if s.find(text, y) >= 0 {
			return y
		}
	}
	t.Fatalf("%q is not on the screen", text)
	return 0
}

// legend is the screen's own legend: the colour or the sign of each layer, by its
// label.
type legend struct {
	textured bool
	theme    *theme
	layers   map[string]layer // by colour or by sign
	line     string           // the colour of the capacity line
}

func legendOf(t *testing.T, s shown, m *Model, labels map[string]layer) legend {
	l := legend{textured: m.s.t.textured, theme: m.s.t, layers: map[string]layer{}}
	y := s.row(t, " failed ")
	for label, of := range labels {
		x := s.find(" "+label+" ", y)
		if x < 0 || label == "dead" && s.find(" to dead ", y) >= 0 {
			continue // no room, or another label
		}
		sign, fg, _ := s.at(x-1, y)
		key := fg
		if l.textured {
			key = sign
		}
		if other, twice := l.layers[key]; twice || key == "" {
			t.Fatalf("%q has the swatch %q %q, as layer %d has", label, sign, fg, other)
		}
		l.layers[key] = of
	}
	if labels["serving"] != layerNone {
		line := m.s.t.rules[4] + " capacity"
		y := s.row(t, line)
		_, l.line, _ = s.at(s.find(line, y), y)
	}
	return l
}

// readColumn is the content of a column of the chart: the height of each layer in
// eighths of a row, and the position of the line; -1 if it is invisible.
type readColumn struct {
	heights [layers]int
	line    int
}

// read reads a column of the chart, from the axis up.
func (l *legend) read(t *testing.T, s shown, x, axis, rows int) readColumn {
	out := readColumn{line: -1}
	for y := range rows {
		sign, fg, bg := s.at(x, axis-1-y)
		if p := slices.Index(l.theme.rules[:], sign); p >= 0 && fg == l.line {
			left, fgLeft, bgLeft := s.at(x-1, axis-1-y)
			right, _, _ := s.at(x+1, axis-1-y)
			if _, _, ok := l.bar(left, fgLeft, bgLeft); ok && left == right && left != sign { // a tick in a bar
				out.line = y*8 + p + 1
				sign, fg, bg = left, fgLeft, bgLeft
			}
		}
		if low, height, ok := l.bar(sign, fg, bg); ok {
			out.heights[low] += height
			if above := l.layers[bg]; height < 8 && !l.textured && bg != "" {
				out.heights[above] += 8 - height
			}
			continue
		}
		if bg != "" {
			out.heights[l.layers[bg]] += 8
		}
		if p := slices.Index(l.theme.rules[:], sign); p >= 0 {
			if fg == l.line && out.line < 0 { // the target line is above it, and without colours looks the same
				out.line = y*8 + p + 1
			}
			continue
		}
		if !strings.Contains(" "+l.theme.rules[7]+l.theme.turnLeft+l.theme.turnRight, sign) {
			t.Fatalf("the cell %d %d has %q in %s on %s", x, y, sign, fg, bg)
		}
	}
	return out
}

// bar returns the lowest layer of a cell and its height there.
func (l *legend) bar(sign, fg, bg string) (low layer, height int, ok bool) {
	th := l.theme
	if !l.textured {
		low, ok = l.layers[fg]
		height = slices.Index(th.eighths, sign)
		return low, height, ok && height > 0 && (fg != l.line || sign == th.full)
	}
	if low, ok = l.layers[sign]; ok {
		return low, 8, true
	}
	for _, of := range l.layers {
		if th.fills[of].half == sign {
			return of, 4, true
		}
	}
	return layerNone, 0, false
}

var chartLooks = []struct {
	name string
	o    Options
}{{"16", Options{}}, {"dark", Options{Theme: "dark"}}, {"light", Options{Theme: "light"}}, {"contrast", Options{Theme: "contrast"}},
	{"nocolour", Options{NoColor: true}}, {"ascii", Options{ASCII: true}}}

var chartSizes = []size{{80, 24}, {120, 36}, {200, 50}}

// chartScenes are loads with known columns.
var chartScenes = []struct {
	name   string
	frame  func() *view.Frame
	labels map[string]layer
}{
	{"burst", burstChart, inService}, {"hold", holdChart, inService}, {"small", smallChart, inService}, {"rate", rateChart, answers},
}

var (
	inService = map[string]layer{"serving": layerServed, "queued": layerQueued, "stalled": layerStalled, "dead": layerOnDead, "sent to dead": layerOnDead}
	answers   = map[string]layer{"answered": layerServed, "waiting": layerWaiting}
)

// chartFrame is the frame of the outage with other seconds, the newest of them now.
func chartFrame(spec loadgen.Spec, seconds []loadgen.Second) *view.Frame {
	f := outage()
	f.Load.Spec, f.Load.Active = spec, spec.Shape != loadgen.Burst
	start := f.Now.Truncate(time.Second).Add(-time.Duration(len(seconds)-1) * time.Second)
	for i := range seconds {
		seconds[i].At, seconds[i].Sampled = start.Add(time.Duration(i)*time.Second), true
	}
	last := seconds[len(seconds)-1]
	f.Load.Seconds = seconds
	f.Load.Gauge.Capacity, f.Load.Gauge.Target, f.Load.Gauge.Served, f.Load.Gauge.Queued = last.Capacity, last.Target, last.Served, last.Queued
	f.Load.Gauge.Stalled, f.Load.Gauge.OnDead = last.Stalled, last.OnDead
	return f
}

// burstChart is the mdx experiment: 16 of 16, two nodes off, 8 served and 4 queued.
func burstChart() *view.Frame {
	seconds := make([]loadgen.Second, 60)
	for i := range seconds {
		s := loadgen.Second{Capacity: 16, Target: 16}
		switch {
		case i < 5:
		case i < 20:
			s.Served = 16
		case i < 30:
			s.Served, s.OnDead = 8, 8
		case i < 40:
			s.Capacity = 8
		default:
			s.Capacity, s.Served, s.Queued = 8, 8, 4
		}
		if i == 30 {
			s.Sent, s.Failed = 8, map[loadgen.Class]int{loadgen.ClassReset: 8}
		}
		seconds[i] = s
	}
	return chartFrame(loadgen.Spec{Shape: loadgen.Burst, N: 12}, seconds)
}

// holdChart holds 20 in flight while the capacity goes down and up again.
func holdChart() *view.Frame {
	seconds := make([]loadgen.Second, 64)
	for i := range seconds {
		capacity := []int{16, 12, 8, 4, 0, 8, 15, 16}[i/8]
		s := loadgen.Second{Capacity: capacity, Target: 16, Served: capacity, Queued: 20 - capacity, Sent: capacity, OK: capacity}
		if i%8 == 1 && capacity > 0 {
			s.Stalled, s.Queued = 2, s.Queued-2
		}
		if i%8 == 2 && capacity > 3 {
			s.OnDead, s.Served = 3, s.Served-3
		}
		seconds[i] = s
	}
	return chartFrame(loadgen.Spec{Shape: loadgen.Hold, N: 20}, seconds)
}

// smallChart has numbers that are not multiples of a row, and single requests.
func smallChart() *view.Frame {
	seconds := make([]loadgen.Second, 40)
	for i := range seconds {
		seconds[i] = loadgen.Second{Capacity: 13 - i/10*3, Target: 13, Served: i % 8, Queued: btoi(i%3 == 0)}
	}
	return chartFrame(loadgen.Spec{Shape: loadgen.Hold, N: 8}, seconds)
}

// rateChart sends 6 requests a second; some hang, and some fail after 3 seconds.
func rateChart() *view.Frame {
	const timeout = 3
	seconds := make([]loadgen.Second, 60)
	four := map[loadgen.Class]int{loadgen.ClassConnectTimeout: 4}
	for i := range seconds {
		s := loadgen.Second{Sent: 6, OK: 6, Served: i % 3}
		switch {
		case i >= 50:
			s.OK, s.Unresolved, s.Served = 0, 6, 6*(i-49)
		case i >= 40:
			s.OK, s.Unresolved = 4, 2
		case i >= 30:
			s.OK, s.Failed, s.Later = 2, four, four
		}
		if i >= 30+timeout && i < 40+timeout {
			s.Earlier = four
		}
		seconds[i] = s
	}
	f := chartFrame(loadgen.Spec{Shape: loadgen.Rate, PerSecond: 6}, seconds)
	f.Load.Gauge = loadgen.Gauge{At: f.Now, Served: 60, Outstanding: 60, Basis: loadgen.BasisEstimated, Source: "requests in flight"}
	f.Load.Totals = loadgen.Totals{Scheduled: 360, OK: 240, Sent: 80, Failed: map[loadgen.Class]int{loadgen.ClassConnectTimeout: 40}}
	f.NoLoad = ""
	return f
}

// TestTheChartReadsBackAsItsNumbers reads the cells of every chart with the chart's own
// legend, and compares them with the input, column by column.
func TestTheChartReadsBackAsItsNumbers(t *testing.T) {
	for _, sc := range chartScenes {
		for _, look := range chartLooks {
			for _, at := range chartSizes {
				for _, keys := range []string{"4", "4 z"} {
					t.Run(fmt.Sprintf("%s %s %dx%d %s", sc.name, look.name, at.w, at.h, keys), func(t *testing.T) {
						f := sc.frame()
						m, _, _ := testModel(f, at.w, at.h, look.o)
						typeKeys(m, keys)
						checkWidths(t, m, at.w, at.h)
						readsBack(t, m, f, onTerminal(m, at.w, at.h), sc.labels)
						if t.Failed() {
							t.Logf("\n%s", plainView(m))
						}
					})
				}
			}
		}
	}
}

func readsBack(t *testing.T, m *Model, f *view.Frame, s shown, labels map[string]layer) {
	c := &m.find("Requests").pane.(*requestsPane).chart
	l := legendOf(t, s, m, labels)
	axis := axisRow(t, s, c)
	unit := float64(c.rows*8) / float64(c.top)
	edge := func(n int) int { return int(math.Round(float64(n) * unit)) }
	checkLabels(t, s, c, axis, edge)
	for i := range min(c.w, len(f.Load.Seconds)) {
		want := f.Load.Seconds[len(f.Load.Seconds)-1-i]
		x := 1 + c.label + c.w - 1 - i
		got := l.read(t, s, x, axis, c.up)
		parts := []part{{want.Served, layerServed}, {want.Stalled, layerStalled}, {want.OnDead, layerOnDead}, {want.Queued, layerQueued}}
		if c.scale.perSecond {
			parts = []part{{want.OK, layerServed}, {want.Waited(), layerWaiting}}
		}
		if sign, _, _ := s.at(x, axis+1); c.down > 0 && (strings.TrimSpace(sign) != "") != (len(want.FailedIn()) > 0) {
			t.Errorf("column %d from the right: %q below the axis, %v failed in it", i, sign, want.FailedIn())
		}
		c.compare(t, i, got, parts, edge)
		if !c.scale.perSecond {
			lineIsThere(t, c, i, got, want, edge(want.Capacity))
		}
	}
}

func axisRow(t *testing.T, s shown, c *chart) int {
	for y := range s.h {
		if text := strings.TrimSpace(string([]rune(s.line(y))[1 : 1+c.label-1])); text == "0" {
			return y
		}
	}
	t.Fatal("the axis has no 0")
	return 0
}

// checkLabels finds each number at the left in the row where its value is.
func checkLabels(t *testing.T, s shown, c *chart, axis int, edge func(int) int) {
	t.Helper()
	for y := range c.up {
		text := strings.TrimSpace(string([]rune(s.line(axis - 1 - y))[1 : 1+c.label-1]))
		var n int
		if _, err := fmt.Sscanf(text, "%d", &n); err != nil {
			continue
		}
		if e := edge(n); e <= y*8 || e > y*8+8 {
			t.Errorf("%q is in row %d, but its value is at %d eighths", text, y, e)
		}
	}
}

// compare fails if a column does not show its numbers: the top of each part must be at
// its value, up to the smallest step of the signs. A cell has only two colours, or one
// texture. If more parts share it, the top of the bar is exact, and each part smaller
// than a step takes one.
func (c *chart) compare(t *testing.T, i int, got readColumn, parts []part, edge func(int) int) {
	t.Helper()
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.n <= 0 })
	all, last, small := 0, len(parts)-1, 0
	for _, p := range parts {
		all += p.n
		small += btoi(edge(p.n) < c.t.grain)
	}
	read, sum := 0, 0
	edges := map[int]int{} // within a row
	for _, p := range parts {
		sum += p.n
		edges[edge(sum)/8] += btoi(edge(sum)%8 > 0)
	}
	sum = 0
	for j, p := range parts {
		read += got.heights[p.of]
		sum += p.n
		allowed := c.t.grain/2 + small*c.t.grain
		crowded := edges[edge(sum)/8] > 1 || edges[edge(sum-p.n)/8] > 1 || c.t.textured && edge(all) < 8*len(parts)+8
		if j < last && (crowded || c.t.textured) {
			allowed = 8 * len(parts)
		}
		if off := read - edge(sum); off < -allowed || off > allowed {
			t.Errorf("column %d from the right: %+v ends at %d eighths, %d is at %d", i, p, read, sum, edge(sum))
		}
		if got.heights[p.of] == 0 && !crowded {
			t.Errorf("column %d from the right does not show %+v", i, p)
		}
	}
	for of := layerServed; of < layers; of++ {
		if got.heights[of] > 0 && !slices.ContainsFunc(parts, func(p part) bool { return p.of == of }) {
			t.Errorf("column %d from the right shows layer %d, which is empty", i, of)
		}
	}
}

// lineIsThere checks the capacity: its line is at its value, and a bar of the capacity
// ends there.
func lineIsThere(t *testing.T, c *chart, i int, got readColumn, want loadgen.Second, edge int) {
	t.Helper()
	step := 1
	if c.t.ascii {
		step = 7
	}
	if target := c.lineAt(want.Target); c.t.textured && want.Target != want.Capacity && got.line >= target-step {
		got.line = -1 // a bar hides the capacity line
	}
	if got.line >= 0 && want.Capacity > 0 && (got.line < edge-step || got.line > edge+step) {
		t.Errorf("column %d from the right: the line of %d is at %d eighths, its value at %d", i, want.Capacity, got.line, edge)
	}
	if want.Served+want.Queued+want.Stalled+want.OnDead == 0 && want.Capacity > 0 && got.line < 0 {
		t.Errorf("column %d from the right has no line of %d", i, want.Capacity)
	}
	if want.Served == want.Capacity && want.Stalled+want.OnDead == 0 && edge%c.t.grid() == 0 {
		if read := got.heights[layerServed]; read != edge {
			t.Errorf("column %d from the right: %d served end at %d eighths, the line is at %d", i, want.Served, read, edge)
		}
	}
}

// TestARequestThatHangsIsNotGreen: while no request is answered, the chart has no cell
// in the colour of answered requests.
func TestARequestThatHangsIsNotGreen(t *testing.T) {
	f := rateChart()
	for i := range f.Load.Seconds {
		s := &f.Load.Seconds[i]
		s.Unresolved, s.OK, s.Failed = s.Sent, 0, nil
	}
	for _, shape := range []loadgen.Shape{loadgen.Rate, loadgen.Hold, loadgen.Burst} {
		f.Load.Spec.Shape = shape
		m, _, _ := testModel(f, 120, 36, Options{})
		s := onTerminal(m, 120, 36)
		l := legendOf(t, s, m, answers)
		c := &m.find("Requests").pane.(*requestsPane).chart
		axis := axisRow(t, s, c)
		for x := range c.w {
			got := l.read(t, s, 1+c.label+x, axis, c.up)
			if got.heights[layerServed] > 0 {
				t.Fatalf("%s: column %d is green:\n%s", shape, x, plainView(m))
			}
		}
	}
}

// TestChartsMatchTheirGoldenFiles compares the pane with its golden file at each size and in
// each theme.
func TestChartsMatchTheirGoldenFiles(t *testing.T) {
	for _, sc := range chartScenes {
		for _, look := range chartLooks {
			for _, at := range chartSizes {
				m, _, _ := testModel(sc.frame(), at.w, at.h, look.o)
				typeKeys(m, "4")
				plainView(m)
				golden(t, fmt.Sprintf("chart/%s-%dx%d-%s.ansi", sc.name, at.w, at.h, look.name), strings.Join(m.find("Requests").drawn.lines, "\n"))
			}
		}
	}
}
