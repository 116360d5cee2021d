package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

var chartLooks = []struct {
	name string
	o    Options
}{{"16", Options{}}, {"nocolour", Options{NoColor: true}}, {"ascii", Options{ASCII: true}}}

var chartSizes = []size{{80, 24}, {120, 36}}

// chartScenes are loads with known columns.
var chartScenes = []struct {
	name  string
	frame func() *view.Frame
}{{"burst", burstChart}, {"hold", holdChart}, {"small", smallChart}, {"rate", rateChart}}

// chartFrame is the frame of the outage with other seconds, the newest of them now.
func chartFrame(spec loadgen.Spec, seconds []loadgen.Second) *view.Frame {
	f := mdxOutage()
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

// requestsChart is the chart of a screen with the pane of requests.
func requestsChart(f *view.Frame, at size, o Options) (*Model, *chart) {
	m, _, _ := testModel(f, at.w, at.h, o)
	typeKeys(m, "4")
	return m, &m.find("Requests").pane.(*requestsPane).chart
}

// TestBarsAreAsHighAsTheirNumbers: a bar shows each of its layers and no other, if it has
// rows for them, and its height is their sum; the line of the capacity is in its row.
func TestBarsAreAsHighAsTheirNumbers(t *testing.T) {
	for _, sc := range chartScenes {
		for _, look := range chartLooks {
			for _, at := range chartSizes {
				f := sc.frame()
				_, c := requestsChart(f, at, look.o)
				for i := range min(c.w, len(f.Load.Seconds)) {
					want := f.Load.Seconds[len(f.Load.Seconds)-1-i]
					all := map[layer]int{layerServed: want.Served, layerStalled: want.Stalled, layerOnDead: want.OnDead, layerQueued: want.Queued}
					if c.scale.perSecond {
						all = map[layer]int{layerServed: want.OK, layerWaiting: want.Waited()}
					}
					c.checkBar(t, fmt.Sprintf("%s %s %v: column %d from the right", sc.name, look.name, at, i), c.w-1-i, all)
				}
			}
		}
	}
}

func (c *chart) checkBar(t *testing.T, name string, x int, all map[layer]int) {
	t.Helper()
	for y := range c.up {
		g, of := c.grid[y*c.w+x], c.solid[y*c.w+x]
		filled := g.st == c.t.fills[of].look && (g.s == c.t.fills[of].full || slices.Contains(c.t.eighths, g.s))
		if crossed := c.t.over[of] != "" && g.st == c.t.over[of]; of != layerNone && !filled && !crossed {
			t.Errorf("%s has a hole in row %d: %q", name, y, g.s)
		}
	}
	seen, rows, sum, layers := map[layer]bool{}, 0, 0, 0
	for y := range c.up {
		if of := c.solid[y*c.w+x]; of != layerNone {
			seen[of] = true
			rows++
		}
	}
	for of, n := range all {
		sum, layers = sum+n, layers+btoi(n > 0)
		if n == 0 && seen[of] {
			t.Errorf("%s shows layer %d, which is empty", name, of)
		}
	}
	for of, n := range all {
		if n > 0 && rows >= layers && !seen[of] {
			t.Errorf("%s does not show layer %d", name, of)
		}
	}
	if want := float64(sum) * float64(c.up) / float64(c.scale.top); math.Abs(float64(rows)-want) > 1 {
		t.Errorf("%s has %d rows for %d requests, not %.1f", name, rows, sum, want)
	}
}

// TestARequestThatHangsIsNotGreen: while no request is answered, the chart has no cell
// of answered requests.
func TestARequestThatHangsIsNotGreen(t *testing.T) {
	f := rateChart()
	for i := range f.Load.Seconds {
		s := &f.Load.Seconds[i]
		s.Unresolved, s.OK, s.Failed = s.Sent, 0, nil
	}
	for _, shape := range []loadgen.Shape{loadgen.Rate, loadgen.Hold, loadgen.Burst} {
		f.Load.Spec.Shape = shape
		m, c := requestsChart(f, size{120, 36}, Options{})
		if slices.Contains(c.solid, layerServed) {
			t.Errorf("%s is green:\n%s", shape, plainView(m))
		}
	}
}

func TestChartsMatchTheirGoldenFiles(t *testing.T) {
	for _, sc := range chartScenes {
		for _, look := range chartLooks {
			for _, at := range chartSizes {
				m, _ := requestsChart(sc.frame(), at, look.o)
				golden(t, fmt.Sprintf("chart/%s-%dx%d-%s.ansi", sc.name, at.w, at.h, look.name), strings.Join(m.find("Requests").drawn.lines, "\n"))
			}
		}
	}
}
