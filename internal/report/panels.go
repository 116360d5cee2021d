package report

import (
	"fmt"
	"html"
	"strings"

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

// bar is a bin's rectangle; wide ones leave a gap between them.
func (d *drawing) bar(b bin, y, h float64) box {
	x := d.axis.x(b.from)
	w := d.axis.x(b.to) - x
	if w >= 4 {
		w -= min(w*0.12, 2)
	}
	return box{x, y, w, h}
}

// per says what one column stands for.
func per(size int) string {
	if size == 1 {
		return "in each second"
	}
	return fmt.Sprintf("in each %d s", size)
}

// layers draws what is in the service, one on top of the other.
func (d *drawing) layers(bins []bin, zero, unit float64) {
	d.printf(`<g data-unit="%.6g">`, unit)
	below := make([]int, len(bins))
	for _, layer := range []struct {
		text, attrs string
		value       func(bin) int
		draw        func(*canvas, float64, float64)
	}{
		{"served", `class="served"`, func(b bin) int { return b.Served }, swatch("served")},
		{"queued", `fill="url(#p-queued)"`, func(b bin) int { return b.Queued }, patternSwatch("p-queued")},
		{"stalled", `fill="url(#p-stalled)"`, func(b bin) int { return b.Stalled }, patternSwatch("p-stalled")},
		{"on dead nodes", `fill="url(#p-ondead)"`, func(b bin) int { return b.OnDead }, patternSwatch("p-ondead")},
	} {
		var boxes []box
		for i, b := range bins {
			if n := layer.value(b); b.Sampled && n > 0 {
				h := float64(n) * unit
				boxes = append(boxes, d.bar(b, zero-float64(below[i])*unit-h, h))
				below[i] += n
			}
		}
		d.bars(layer.attrs+` data-layer="`+layer.text+`"`, boxes)
		if len(boxes) > 0 {
			d.sign(layer.text, layer.draw)
		}
	}
	d.printf(`</g>`)
}

// service draws what is in the service, with failures below zero.
func (d *drawing) service(bins []bin, size int, classes []loadgen.Class) {
	top, fails := 1, 0
	sampled := false
	for _, b := range bins {
		if b.Sampled {
			sampled = true
			top = max(top, b.Served+b.Queued+b.Stalled+b.OnDead, b.Capacity, b.Target)
		}
		fails = max(fails, b.FailedSum()+b.Unresolved)
	}
	if len(bins) == 0 {
		d.text("label soft", 0, d.y+11, "start", "no load was sent")
		d.y += panelGap
		return
	}
	top = roundUp(top)
	unit := serviceHeight / float64(top)
	zero := d.y + serviceHeight
	notes := []string{"at most at once, " + per(size)}
	if !sampled {
		notes = []string{"not sampled"}
	}
	d.frame(d.y, "requests in the service", notes...)
	for _, n := range levels(top) {
		y := zero - float64(n)*unit
		d.line("grid", plotLeft, y, plotRight, y)
		d.text("label figures soft", plotLeft-8, y+3.5, "end", itoa(n))
	}
	d.text("label figures soft", plotLeft-8, zero+3.5, "end", "0")

	d.layers(bins, zero, unit)
	d.steps(bins, "target", zero, unit, func(b bin) (int, bool) { return b.Target, b.Sampled && b.Target > 0 }, false)
	d.steps(bins, "capacity", zero, unit, func(b bin) (int, bool) { return b.Capacity, b.Sampled && (b.Capacity > 0 || b.Target > 0) }, true)
	d.failures(bins, size, classes, zero, fails)
	d.baseline(bins, zero)
	d.hover(bins, zero-serviceHeight)
	d.y += panelGap
}

// steps draws a line of steps over the bins where value is known, and labels
// those of its levels that last when asked to.
func (d *drawing) steps(bins []bin, name string, zero, unit float64, value func(bin) (int, bool), label bool) {
	var path strings.Builder
	type stretch struct {
		from, to float64
		n        int
	}
	var stretches []stretch
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
	if path.Len() == 0 {
		return
	}
	d.printf(`<path class="%s" d="%s"/>`, name, path.String())
	d.sign(name, lineSwatch(name))
	if label {
		for _, l := range stretches {
			if l.to-l.from > 20 {
				d.text("label small strong halo", l.from+3, zero-float64(l.n)*unit-4, "start", itoa(l.n))
			}
		}
	}
}

// failures draws what failed below zero, by the second in which it was sent, and
// hollow what has no end in the record.
func (d *drawing) failures(bins []bin, size int, classes []loadgen.Class, zero float64, fails int) {
	if fails == 0 {
		d.y = zero + 12
		d.text("label small soft", plotLeft-8, zero+15, "end", "none failed")
		return
	}
	fails = roundUp(fails)
	unit := failedHeight / float64(fails)
	d.frame(zero+6, "failed", "by the time sent, "+per(size))
	for _, n := range levels(fails) {
		y := zero + float64(n)*unit
		d.line("grid", plotLeft, y, plotRight, y)
		d.text("label figures soft", plotLeft-8, y+3.5, "end", itoa(n))
	}
	d.printf(`<g class="failures" data-unit="%.6g">`, unit)
	below := make([]int, len(bins))
	for _, c := range classes {
		var boxes []box
		sum := 0
		for i, b := range bins {
			if n := b.Failed[c]; n > 0 {
				boxes = append(boxes, d.bar(b, zero+float64(below[i])*unit, float64(n)*unit))
				below[i] += n
				sum += n
			}
		}
		id := classPattern(c)
		d.bars(fmt.Sprintf(`fill="url(#%s)" data-class="%s"`, id, html.EscapeString(className(c))), boxes)
		d.sign(fmt.Sprintf("failed: %s (%d)", className(c), sum), patternSwatch(id))
	}
	var hollow []box
	for i, b := range bins {
		if b.Unresolved > 0 {
			hollow = append(hollow, d.bar(b, zero+float64(below[i])*unit, float64(b.Unresolved)*unit))
		}
	}
	d.bars(`class="hollow" data-class="unresolved"`, hollow)
	if len(hollow) > 0 {
		d.sign("sent, its end is not in the record", swatch("hollow"))
	}
	d.printf(`</g>`)
	d.y = zero + failedHeight
	d.windows(bins, d.y+13)
	d.y += 18
}

// windows labels the stretches of failures with what they hold.
func (d *drawing) windows(bins []bin, y float64) {
	free := plotLeft
	for i := 0; i < len(bins); i++ {
		if bins[i].FailedSum() == 0 {
			continue
		}
		sum, last, total := map[loadgen.Class]int{}, i, 0
		for j := i; j < len(bins) && d.axis.x(bins[j].from)-d.axis.x(bins[last].to) < 40; j++ {
			for c, n := range bins[j].Failed {
				sum[c] += n
				total += n
				last = j
			}
		}
		text := fmt.Sprintf("%d failed: %s", total, classes(sum))
		x, anchor := d.axis.x(bins[i].from), "start"
		if w := textWidth(text); x+w > plotRight {
			x = plotRight - w
		}
		if x >= free {
			d.text("label small strong", x, y, anchor, text)
			free = x + textWidth(text) + 10
		}
		i = last
	}
}

// baseline is zero: whole where the gauge was read, dotted where it was not.
func (d *drawing) baseline(bins []bin, zero float64) {
	d.line("unsampled", plotLeft, zero, plotRight, zero)
	var path strings.Builder
	open := false
	for _, b := range bins {
		if !b.Sampled {
			open = false
			continue
		}
		if !open {
			fmt.Fprintf(&path, "M%s %s", num(d.axis.x(b.from)), num(zero))
		}
		fmt.Fprintf(&path, "H%s", num(d.axis.x(b.to)))
		open = true
	}
	if path.Len() > 0 {
		d.printf(`<path class="baseline" d="%s"/>`, path.String())
	}
}

// hover gives each column its figures in words.
func (d *drawing) hover(bins []bin, top float64) {
	d.printf(`<g class="hover">`)
	for _, b := range bins {
		text := offset(b.from) + ": "
		if b.Sampled {
			text += fmt.Sprintf("served %d, queued %d", b.Served, b.Queued)
			if b.Stalled > 0 {
				text += fmt.Sprintf(", stalled %d", b.Stalled)
			}
			if b.OnDead > 0 {
				text += fmt.Sprintf(", on dead nodes %d", b.OnDead)
			}
			if b.Target > 0 {
				text += fmt.Sprintf(", capacity %d of %d", b.Capacity, b.Target)
			}
		} else {
			text += "not sampled"
		}
		if b.Sent > 0 {
			text += fmt.Sprintf("; sent %d, ok %d", b.Sent, b.OK)
		}
		if b.FailedSum() > 0 {
			text += ", failed " + classes(b.Failed)
		}
		if b.Unresolved > 0 {
			text += fmt.Sprintf(", no end %d", b.Unresolved)
		}
		x := d.axis.x(b.from)
		d.printf(`<rect x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`,
			num(x), num(top), num(d.axis.x(b.to)-x), num(d.y-top), html.EscapeString(text))
	}
	d.printf(`</g>`)
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
	unit := answeredHeight / float64(top)
	d.frame(d.y, "answered ok", "by the time sent, "+per(size))
	bottom := d.y + answeredHeight
	d.text("label figures soft", plotLeft-8, d.y+4, "end", itoa(top))
	d.line("grid", plotLeft, d.y, plotRight, d.y)
	var boxes []box
	for _, b := range bins {
		if b.OK > 0 {
			h := float64(b.OK) * unit
			boxes = append(boxes, d.bar(b, bottom-h, h))
		}
	}
	d.bars(fmt.Sprintf(`class="ok" data-layer="ok" data-unit="%.6g"`, unit), boxes)
	d.line("baseline", plotLeft, bottom, plotRight, bottom)
	d.y = bottom + panelGap
}

// available draws the deployment's available replicas.
func (d *drawing) available(bins []bin) {
	top := 0
	known := false
	for _, b := range bins {
		top = max(top, b.available)
		known = known || b.available >= 0
	}
	if !known {
		return
	}
	top = max(top, 1)
	unit := availableHeight / float64(top)
	bottom := d.y + availableHeight
	d.frame(d.y, "available pods")
	d.text("label figures soft", plotLeft-8, d.y+4, "end", itoa(top))
	d.line("grid", plotLeft, d.y, plotRight, d.y)
	var boxes []box
	for _, b := range bins {
		if b.available > 0 {
			h := float64(b.available) * unit
			x := d.axis.x(b.from)
			boxes = append(boxes, box{x, bottom - h, d.axis.x(b.to) - x, h})
		}
	}
	d.bars(fmt.Sprintf(`class="pods" data-layer="available" data-unit="%.6g"`, unit), boxes)
	d.steps(bins, "pods-line", bottom, unit, func(b bin) (int, bool) { return b.available, b.available >= 0 }, true)
	d.legend = d.legend[:len(d.legend)-1] // the panel's name says it
	d.line("baseline", plotLeft, bottom, plotRight, bottom)
	d.y = bottom + panelGap
}
