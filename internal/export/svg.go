package export

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The size of a cell in an SVG, in its units.
const (
	svgW = 8
	svgH = 16 // so that an eighth is a whole number
)

// SVG writes the frames as an SVG: text that can be selected, and, where there
// is more than one frame, animation that repeats for ever without scripts.
// Parts of a row that change together are written once for each thing that
// they show.
func SVG(w io.Writer, frames []Frame, o Options) error {
	th := frames[0].Screen.theme
	d := &svg{w: bufio.NewWriter(w), th: th, frames: frames, classes: map[string]string{}, shown: map[interval]*strings.Builder{}, total: frames[len(frames)-1].Until}
	s := frames[0].Screen
	top, height := svgH/2, s.Height*svgH+svgH
	if o.Title != "" {
		top += svgH
		height += svgH
	}
	if o.Captions {
		height += 2 * svgH
	}
	var body strings.Builder
	if o.Title != "" {
		body.WriteString(d.cells(0, 4, lineOf(o.Title, s.Width, Cell{Fg: th.fg, Bg: th.bg, Bold: true})))
	}
	for y := range s.Height {
		d.row(y, top+y*svgH)
	}
	if o.Captions {
		d.captions(top + s.Height*svgH + 4)
	}
	d.groups(&body)
	fmt.Fprintf(d.w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="13.3">`+"\n",
		(s.Width+2)*svgW, height)
	fmt.Fprintf(d.w, "<style>text{white-space:pre;fill:%s}.b{font-weight:700}.u{text-decoration:underline}.k{animation:%.2fs step-end infinite;visibility:hidden}\n", th.fg.hex(), d.total.Seconds())
	d.w.WriteString(pathRules)
	for _, rule := range d.rules {
		d.w.WriteString(rule)
	}
	fmt.Fprintf(d.w, "</style>\n<rect width=\"100%%\" height=\"100%%\" rx=\"6\" fill=\"%s\"/>\n", th.bg.hex())
	d.w.WriteString(body.String())
	d.w.WriteString("</svg>\n")
	return d.w.Flush()
}

// svg is an SVG being written.
type svg struct {
	w       *bufio.Writer
	th      *theme
	frames  []Frame
	total   time.Duration
	classes map[string]string // the class of each style
	rules   []string
	shown   map[interval]*strings.Builder
	order   []interval
}

// class gives the class of a colour of text.
func (d *svg) class(property string, c Colour) string {
	key := property + ":" + c.hex()
	if name, ok := d.classes[key]; ok {
		return name
	}
	name := "c" + strconv.FormatInt(int64(len(d.classes)), 36)
	d.classes[key] = name
	d.rules = append(d.rules, "."+name+"{"+key+"}")
	return name
}

// span is a part of a row from one column to another, exclusive, with the
// frames in which it begins to show something else.
type span struct {
	from, to int
	changes  []int
}

// versionCost is about how many columns take as many bytes as to say when a version of a part is shown.
const versionCost = 12

// cost is about how many bytes it takes to tell a part.
func (s span) cost() int { return len(s.changes) * (s.to - s.from + versionCost) }

// spans splits a row so that it takes few bytes, but not within wide characters.
func (d *svg) spans(y int) (out []span) {
	for x := range d.frames[0].Screen.Width {
		part, splits := span{from: x, to: x + 1}, false // splits: a cut before x would part a character
		for i, f := range d.frames {
			row := f.Screen.rows[y]
			splits = splits || row[x].Text == ""
			if i == 0 || row[x] != d.frames[i-1].Screen.rows[y][x] {
				part.changes = append(part.changes, i)
			}
		}
		for n := len(out); n > 0; n = len(out) {
			all := slices.Concat(out[n-1].changes, part.changes)
			slices.Sort(all)
			both := span{out[n-1].from, part.to, slices.Compact(all)}
			if !splits && both.cost() > out[n-1].cost()+part.cost() {
				break
			}
			out, part, splits = out[:n-1], both, false
		}
		out = append(out, part)
	}
	return out
}

// row writes a row of all frames.
func (d *svg) row(y, top int) {
	for _, s := range d.spans(y) {
		for i, from := range s.changes {
			until := d.total
			if i+1 < len(s.changes) {
				until = d.frames[s.changes[i+1]].At
			}
			cells := d.frames[from].Screen.rows[y][s.from:s.to]
			if text := d.cells(s.from, top, cells); text != "" {
				d.during(text, d.frames[from].At, until)
			}
		}
	}
}

// interval is a part of the film.
type interval struct{ from, until time.Duration }

// during keeps the shapes that a part of the film shows.
func (d *svg) during(text string, from, until time.Duration) {
	k := interval{from, until}
	if d.shown[k] == nil {
		d.shown[k] = &strings.Builder{}
		d.order = append(d.order, k)
	}
	d.shown[k].WriteString(text)
}

// groups writes the kept parts: those that always show, then an animated group for each
// interval.
func (d *svg) groups(b *strings.Builder) {
	slices.SortFunc(d.order, func(x, y interval) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(y.until, x.until))
	})
	percent := func(t time.Duration) string {
		return strconv.FormatFloat(100*float64(t)/float64(d.total), 'f', 3, 64) + "%"
	}
	for i, k := range d.order {
		text := d.shown[k].String()
		if k.from == 0 && k.until >= d.total {
			b.WriteString(text + "\n")
			continue
		}
		name := "k" + strconv.FormatInt(int64(i), 36)
		var frames string
		if k.from > 0 {
			frames = "0%{visibility:hidden}"
		}
		frames += percent(k.from) + "{visibility:visible}"
		if k.until < d.total {
			frames += percent(k.until) + "{visibility:hidden}"
		}
		d.rules = append(d.rules, fmt.Sprintf(".%s{animation-name:%[1]s}@keyframes %[1]s{%s}\n", name, frames))
		fmt.Fprintf(b, `<g class="k %s">%s</g>`+"\n", name, text)
	}
}

// cells writes backgrounds, drawn signs and text of a part of a row.
func (d *svg) cells(x, top int, cells []Cell) string {
	var shapes, text strings.Builder
	for i := 0; i < len(cells); {
		n := run(cells[i:], func(a, b Cell) bool { return a.Bg == b.Bg })
		if cells[i].Bg != d.th.bg {
			fmt.Fprintf(&shapes, `<path class="%s" d="M%d %dh%dv%dh-%[4]dz"/>`, d.class("fill", cells[i].Bg), (x+i+1)*svgW, top, n*svgW, svgH)
		}
		i += n
	}
	for i := 0; i < len(cells); {
		n := run(cells[i:], func(a, b Cell) bool {
			return a.Fg == b.Fg && a.Bold == b.Bold && a.Underline == b.Underline && (a.Width == 1) == (b.Width == 1) && isShape(a) == isShape(b)
		})
		part := cells[i : i+n]
		if isShape(part[0]) {
			shapes.WriteString(d.shapes(x+i, top, part))
		} else {
			text.WriteString(d.letters(x+i+1, top+svgH-4, part))
		}
		i += n
	}
	return shapes.String() + text.String()
}

// run counts those at the beginning that are alike.
func run[T any](list []T, alike func(a, b T) bool) int {
	n := 1
	for n < len(list) && alike(list[0], list[n]) {
		n++
	}
	return n
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// letters writes the text of cells that are alike, from a column on, at a base line.
// textLength holds the columns in their places whatever the font.
func (d *svg) letters(col, base int, cells []Cell) string {
	all := textOf(cells)
	rest := strings.TrimLeft(all, " ")
	shown := strings.TrimRight(rest, " ")
	if shown == "" {
		return ""
	}
	col += len(all) - len(rest) // a blank is one cell, and one byte
	n := len(cells) - len(all) + len(shown)
	class := ""
	if cells[0].Bold {
		class = " b"
	}
	if cells[0].Underline {
		class += " u"
	}
	if cells[0].Fg != d.th.fg {
		class = d.class("fill", cells[0].Fg) + class
	}
	class = strings.TrimSpace(class)
	if class != "" {
		class = ` class="` + class + `"`
	}
	length := ""
	if n > 2 {
		length = fmt.Sprintf(` textLength="%d"`, n*svgW)
	}
	return fmt.Sprintf(`<text%s x="%d" y="%d"%s>%s</text>`, class, col*svgW, base, length, escape.Replace(shown))
}

// captions writes the captions below the screen.
func (d *svg) captions(top int) {
	for i := 0; i < len(d.frames); {
		n := run(d.frames[i:], func(a, b Frame) bool { return a.Caption == b.Caption })
		if f := d.frames[i]; f.Caption != "" {
			d.during(d.cells(0, top, lineOf(f.Caption, f.Screen.Width, Cell{Fg: d.th.fg, Bg: d.th.bg, Bold: true})), f.At, d.frames[i+n-1].Until)
		}
		i += n
	}
}
