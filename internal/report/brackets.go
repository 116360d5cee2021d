package report

import (
	"cmp"
	"fmt"
	"html"

	"lightsout/internal/text"
	"lightsout/internal/view"
)

const phaseRow = 17.0

// phases draws each phase's forecast as a bracket, and its observation as a sign whose
// shape shows whether it is inside.
func (d *drawing) phases(all []view.Phase) {
	if len(all) == 0 {
		return
	}
	d.text("label name", 0, d.y+11, "start", "forecast and observed")
	d.y += 18
	for i, p := range all {
		if i == phasesMost {
			d.text("label soft", 0, d.y+10, "start", fmt.Sprintf("… and %d more in the table", len(all)-i))
			d.y += phaseRow
			break
		}
		d.phase(p)
		d.y += phaseRow
	}
	d.y += 6
}

func (d *drawing) phase(p view.Phase) {
	mid := d.y + phaseRow/2
	name, subject := text.Clean(p.Name, 18), clean(p.Subject)
	says := observed(p)
	switch fitOf(p) {
	case fitInside:
		says += ", inside"
	case fitOutside:
		says += cmp.Or(miss(p), ", outside")
	case fitUnknown:
		says += " or " + map[bool]string{true: "later", false: "before"}[p.HiddenFrom == nil]
	}
	d.printf(`<g class="phase"><title>%s</title>`, html.EscapeString(name+" "+subject+": forecast "+between(p.Predicted)+", observed "+says))
	d.text("label", 0, mid+3.5, "start", name)
	d.text("label small soft", plotLeft-8, mid+3.5, "end", brief(subject, 18))
	d.line("track-line", plotLeft, mid, plotRight, mid)

	if f := p.Predicted; f != nil && f[0] <= d.axis.to && f[1] >= d.axis.from {
		x1 := d.axis.x(f[0])
		x2 := max(d.axis.x(f[1]), x1+2)
		d.bracket(x1, x2, mid)
		d.sign("forecast", func(c *canvas, x, y float64) { c.bracket(x+3, x+15, y+5) })
	}
	if p.Observed != nil {
		x := d.axis.x(*p.Observed)
		if p.From != nil {
			from := d.axis.x(*p.From)
			d.line("window", from, mid, x, mid)
		}
		name, draw := fitSign(fitOf(p))
		draw(&d.canvas, x, mid)
		d.sign(name, func(c *canvas, x, y float64) { draw(c, x+9, y+5) })
	}
	d.printf(`</g>`)
}

// fitSign is the sign of an observation, with its name in the key.
func fitSign(f fit) (name string, draw func(c *canvas, x, y float64)) {
	switch f {
	case fitInside:
		return "observed, inside the forecast", func(c *canvas, x, y float64) { c.circle("hit", x, y, 4) }
	case fitOutside:
		return "observed, outside", func(c *canvas, x, y float64) {
			c.printf(`<path class="miss" d="M%s %sl5 5l-5 5l-5 -5z"/>`, num(x), num(y-5))
		}
	}
	return "observed, not forecast, or not exactly when", func(c *canvas, x, y float64) { c.circle("unforecast", x, y, 3.5) }
}

func (c *canvas) bracket(x1, x2, y float64) {
	c.rect("forecast", box{x1, y - 5, x2 - x1, 10})
	c.printf(`<path class="bracket" d="M%s %sh-3v10h3M%s %sh3v10h-3"/>`, num(x1), num(y-5), num(x2), num(y-5))
}
