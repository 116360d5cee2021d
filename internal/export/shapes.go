package export

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// isShape reports a cell that an SVG draws instead of leaving it to a font.
func isShape(c Cell) bool {
	r, _ := utf8.DecodeRuneInString(c.Text)
	return boxes[r].sides != 0 || corners[r] != [2]int{} || fills[r] != nil || shades[r] != 0 || r >= brailleFirst && r <= brailleLast
}

// Paths that are drawn for cells of one colour, in this order.
const (
	light = iota
	heavy
	solid
	shaded // the first of three
)

// pathLooks are how they are drawn: what has the colour, and other attributes.
var pathLooks = [...]struct{ property, attrs string }{
	{"stroke", ` fill="none"`}, {"stroke", ` fill="none" stroke-width="2"`}, {"fill", ""},
	{"fill", ` fill-opacity=".25"`}, {"fill", ` fill-opacity=".5"`}, {"fill", ` fill-opacity=".75"`},
}

// paths are the data of each path.
type paths [len(pathLooks)]strings.Builder

func (p *paths) add(path int, format string, args ...any) { fmt.Fprintf(&p[path], format, args...) }

// stroke is the path of a line to a side.
func (b box) stroke(side int) int {
	if b.heavy&side != 0 {
		return heavy
	}
	return light
}

// shapes draws cells of one colour.
func (d *svg) shapes(x, top int, cells []Cell) string {
	var p paths
	for i := 0; i < len(cells); {
		r, _ := utf8.DecodeRuneInString(cells[i].Text)
		n := run(cells[i:], func(a, b Cell) bool { return a.Text == b.Text })
		at, b := (x+i+1)*svgW, boxes[r]
		switch {
		case b.sides == left|right && b.dashes == 0: // cells that are alike are drawn as one
			p.add(b.stroke(right), "M%d %sh%d", at, half(top), n*svgW)
		case shades[r] != 0:
			p.add(shaded+int(shades[r]*4)-1, "M%d %dh%dv%dh-%[3]dz", at, top, n*svgW, svgH)
		case r == '█':
			p.add(solid, "M%d %dh%dv%dh-%[3]dz", at, top, n*svgW, svgH)
		default:
			for j := range n {
				p.draw(r, at+j*svgW, top)
			}
		}
		i += n
	}
	var out strings.Builder
	for i, look := range pathLooks {
		if p[i].Len() > 0 {
			fmt.Fprintf(&out, `<path class="%s"%s d="%s"/>`, d.class(look.property, cells[0].Fg), look.attrs, p[i].String())
		}
	}
	return out.String()
}

// half is the middle of a row.
func half(top int) string { return fmt.Sprintf("%d.5", top+svgH/2) }

// draw draws one cell.
func (p *paths) draw(r rune, x, top int) {
	mid, b := x+svgW/2, boxes[r]
	switch to := corners[r]; {
	case b.dashes > 0 && b.sides&left != 0:
		p.add(b.stroke(right), "M%d.5 %sh2m2 0h2", x, half(top))
	case b.dashes > 0:
		p.add(b.stroke(up), "M%d %dv2m0 2v2m0 2v2m0 2v2", mid, top+1)
	case to != [2]int{}:
		p.add(light, "M%d %dv%dQ%[1]d %[4]s %[5]d %[4]s", mid, top+svgH*(1+to[1])/2, -4*to[1], half(top), x+svgW*(1+to[0])/2)
	case r >= brailleFirst && r <= brailleLast:
		for bit, at := range brailleDots {
			if int(r)>>bit&1 == 1 {
				p.add(solid, "M%d %dh2v2h-2z", x+1+4*at[0], top+1+4*at[1])
			}
		}
	}
	for i, end := range []string{fmt.Sprintf("V%d", top), fmt.Sprintf("H%d", x+svgW), fmt.Sprintf("V%d", top+svgH), fmt.Sprintf("H%d", x)} {
		if side := 1 << i; b.dashes == 0 && b.sides&side != 0 {
			p.add(b.stroke(side), "M%d %s%s", mid, half(top), end)
		}
	}
	for _, f := range fills[r] {
		y0, y1 := int(math.Round(f.y0*svgH)), int(math.Round(f.y1*svgH))
		x0, x1 := int(math.Round(f.x0*svgW)), int(math.Round(f.x1*svgW))
		p.add(solid, "M%d %dh%dv%dh-%[3]dz", x+x0, top+y0, x1-x0, y1-y0)
	}
}
