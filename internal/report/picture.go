package report

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/loadgen"

	"lightsout/internal/text"
)

// picture draws a record as SVG: everything on one time axis. Colours and
// type come from the page's style, so that they follow its theme.
// said are the sentences that describe it.
func picture(r *record.Record, said []string) string {
	d := &drawing{axis: axisOf(r), y: 34}
	bins, size := binsOf(r)
	classes := classesOf(bins)

	d.lanes(r)
	d.service(bins, size, classes)
	d.answered(bins, size)
	d.available(bins)
	d.phases(inOrder(phasesIn(r, nodesOf(r))))
	bottom := d.y
	d.ticks(bottom)
	d.y = bottom + 34
	if len(summaryOf(r).Blind) > 0 {
		d.sign("blind: lightsout saw nothing", swatch(`fill="url(#p-blind)"`))
	}
	marks, _ := marksOf(r, d.axis)
	if len(marks) > 0 {
		d.sign("number: see the timeline", func(c *canvas, x, y float64) { c.markAt(x+9, y+5, "1") })
	}
	d.writeLegend()

	over := &drawing{axis: d.axis}
	over.blind(r, bottom)
	over.marks(marks, bottom)
	under := &drawing{axis: d.axis}
	under.grid(bottom)

	begin := fmt.Sprintf(`<svg viewBox="0 0 %s %s" role="img" aria-labelledby="picture-title picture-desc">`, num(pictureWidth), num(d.y+4))
	about := fmt.Sprintf(`<title id="picture-title">The trial on one time axis</title><desc id="picture-desc">%s</desc>`, html.EscapeString(strings.Join(said, " ")))
	return begin + about + definitions(classes) + under.body.String() + d.body.String() + over.body.String() + "</svg>"
}

// classesOf are the failures' classes that occur, the most frequent first.
func classesOf(bins []bin) []loadgen.Class {
	sum := map[loadgen.Class]int{}
	for _, b := range bins {
		for c, n := range b.failed {
			sum[c] += n
		}
	}
	return byCount(sum)
}

// lanesMost and phasesMost bound the picture; the tables have the rest. More
// marks than linesMost have no lines of their own, which would be a fence.
const (
	lanesMost  = 12
	phasesMost = 28
	linesMost  = 30
)

// laneRows are a lane's rows: kinds of spans, from top to bottom.
var laneRows = []outage.SpanKind{outage.SpanOff, outage.SpanSilent, outage.SpanNotReady}

const laneRow = 13.0

// lanes draws the nodes to which something happened.
func (d *drawing) lanes(r *record.Record) {
	all := slices.DeleteFunc(slices.Clone(r.Lanes), func(l record.Lane) bool {
		return !slices.ContainsFunc(l.Spans, func(s outage.Span) bool { return s.Kind != outage.SpanGone })
	})
	for i, l := range all {
		if i == lanesMost {
			d.text("label soft", 0, d.y+10, "start", fmt.Sprintf("… and %s more", text.Count(len(all)-i, "node", "nodes")))
			d.y += 18
			break
		}
		d.text("label name", 0, d.y+laneRow+9.5, "start", brief(clean(l.Node), 22))
		for j, kind := range laneRows {
			y := d.y + float64(j)*laneRow
			d.text("label small soft", plotLeft-8, y+9.5, "end", string(kind))
			d.rect("track", box{plotLeft, y, plotRight - plotLeft, laneRow - 2})
			for _, s := range l.Spans {
				if s.Kind == kind {
					d.span(r, s, y)
				}
			}
		}
		d.y += laneRow*float64(len(laneRows)) + 9
	}
	d.y += 10
}

func (d *drawing) span(r *record.Record, s outage.Span, y float64) {
	before, least := "", ""
	if s.After.IsZero() {
		before, least = " or before", "at least "
	}
	from, to := s.From.Sub(base(r)).Seconds(), cmp.Or(s.To, r.End).Sub(base(r)).Seconds()
	x := d.axis.x(from)
	b := box{x, y, max(d.axis.x(to)-x, 1.5), laneRow - 2}
	text := least + seconds(max(to-from, 0))
	text += map[bool]string{true: ", to the end"}[s.To.IsZero()]
	d.printf(`<g><title>%s</title>`, html.EscapeString(clean(string(s.Kind))+" "+offset(from)+before+" – "+offset(to)+", "+text))
	switch s.Kind {
	case outage.SpanOff:
		d.rect("off", b)
		if textWidth(text) < b.w {
			d.text("label small on-off", b.x+5, y+9, "start", text)
		}
	case outage.SpanSilent:
		d.filled("p-silent", b)
		d.rect("outline", b)
	default:
		d.filled("p-notready", b)
		d.rect("outline bad-stroke", b)
	}
	d.printf(`</g>`)
}

// grid draws the lines of the ticks, and zero.
func (d *drawing) grid(bottom float64) {
	for _, t := range d.axis.ticks() {
		d.line("grid", d.axis.x(t), 34, d.axis.x(t), bottom)
	}
}

// ticks writes the axis.
func (d *drawing) ticks(y float64) {
	d.line("axis", plotLeft, y, plotRight, y)
	for _, t := range d.axis.ticks() {
		d.line("axis", d.axis.x(t), y, d.axis.x(t), y+4)
		d.text("label figures", d.axis.x(t), y+16, "middle", text.Offset(time.Duration(t)*time.Second, false))
	}
	d.text("label soft", 0, y+16, "start", "time from zero")
}

// blind greys out the spans without contact.
func (d *drawing) blind(r *record.Record, bottom float64) {
	for _, s := range summaryOf(r).Blind {
		x := d.axis.x(s.From)
		b := box{x, 30, max(d.axis.x(s.To)-x, 1.5), bottom - 30}
		d.printf(`<g class="blind"><title>%s</title>`, html.EscapeString("blind "+offset(s.From)+" – "+offset(s.To)+": "+clean(s.Why)))
		d.filled("p-blind", b)
		if b.w > 40 {
			d.text("label small strong halo", b.x+b.w/2, 44, "middle", "blind")
		}
		d.printf(`</g>`)
	}
}

// marks draws the numbered moments, and zero.
func (d *drawing) marks(marks []mark, bottom float64) {
	if d.axis.from <= 0 && d.axis.to >= 0 {
		d.line("zero", d.axis.x(0), 26, d.axis.x(0), bottom)
	}
	for _, m := range marks {
		x := d.axis.x(m.At)
		says := text.Each(m.Entries, func(e entry) string { return offset(e.At) + " " + e.who() + ": " + e.what() })
		d.printf(`<g class="mark"><title>%s</title>`, html.EscapeString(text.Clean(strings.Join(says, "; "), 300)))
		if len(marks) <= linesMost {
			d.line("mark-line", x, 24, x, bottom)
		}
		d.markAt(x, 15, itoa(m.Number))
		d.printf(`</g>`)
	}
}

func (c *canvas) markAt(x, y float64, number string) {
	c.circle("mark-dot", x, y, 8)
	c.text("mark-number", x, y+3.3, "middle", number)
}
