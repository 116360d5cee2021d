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

// pathRules styles the paths in every picture. Areas meet at pixels, so that a browser
// that scales the picture shows no gap between them, and lines keep their width.
const pathRules = "path{shape-rendering:crispEdges}.l{fill:none;vector-effect:non-scaling-stroke}.h{stroke-width:2}" +
	".q{fill-opacity:.25}.m{fill-opacity:.5}.t{fill-opacity:.75}\n"

// pathLooks are the styles of paths: the property that takes the colour, and further
// classes.
var pathLooks = [...]struct{ property, classes string }{
	{"stroke", " l"}, {"stroke", " l h"}, {"fill", ""}, {"fill", " q"}, {"fill", " m"}, {"fill", " t"},
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
			p.add(b.stroke(right), "M%d %sh%d", at, middle(top+svgH/2, b.stroke(right)), n*svgW)
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
			fmt.Fprintf(&out, `<path class="%s%s" d="%s"/>`, d.class(look.property, cells[0].Fg), look.classes, p[i].String())
		}
	}
	return out.String()
}

// middle returns the coordinate for a line through a point at which the line is as
// sharp as the pixels.
func middle(at, path int) string {
	if path == light {
		return fmt.Sprintf("%d.5", at)
	}
	return fmt.Sprint(at)
}

// draw draws one cell.
func (p *paths) draw(r rune, x, top int) {
	b := boxes[r]
	switch to := corners[r]; {
	case b.dashes > 0 && b.sides&left != 0:
		p.add(b.stroke(right), "M%d.5 %sh2m2 0h2", x, middle(top+svgH/2, b.stroke(right)))
	case b.dashes > 0:
		p.add(b.stroke(up), "M%s %dv1m0 3v1m0 3v1m0 3v1", middle(x+svgW/2, b.stroke(up)), top+1)
	case to != [2]int{}:
		p.add(light, "M%s %dV%sQ%[1]s %[4]s %[5]s %[4]sH%[6]d", middle(x+svgW/2, light), top+svgH*(1+to[1])/2, middle(top+svgH/2+4*to[1], light),
			middle(top+svgH/2, light), middle(x+svgW/2+3*to[0], light), x+svgW*(1+to[0])/2)
	case r >= brailleFirst && r <= brailleLast:
		for bit, at := range brailleDots {
			if int(r)>>bit&1 == 1 {
				p.add(solid, "M%d %dh2v2h-2z", x+1+4*at[0], top+1+4*at[1])
			}
		}
	case b.sides&(up|down) == up|down && b.heavy&up == b.heavy&down:
		p.add(b.stroke(up), "M%s %dv%d", middle(x+svgW/2, b.stroke(up)), top, svgH)
		b.sides &^= up | down
	}
	for i, end := range []int{top, x + svgW, top + svgH, x} {
		side := 1 << i
		if b.dashes != 0 || b.sides&side == 0 {
			continue
		}
		path := b.stroke(side)
		p.add(path, "M%s %s%s%d", middle(x+svgW/2, path), middle(top+svgH/2, path), map[bool]string{true: "V", false: "H"}[side&(up|down) != 0], end)
	}
	for _, f := range fills[r] {
		y0, y1 := int(math.Round(f.y0*svgH)), int(math.Round(f.y1*svgH))
		x0, x1 := int(math.Round(f.x0*svgW)), int(math.Round(f.x1*svgW))
		p.add(solid, "M%d %dh%dv%dh-%[3]dz", x+x0, top+y0, x1-x0, y1-y0)
	}
}
