package tui

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// chartOf draws a frame's requests pane and gives it without looks.
func chartOf(f *view.Frame, w, h int) (*Model, string) {
	m, _, _ := testModel(f, w, h, Options{})
	typeKeys(m, "4 z")
	return m, plainView(m)
}

func TestTheScaleHoldsWhileARunLasts(t *testing.T) {
	held := func() *view.Frame {
		f := failing()
		f.Load.Spec = loadgen.Spec{Shape: loadgen.Hold, N: 12}
		return f
	}
	f := held()
	f.Load.Gauge.Queued = 40
	m, v := chartOf(f, 100, 20)
	if !strings.Contains(v, " 48 ") {
		t.Fatalf("the scale does not reach 48:\n%s", v)
	}
	m.Update(FrameMsg{held()})
	if v := plainView(m); !strings.Contains(v, " 48 ") {
		t.Errorf("the scale has jumped back while the run lasts:\n%s", v)
	}
	f = held()
	f.Load.Active, f.Load.Totals, f.Load.Seconds = false, loadgen.Totals{}, nil
	m.Update(FrameMsg{f})
	if v := plainView(m); strings.Contains(v, " 48 ") {
		t.Errorf("the scale of a run that is no longer seen stays:\n%s", v)
	}
}

func TestTheChartMarksFailuresWithLetters(t *testing.T) {
	_, v := chartOf(failing(), 120, 30)
	for _, want := range []string{"xxc", "crr", "96 connect timeout [c]", "60 HTTP 502 [s]", "◦◦◦◦"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is missing:\n%s", want, v)
		}
	}
}

func TestEveryCellBelowTheAxisGoesToAClassThatFailed(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		var n [failGroups]int
		sum := 0
		for i := range n {
			if rnd.IntN(2) == 0 {
				n[i] = rnd.IntN(50)
				sum += n[i]
			}
		}
		if sum == 0 {
			continue
		}
		cells := 1 + rnd.IntN(6)
		got := 0
		for i, c := range share(n, sum, cells) {
			got += c
			if c < 0 || c > 0 && n[i] == 0 {
				t.Fatalf("share(%v, %d) gives %d cells to group %d", n, cells, c, i)
			}
		}
		if got != cells {
			t.Fatalf("share(%v, %d) gives %d cells", n, cells, got)
		}
	}
}

func TestColumnsSumUpWhatTheyStandFor(t *testing.T) {
	f := failing()
	m, _, _ := testModel(f, 120, 36, Options{})
	var want, wantFails int
	for _, w := range f.Load.Seconds {
		want += w.Sent
		wantFails += w.FailedSum()
	}
	for span := range chartSpans {
		m.s.span = span
		var c chart
		c.gather(&m.s, 200)
		bins := c.all
		var got, fails int
		for i, b := range bins {
			if s := b.At.Unix(); s%chartSpans[span] != 0 || i > 0 && s != bins[i-1].At.Unix()+chartSpans[span] {
				t.Fatalf("column %d begins at %d", i, s)
			}
			got += b.Sent
			fails += b.fails
		}
		if got != want || fails != wantFails || !slices.ContainsFunc(bins, func(b bin) bool { return b.seconds > 0 }) {
			t.Errorf("%d s a column: %d sent and %d failed, want %d and %d", chartSpans[span], got, fails, want, wantFails)
		}
	}
}

func TestOutagesAreShaded(t *testing.T) {
	_, v := chartOf(failing(), 120, 30)
	for _, want := range []string{"kube-node3 ", "╌off╌╌╌", "═off, NotReady═"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is missing:\n%s", want, v)
		}
	}
	f := failing()
	for i := range 6 {
		o := f.Outages[1]
		o.Node = string(rune('a' + i))
		f.Outages = append(f.Outages, o)
	}
	if _, v := chartOf(f, 120, 20); !strings.Contains(v, "nodes ") {
		t.Errorf("more nodes than rows are not counted:\n%s", v)
	}
}

func TestALaneShowsItsNodesState(t *testing.T) {
	l := lane{nodes: 1, spans: []view.NodeSpan{
		{Node: "a", Kind: view.SpanOff, From: t0, To: t0.Add(10 * time.Second)},
		{Node: "a", Kind: view.SpanNotReady, From: t0.Add(5 * time.Second), To: t0.Add(15 * time.Second)},
	}}
	for s, want := range map[int]int{-1: 0, 0: laneOff, 4: laneOff, 5: laneOff | laneNotReady, 9: laneOff | laneNotReady, 10: laneNotReady, 14: laneNotReady, 15: 0} {
		from := t0.Add(time.Duration(s) * time.Second)
		if got, _ := l.state(from, from.Add(time.Second)); got != want {
			t.Errorf("second %d: %b, want %b", s, got, want)
		}
	}
}

func TestTheGaugeShowsStalledAndDeadWithTicks(t *testing.T) {
	bar := func(g loadgen.Gauge, top int) string {
		r := newRow(40)
		gaugeBar(newTheme(Options{NoColor: true}), r, g, top, 18)
		return strings.TrimRight(stripped(r.String()), " ")
	}
	for _, c := range []struct {
		g    loadgen.Gauge
		top  int
		want string
	}{
		{loadgen.Gauge{Capacity: 8, Target: 16, Served: 8, Queued: 4}, 16, "████████┃▒▒▒▒····┊"},
		{loadgen.Gauge{Capacity: 16, Target: 16, Served: 16}, 16, "████████████████┃"},
		{loadgen.Gauge{Capacity: 16, Target: 16, Served: 8, Stalled: 2, OnDead: 4}, 16, "████████▓▓▚▚▚▚░░┃"},
		{loadgen.Gauge{Capacity: 8, Target: 16, Served: 6, OnDead: 4, Queued: 2}, 16, "██████▚▚┃▚▚▒▒····┊"},
		{loadgen.Gauge{Served: 3, Queued: 1}, 4, "████████████▒▒▒▒"},
		{loadgen.Gauge{Capacity: 2, Target: 4, Served: 2}, 8, "████┃····┊········"},
	} {
		if got := bar(c.g, c.top); got != c.want {
			t.Errorf("%+v:\nis   %s\nwant %s", c.g, got, c.want)
		}
	}
}

func TestTheGaugesBarStaysWhereItIs(t *testing.T) {
	at := func(queued int) int {
		f := outage()
		f.Load.Gauge = loadgen.Gauge{Capacity: 16, Target: 16, Served: 16, Queued: queued, Basis: loadgen.BasisMeasured, Source: "queue-proxy"}
		m, _, _ := testModel(f, 120, 36, Options{})
		for _, l := range strings.Split(plainView(m), "\n") {
			if strings.Contains(l, "█ queued") {
				return width(l[:strings.Index(l, "█ stalled")])
			}
		}
		return -1
	}
	before := at(0)
	for _, n := range []int{1, 2, 9} {
		if got := at(n); got != before {
			t.Errorf("with %d queued, what stands beside the bar goes from column %d to %d", n, before, got)
		}
	}
	cells := func(g loadgen.Gauge, top int) int {
		r := newRow(40)
		gaugeBar(newTheme(Options{NoColor: true}), r, g, top, 30)
		return 40 - r.left
	}
	for _, top := range []int{4, 16, 17, 18, 20, 24, 48} {
		for _, g := range []loadgen.Gauge{{Capacity: 16, Target: 16, Served: 16}, {Capacity: 8, Target: 16, Served: 8, Queued: 4}, {Served: 3}} {
			if n := cells(g, top); n != 30 {
				t.Errorf("%+v on a scale of %d takes %d cells", g, top, n)
			}
		}
	}
}

func TestTheLegendKeepsWhatIsNeededMost(t *testing.T) {
	f := outage()
	f.Load.Totals.Cancelled, f.Load.Totals.Unsent = 20, 3
	f.Load.Totals.Scheduled += 23
	for _, w := range []int{80, 100, 120, 200} {
		m, _, _ := testModel(f, w, 36, Options{})
		v := plainView(m)
		for _, want := range []string{"█ serving 8", "█ queued 4"} {
			if !strings.Contains(v, want) {
				t.Errorf("%d wide: %q is not explained:\n%s", w, want, v)
			}
		}
		if w >= 100 && !strings.Contains(v, "━ capacity") {
			t.Errorf("%d wide: the line is not explained:\n%s", w, v)
		}
	}
}

func TestTheCapacityHasNoGaps(t *testing.T) {
	f := outage()
	for i := range f.Load.Seconds {
		f.Load.Seconds[i].Sampled = i%3 == 0
		if i%3 != 0 {
			f.Load.Seconds[i].Capacity, f.Load.Seconds[i].Target = 0, 0
		}
	}
	m, _, _ := testModel(f, 100, 36, Options{})
	typeKeys(m, "4 z")
	n := 0
	for x := range 90 {
		for _, l := range strings.Split(plainView(m), "\n")[4:] {
			if r := []rune(l); x < len(r) && strings.ContainsRune("▔━▏", r[x]) {
				n++
				break
			}
		}
	}
	if n < 75 { // where a bar ends in the cell of the line, the bar hides the line
		t.Errorf("only %d of 90 columns have the line:\n%s", n, plainView(m))
	}
}

func TestALanesNameKeepsItsDistance(t *testing.T) {
	f := failing()
	for i := range f.Outages {
		f.Outages[i].Node += "-of-a-very-long-name"
	}
	m, _, _ := testModel(f, 120, 36, Options{})
	for _, l := range strings.Split(plainView(m), "\n") {
		if strings.Contains(l, "═off") && !strings.HasPrefix(l, "│ ") {
			t.Errorf("the name touches the frame: %s", l)
		}
	}
}

func TestAMomentWithoutAReadingIsNoHole(t *testing.T) {
	count := func(unread ...int) int {
		f := outage()
		for _, i := range unread {
			w := &f.Load.Seconds[i]
			w.Sampled, w.Served, w.Queued, w.Capacity, w.Target = false, 0, 0, 0, 0
		}
		m, _, _ := testModel(f, 120, 36, Options{ASCII: true})
		typeKeys(m, "4 z")
		n := 0
		if named := strings.Contains(plainView(m), "? nothing read"); named != slices.Contains(unread, 114) && len(unread) < 3 {
			t.Errorf("without a reading at %v the legend names it: %t", unread, named)
		}
		for _, l := range strings.Split(plainView(m), "\n")[3:] {
			n += strings.Count(l, "?")
		}
		return n
	}
	none := count()
	if one := count(114) - none; one < 2 {
		t.Errorf("%d cells say that a second was not read", one)
	}
	if long := count(112, 113, 114, 115, 116) - none; long != 0 {
		t.Errorf("%d cells bridge a long time", long)
	}
	if idle := count(30, 31) - none; idle != 0 {
		t.Errorf("%d cells say so where nothing was under way", idle)
	}
}

func TestThePowerIsAskedForAtFirst(t *testing.T) {
	f := calm()
	m := f.Power["kube-node2"]
	m.Reading = power.Reading{}
	f.Power["kube-node2"] = m
	for w, want := range map[int]string{120: "asking…", 80: " … "} {
		screen, _, _ := testModel(f, w, 24, Options{})
		if v := plainView(screen); !strings.Contains(v, want) {
			t.Errorf("%d wide: %q is not said:\n%s", w, want, v)
		}
	}
}
