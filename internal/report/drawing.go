package report

import (
	"fmt"
	"html"
	"strings"
)

// drawing is SVG under way. Its methods take clean text and escape it; class
// names are the program's own.
type drawing struct {
	body strings.Builder
	axis axis
	// y is where the next panel begins.
	y float64
	// legend are the signs that have been used, in order.
	legend []sign
}

// sign is an entry of the legend.
type sign struct {
	draw func(d *drawing, x, y float64) // a swatch of 18 × 10
	text string
}

// box is a rectangle.
type box struct{ x, y, w, h float64 }

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.body, format, args...) }

func (d *drawing) rect(class string, b box) {
	d.printf(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, num(b.x), num(b.y), num(b.w), num(b.h))
}

// filled draws a rectangle with a pattern of the picture's own.
func (d *drawing) filled(pattern string, b box) {
	d.printf(`<rect fill="url(#%s)" x="%s" y="%s" width="%s" height="%s"/>`, pattern, num(b.x), num(b.y), num(b.w), num(b.h))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	d.printf(`<path class="%s" d="M%s %sL%s %s"/>`, class, num(x1), num(y1), num(x2), num(y2))
}

// text puts a text at a point; anchor is "start", "middle" or "end".
func (d *drawing) text(class string, x, y float64, anchor, text string) {
	d.printf(`<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`, class, num(x), num(y), anchor, html.EscapeString(text))
}

// bars draws rectangles as one path, one subpath a rectangle. attrs are further
// attributes, escaped already.
func (d *drawing) bars(attrs string, boxes []box) {
	if len(boxes) == 0 {
		return
	}
	d.printf(`<path %s d="`, attrs)
	for _, b := range boxes {
		d.printf("M%s %sh%sv%sh%sz", num(b.x), num(b.y), num(b.w), num(b.h), num(-b.w))
	}
	d.printf(`"/>`)
}

// sign puts an entry into the legend once.
func (d *drawing) sign(text string, draw func(d *drawing, x, y float64)) {
	for _, s := range d.legend {
		if s.text == text {
			return
		}
	}
	d.legend = append(d.legend, sign{draw, text})
}

// swatch is a sign's rectangle.
func swatch(class string) func(*drawing, float64, float64) {
	return func(d *drawing, x, y float64) { d.rect(class, box{x, y, 18, 10}) }
}

func patternSwatch(id string) func(*drawing, float64, float64) {
	return func(d *drawing, x, y float64) { d.filled(id, box{x, y, 18, 10}) }
}

func lineSwatch(class string) func(*drawing, float64, float64) {
	return func(d *drawing, x, y float64) { d.line(class, x, y+5, x+18, y+5) }
}

// textWidth estimates how wide a text of the picture's size is.
func textWidth(s string) float64 { return float64(len([]rune(s))) * 6.3 }

// writeLegend sets the signs in lines and returns the height they take.
func (d *drawing) writeLegend() {
	x := 0.0
	for _, s := range d.legend {
		w := 24 + textWidth(s.text) + 18
		if x > 0 && x+w > pictureWidth {
			x = 0
			d.y += 18
		}
		s.draw(d, x, d.y)
		d.text("label", x+24, d.y+9, "start", s.text)
		x += w
	}
	if len(d.legend) > 0 {
		d.y += 18
	}
}
