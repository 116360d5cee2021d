package report

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"lightsout/internal/text"
)

// canvas is SVG under way. Its methods take clean text and escape it; class
// names are the program's own.
type canvas struct{ body strings.Builder }

// drawing is a picture on one time axis: panels, one below the other, and the
// legend of their signs.
type drawing struct {
	canvas
	axis axis
	// y is where the next panel begins.
	y float64
	// legend are the signs that have been used, in order.
	legend []sign
}

// sign is an entry of the legend.
type sign struct {
	draw func(c *canvas, x, y float64) // a swatch of 18 × 10
	text string
}

// box is a rectangle.
type box struct{ x, y, w, h float64 }

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(&c.body, format, args...) }

func (c *canvas) rect(class string, b box) { c.area(`class="`+class+`"`, b) }

// filled draws a rectangle with a pattern of the picture's own.
func (c *canvas) filled(pattern string, b box) { c.area(`fill="url(#`+pattern+`)"`, b) }

// area draws a rectangle with these attributes, which are escaped already.
func (c *canvas) area(attrs string, b box) {
	c.printf(`<rect %s x="%s" y="%s" width="%s" height="%s"/>`, attrs, num(b.x), num(b.y), num(b.w), num(b.h))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.printf(`<path class="%s" d="M%s %sL%s %s"/>`, class, num(x1), num(y1), num(x2), num(y2))
}

func (c *canvas) circle(class string, x, y, r float64) {
	c.printf(`<circle class="%s" cx="%s" cy="%s" r="%s"/>`, class, num(x), num(y), num(r))
}

// text puts a text at a point; anchor is "start", "middle" or "end".
func (c *canvas) text(class string, x, y float64, anchor, text string) {
	c.printf(`<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`, class, num(x), num(y), anchor, html.EscapeString(text))
}

// bars draws rectangles as one path, one subpath a rectangle. attrs are further
// attributes, escaped already.
func (c *canvas) bars(attrs string, boxes []box) {
	if len(boxes) == 0 {
		return
	}
	c.printf(`<path %s d="`, attrs)
	for _, b := range boxes {
		c.printf("M%s %sh%sv%sh%sz", num(b.x), num(b.y), num(b.w), num(b.h), num(-b.w))
	}
	c.printf(`"/>`)
}

// sign puts an entry into the legend once.
func (d *drawing) sign(text string, draw func(c *canvas, x, y float64)) {
	if !slices.ContainsFunc(d.legend, func(s sign) bool { return s.text == text }) {
		d.legend = append(d.legend, sign{draw, text})
	}
}

// swatch is a sign's rectangle with these attributes.
func swatch(attrs string) func(*canvas, float64, float64) {
	return func(c *canvas, x, y float64) { c.area(attrs, box{x, y, 18, 10}) }
}

func lineSwatch(class string) func(*canvas, float64, float64) {
	return func(c *canvas, x, y float64) { c.line(class, x, y+5, x+18, y+5) }
}

// textWidth estimates how wide a text of the picture's size is.
func textWidth(s string) float64 { return float64(text.Width(s)) * 6.3 }

// writeLegend sets the signs in lines and returns the height they take.
func (d *drawing) writeLegend() {
	x := 0.0
	for _, s := range d.legend {
		w := 24 + textWidth(s.text) + 18
		if x > 0 && x+w > pictureWidth {
			x = 0
			d.y += 18
		}
		s.draw(&d.canvas, x, d.y)
		d.text("label", x+24, d.y+9, "start", s.text)
		x += w
	}
	if len(d.legend) > 0 {
		d.y += 18
	}
}
