package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"lightsout/internal/text"
	"lightsout/loadgen"
)

// The heights of the panels.
const (
	serviceHeight   = 150.0
	failedHeight    = 76.0
	answeredHeight  = 30.0
	availableHeight = 46.0
	panelGap        = 20.0
)

// frame writes a panel's name and what it counts in the gutter.
func (d *drawing) frame(y float64, name string, notes ...string) {
	d.text("label name", 0, y+11, "start", name)
	for i, n := range notes {
		d.text("label small soft", 0, y+24+float64(i)*12, "start", n)
	}
}

// column is a bin's rectangle.
func (d *drawing) column(b bin, y, h float64) box {
	x := d.axis.x(b.from)
	return box{x, y, d.axis.x(b.to) - x, h}
}

// bar is column, and leaves a gap between wide ones.
func (d *drawing) bar(b bin, y, h float64) box {
	r := d.column(b, y, h)
	if r.w >= 4 {
		r.w -= min(r.w*0.12, 2)
	}
	return r
}

// scale draws and labels the levels up to top, so far from zero each.
func (d *drawing) scale(top, each int, zero, unit float64) {
	for n := each; n <= top; n += each {
		y := zero + float64(n)*unit
		d.line("grid", plotLeft, y, plotRight, y)
		d.text("label figures soft", plotLeft-8, y+3.5, "end", itoa(n))
	}
}

// per describes the time of one column.
func per(size int) string {
	return "in each " + strings.TrimPrefix(text.Count(size, "second", "seconds"), "1 ")
}

// stack draws a value of each column beyond what is there already, from zero on: below has its sum; a negative unit goes
// up. It returns the sum of the values.
func (d *drawing) stack(bins []bin, below []int, zero, unit float64, attrs string, value func(bin) int) (sum int) {
	var boxes []box
	for i, b := range bins {
		if n := value(b); n > 0 {
			y, h := zero+float64(below[i])*unit, float64(n)*unit
			boxes = append(boxes, d.bar(b, min(y, y+h), math.Abs(h)))
			below[i], sum = below[i]+n, sum+n
		}
	}
	d.bars(attrs, boxes)
	return sum
}

// layers draws the requests in the service, one layer on top of the other.
func (d *drawing) layers(bins []bin, zero, unit float64) {
	d.printf(`<g data-unit="%.6g">`, unit)
	below := make([]int, len(bins))
	limited := slices.ContainsFunc(bins, func(b bin) bool { return b.Capacity > 0 || b.Target > 0 }) // else nobody knows which of them waited
	for _, layer := range []struct {
		text, attrs string
		value       func(bin) int
	}{
		{"served", `class="served"`, func(b bin) int { return b.Served }},
		{"queued", `fill="url(#p-queued)"`, func(b bin) int { return b.Queued }},
		{"stalled", `fill="url(#p-stalled)"`, func(b bin) int { return b.Stalled }},
		{"on dead nodes", `fill="url(#p-ondead)"`, func(b bin) int { return b.OnDead }},
		{"unknown", `fill="url(#p-unknown)"`, func(b bin) int { return b.Unknown }},
	} {
		drawn := d.stack(bins, below, zero, -unit, layer.attrs+` data-layer="`+layer.text+`"`, layer.value)
		if text := layer.text; drawn > 0 {
			if !limited && text == "served" {
				text = "in flight: served or waiting"
			}
			d.sign(text, swatch(layer.attrs))
		}
	}
	d.printf(`</g>`)
}

// service draws the requests in the service, with failures below zero.
func (d *drawing) service(bins []bin, size int, classes []loadgen.Class) {
	top, fails, sampled := 1, 0, false
	for _, b := range bins {
		if b.Sampled {
			sampled = true
			top = max(top, b.Served+b.Queued+b.Stalled+b.OnDead+b.Unknown, b.Capacity, b.Target)
		}
		fails = max(fails, b.failed.Sum()+b.Unresolved)
	}
	if len(bins) == 0 {
		d.text("label soft", 0, d.y+11, "start", "no load was sent")
		d.y += panelGap
		return
	}
	top, each := scaleOf(top)
	unit := serviceHeight / float64(top)
	zero := d.y + serviceHeight
	notes := []string{"at most at once, " + per(size)}
	if !sampled {
		notes = []string{"not sampled"}
	}
	d.frame(d.y, "requests in the service", notes...)
	d.scale(top, each, zero, -unit)
	d.text("label figures soft", plotLeft-8, zero+3.5, "end", "0")

	d.layers(bins, zero, unit)
	if d.steps(bins, "target", zero, unit, func(b bin) (int, bool) { return b.Target, b.Sampled && b.Target > 0 }) != nil {
		d.sign("target", lineSwatch("target"))
	}
	if all := d.steps(bins, "capacity", zero, unit, func(b bin) (int, bool) { return b.Capacity, b.Sampled && (b.Capacity > 0 || b.Target > 0) }); all != nil {
		d.sign("capacity", lineSwatch("capacity"))
		d.labels(all, zero, unit)
	}
	d.failures(bins, size, classes, zero, fails)
	d.line("unsampled", plotLeft, zero, plotRight, zero) // where the gauge was not read
	d.steps(bins, "baseline", zero, 1, func(b bin) (int, bool) { return 0, b.Sampled })
	d.y += panelGap
}

// stretch is a part of a line of steps, from one x to another.
type stretch struct {
	from, to float64
	n        int
}

// steps draws a line of steps over the bins where value is known.
func (d *drawing) steps(bins []bin, name string, zero, unit float64, value func(bin) (int, bool)) (stretches []stretch) {
	var path strings.Builder
	open := false
	for _, b := range bins {
		n, known := value(b)
		if !known {
			open = false
			continue
		}
		from, to, y := d.axis.x(b.from), d.axis.x(b.to), zero-float64(n)*unit
		last := len(stretches) - 1
		switch {
		case !open:
			fmt.Fprintf(&path, "M%s %s", num(from), num(y))
		case n != stretches[last].n:
			fmt.Fprintf(&path, "V%s", num(y))
		}
		fmt.Fprintf(&path, "H%s", num(to))
		if last >= 0 && stretches[last].n == n {
			stretches[last].to = to
		} else {
			stretches = append(stretches, stretch{from, to, n})
		}
		open = true
	}
	if path.Len() > 0 {
		d.printf(`<path class="%s" d="%s"/>`, name, path.String())
	}
	return stretches
}

// labels writes the levels of steps that last.
func (d *drawing) labels(stretches []stretch, zero, unit float64) {
	for _, l := range stretches {
		if l.to-l.from > 20 {
			d.text("label small strong halo", l.from+3, zero-float64(l.n)*unit-4, "start", itoa(l.n))
		}
	}
}

// failures draws the failed requests below zero, in the second in which they failed, and
// hollow those whose end the record lacks, in the second in which they were sent.
func (d *drawing) failures(bins []bin, size int, classes []loadgen.Class, zero float64, fails int) {
	if fails == 0 {
		d.y = zero + 12
		d.text("label small soft", plotLeft-8, zero+15, "end", "none failed")
		return
	}
	fails, each := scaleOf(fails)
	unit := failedHeight / float64(fails)
	d.frame(zero+6, "failed", "by the time of the failure, "+per(size))
	d.scale(fails, each, zero, unit)
	d.printf(`<g class="failures" data-unit="%.6g">`, unit)
	below := make([]int, len(bins))
	for _, c := range classes {
		fill := `fill="url(#` + classPattern(c) + `)"`
		sum := d.stack(bins, below, zero, unit, fmt.Sprintf(`%s data-class="%s"`, fill, html.EscapeString(className(c))), func(b bin) int { return b.failed[c] })
		d.sign(fmt.Sprintf("failed: %s (%d)", className(c), sum), swatch(fill))
	}
	if d.stack(bins, below, zero, unit, `class="hollow" data-class="unresolved"`, func(b bin) int { return b.Unresolved }) > 0 {
		d.sign("sent, its end is not in the record", swatch(`class="hollow"`))
	}
	d.printf(`</g>`)
	d.y = zero + failedHeight + 5
}

// strip draws a low panel with one value a column, of bars that have these
// attributes. It does not move on to the next panel.
func (d *drawing) strip(bins []bin, top int, height float64, attrs string, value func(bin) int, bar func(b bin, y, h float64) box) (bottom, unit float64) {
	unit, bottom = height/float64(top), d.y+height
	d.text("label figures soft", plotLeft-8, d.y+4, "end", itoa(top))
	d.line("grid", plotLeft, d.y, plotRight, d.y)
	var boxes []box
	for _, b := range bins {
		if n := value(b); n > 0 {
			boxes = append(boxes, bar(b, bottom-float64(n)*unit, float64(n)*unit))
		}
	}
	d.bars(fmt.Sprintf(`%s data-unit="%.6g"`, attrs, unit), boxes)
	return bottom, unit
}

// answered draws the requests that succeeded, by the second they were sent in.
func (d *drawing) answered(bins []bin, size int) {
	top := 0
	for _, b := range bins {
		top = max(top, b.OK)
	}
	if top == 0 {
		return
	}
	d.frame(d.y, "answered ok", "by the time sent, "+per(size))
	bottom, _ := d.strip(bins, top, answeredHeight, `class="ok" data-layer="ok"`, func(b bin) int { return b.OK }, d.bar)
	d.line("baseline", plotLeft, bottom, plotRight, bottom)
	d.y = bottom + panelGap
}

// available draws the deployment's available replicas.
func (d *drawing) available(bins []bin) {
	top := -1
	for _, b := range bins {
		top = max(top, b.available)
	}
	if top < 0 {
		return
	}
	d.frame(d.y, "available pods")
	bottom, unit := d.strip(bins, max(top, 1), availableHeight, `class="pods" data-layer="available"`, func(b bin) int { return b.available }, d.column)
	d.labels(d.steps(bins, "pods-line", bottom, unit, func(b bin) (int, bool) { return b.available, b.available >= 0 }), bottom, unit)
	d.line("baseline", plotLeft, bottom, plotRight, bottom)
	d.y = bottom + panelGap
}
