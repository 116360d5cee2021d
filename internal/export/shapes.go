package export

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// outlines are the signs that [svg.shape] draws, beside blocks and braille.
const outlines = "─━│┃┌┐└┘├┤┬┴┼┿╴╵╶╷╭╮╰╯┏┓┗┛┄┈╌┊┆░▒▓█▀▐▚"

// isShape reports a cell that an SVG draws instead of leaving it to a font.
func isShape(c Cell) bool {
	r, _ := utf8.DecodeRuneInString(c.Text)
	return r >= 0x2581 && r <= 0x258f || r >= 0x2800 && r <= 0x28ff || r > 127 && strings.ContainsRune(outlines, r)
}

// shapes draws cells of one colour: lines as a stroked path, blocks and dots
// as a filled one.
func (d *svg) shapes(x, top int, cells []Cell) string {
	var stroke, heavy, fill strings.Builder
	shade := map[string]*strings.Builder{}
	for i := 0; i < len(cells); {
		r, _ := utf8.DecodeRuneInString(cells[i].Text)
		n := run(cells[i:], func(a, b Cell) bool { return a.Text == b.Text })
		left := (x + i + 1) * svgW
		switch {
		case r == '─':
			fmt.Fprintf(&stroke, "M%d %sh%d", left, half(top), n*svgW)
		case r == '━':
			fmt.Fprintf(&heavy, "M%d %sh%d", left, half(top), n*svgW)
		case r >= '░' && r <= '▓':
			part := []string{".25", ".5", ".75"}[r-'░']
			if shade[part] == nil {
				shade[part] = &strings.Builder{}
			}
			fmt.Fprintf(shade[part], "M%d %dh%dv%dh-%[3]dz", left, top, n*svgW, svgH)
		case r == '█':
			fmt.Fprintf(&fill, "M%d %dh%dv%dh-%[3]dz", left, top, n*svgW, svgH)
		default:
			for j := range n {
				d.shape(&stroke, &heavy, &fill, r, left+j*svgW, top)
			}
		}
		i += n
	}
	c := cells[0].Fg
	out := ""
	if stroke.Len() > 0 {
		out += fmt.Sprintf(`<path class="%s" fill="none" d="%s"/>`, d.class("stroke", c), stroke.String())
	}
	if heavy.Len() > 0 {
		out += fmt.Sprintf(`<path class="%s" fill="none" stroke-width="2" d="%s"/>`, d.class("stroke", c), heavy.String())
	}
	if fill.Len() > 0 {
		out += fmt.Sprintf(`<path class="%s" d="%s"/>`, d.class("fill", c), fill.String())
	}
	for _, part := range []string{".25", ".5", ".75"} {
		if b := shade[part]; b != nil {
			out += fmt.Sprintf(`<path class="%s" fill-opacity="%s" d="%s"/>`, d.class("fill", c), part, b.String())
		}
	}
	return out
}

// half is the middle of a row.
func half(top int) string { return fmt.Sprintf("%d.5", top+svgH/2) }

// shape draws one cell.
func (d *svg) shape(stroke, heavy, fill *strings.Builder, r rune, left, top int) {
	mid := left + svgW/2
	ends := map[rune]string{
		'│': "ud", '┌': "dr", '┐': "dl", '└': "ur", '┘': "ul", '├': "udr", '┤': "udl", '┬': "lrd", '┴': "lru", '┼': "udlr", '┿': "ud",
		'╴': "l", '╵': "u", '╶': "r", '╷': "d", '┃': "UD", '┏': "DR", '┓': "DL", '┗': "UR", '┛': "UL",
	}
	switch {
	case ends[r] != "":
		for _, e := range ends[r] {
			switch e {
			case 'u':
				fmt.Fprintf(stroke, "M%d %sV%d", mid, half(top), top)
			case 'd':
				fmt.Fprintf(stroke, "M%d %sV%d", mid, half(top), top+svgH)
			case 'l':
				fmt.Fprintf(stroke, "M%d %sH%d", mid, half(top), left)
			case 'r':
				fmt.Fprintf(stroke, "M%d %sH%d", mid, half(top), left+svgW)
			case 'U':
				fmt.Fprintf(heavy, "M%d %sV%d", mid, half(top), top)
			case 'D':
				fmt.Fprintf(heavy, "M%d %sV%d", mid, half(top), top+svgH)
			case 'L':
				fmt.Fprintf(heavy, "M%d %sH%d", mid, half(top), left)
			case 'R':
				fmt.Fprintf(heavy, "M%d %sH%d", mid, half(top), left+svgW)
			}
		}
		if r == '┿' {
			fmt.Fprintf(heavy, "M%d %sh%d", left, half(top), svgW)
		}
	case r == '╭', r == '╮':
		fmt.Fprintf(stroke, "M%d %dv-4Q%[1]d %[3]s %[4]d %[3]s", mid, top+svgH, half(top), side(r == '╭', left))
	case r == '╰', r == '╯':
		fmt.Fprintf(stroke, "M%d %dv4Q%[1]d %[3]s %[4]d %[3]s", mid, top, half(top), side(r == '╰', left))
	case r == '┄', r == '┈', r == '╌':
		fmt.Fprintf(stroke, "M%d.5 %sh2m2 0h2", left, half(top))
	case r == '┊', r == '┆':
		fmt.Fprintf(stroke, "M%d %dv2m0 2v2m0 2v2m0 2v2", mid, top+1)
	default:
		d.filled(fill, r, left, top)
	}
}

// side is the edge of a cell that a corner goes to.
func side(right bool, left int) int {
	if right {
		return left + svgW
	}
	return left
}

// filled draws block elements and braille.
func (d *svg) filled(fill *strings.Builder, r rune, left, top int) {
	switch {
	case r >= 0x2581 && r <= 0x2587:
		h := svgH * int(r-0x2580) / 8
		fmt.Fprintf(fill, "M%d %dh%dv%dh-%[3]dz", left, top+svgH-h, svgW, h)
	case r >= 0x2589 && r <= 0x258f:
		fmt.Fprintf(fill, "M%d %dh%dv%dh-%[3]dz", left, top, svgW*int(0x2590-r)/8, svgH)
	case r == '▚':
		w, h := svgW/2, svgH/2
		fmt.Fprintf(fill, "M%d %dh%dv%dh-%[3]dzM%[5]d %[6]dh%[3]dv%[7]dh-%[3]dz", left, top, w, h, left+w, top+h, svgH-h)
	case r == '▀':
		fmt.Fprintf(fill, "M%d %dh%dv%dh-%[3]dz", left, top, svgW, svgH/2)
	case r == '▐':
		fmt.Fprintf(fill, "M%d %dh%dv%dh-%[3]dz", left+svgW/2, top, svgW/2, svgH)
	case r >= 0x2800:
		at := [8][2]int{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {0, 3}, {1, 3}}
		for bit, p := range at {
			if int(r)>>bit&1 == 1 {
				fmt.Fprintf(fill, "M%d %dh2v2h-2z", left+1+4*p[0], top+1+4*p[1])
			}
		}
	}
}
