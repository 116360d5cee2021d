package tui

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lightsout/cluster"
	"lightsout/internal/text"
)

// fitting is how a column of a table behaves when there is little room.
type fitting struct {
	// least is the width that is kept free where there is room, even if no cell needs it
	// now, so that the table does not jump; leastShort the same for the short form.
	least, leastShort int
	// ease, if set, is how far the column is shortened when short forms do not suffice;
	// min how far when nothing else helps.
	ease, min int
	// short orders the columns that have short forms: the lowest turns first. A column
	// whose short cells are empty goes.
	short int
	// brief is the title for little room.
	brief string
	// drop, if set, lets the table leave the column out when there is no room, the
	// highest value first.
	drop int
	// extra columns are there only where all others are in full, and go before
	// anything else does; those that come first stay longest.
	extra bool
	// middle shortens in the middle; right aligns to the right.
	middle, right bool
}

// cell is one cell of a table: a text in one look or, if spans is not empty, in several;
// short, if not empty, replaces it when room is scarce.
type cell struct {
	text  [1]span // in place, so that most cells allocate nothing
	spans []span
	short []span
	spare int // how much of it, a namespace or a hash, may be missing before a name is
}

type span struct {
	st style
	s  string
}

func textCell(st style, s string) cell { return cell{text: [1]span{{st, s}}} }

func shortCell(st style, s, short string) cell {
	return cell{text: [1]span{{st, s}}, short: []span{{st, short}}}
}

// plainCell is a text from outside.
func plainCell(s *scene, text string) cell { return textCell("", s.t.text(text)) }

// nameCell is a name, with its namespace where there are many.
func nameCell(s *scene, k cluster.Key, many bool) cell {
	if many {
		c := plainCell(s, k.String())
		c.spare = max(0, width(s.t.text(k.Namespace))-1-width(s.t.ellipsis))
		return c
	}
	return plainCell(s, k.Name)
}

// nameLast shortens the namespace before a name, to its first letter, or leaves it out and shortens the name in that way.
func nameLast(way shortener) shortener {
	return func(s string, w int, dots string) string {
		ns, name, found := strings.Cut(s, "/")
		switch room := w - width(name) - 1; {
		case !found:
			return way(s, w, dots)
		case room > width(dots):
			return fit(ns, room, dots) + "/" + name
		}
		return shortened(name, w, dots, way)
	}
}

// dimCell is a text from outside, or of less weight.
func dimCell(s *scene, text string) cell { return textCell(s.t.dim, s.t.text(text)) }

// ageCell formats how long ago something was; empty if that is unknown.
func ageCell(s *scene, since time.Time) cell {
	if since.IsZero() {
		return cell{}
	}
	return dimCell(s, coarseAge(s.now.Sub(since)))
}

func spansWidth(s []span) int {
	n := 0
	for _, p := range s {
		n += width(p.s)
	}
	return n
}

func (c *cell) form(short bool) []span {
	switch {
	case short && c.short != nil:
		return c.short
	case c.spans != nil:
		return c.spans
	}
	return c.text[:]
}

// plain is the cell's text.
func (c cell) plain() string {
	return strings.Join(text.Each(c.form(false), func(p span) string { return p.s }), "")
}

// widths are the widths that columns need: in full, in their short form, and with namespaces shortened.
type widths struct{ full, short, names []int }

// grow makes room for the cells of a row. Widths do not shrink with the cells, so that
// a table does not jump with every row that scrolls into it.
func (n *widths) grow(cells []cell) {
	for len(n.full) < len(cells) {
		n.full, n.short, n.names = append(n.full, 0), append(n.short, 0), append(n.names, 0)
	}
	for i := range cells {
		full := spansWidth(cells[i].form(false))
		short := full
		if cells[i].short != nil {
			short = spansWidth(cells[i].short)
		}
		n.full[i], n.short[i], n.names[i] = max(n.full[i], full), max(n.short[i], short), max(n.names[i], full-cells[i].spare)
	}
}

// plan is the outcome of fitting columns: a width each, 0 for those left away,
// whether each is in its short form, the gap between them, and how to shorten the cells
// of each column.
type plan struct {
	widths  []int
	short   []bool
	gap     int
	shorten []shortener
	whole   bool // no name is shortened
}

// shortener shortens a text to at most w cells.
type shortener func(s string, w int, ellipsis string) string

// tellApart chooses for each column of names a way to shorten them that keeps the
// names of these rows different.
func (p *plan) tellApart(t *theme, cols []fitting, rows [][]cell) {
	for i, c := range cols {
		if c.middle && p.widths[i] > 0 {
			p.shorten[i] = tellsApart(t, p.widths[i], rows, i)
		}
	}
}

// tellsApart returns the first way to shorten the cells of a column to w cells that
// leaves no two different ones alike: without much of the namespace and the name's end or middle, the middle, the end, or the beginning that
// they share.
func tellsApart(t *theme, w int, rows [][]cell, i int) shortener {
	if !slices.ContainsFunc(rows, func(r []cell) bool { return spansWidth(r[i].form(false)) > w }) {
		return nameLast(fit)
	}
	names, same := map[string]bool{}, rows[0][i].plain()
	for _, r := range rows {
		name := r[i].plain()
		names[name] = true
		for !strings.HasPrefix(name, same) {
			_, size := utf8.DecodeLastRuneInString(same)
			same = same[:len(same)-size]
		}
	}
	after := func(s string, w int, dots string) string { return dots + fit(s[len(same):], w-width(dots), dots) }
	for _, way := range []shortener{nameLast(middle), nameLast(fit), middle, fit, after} {
		short := map[string]bool{}
		for name := range names {
			short[shortened(name, w, t.ellipsis, way)] = true
		}
		if len(short) == len(names) {
			return way
		}
	}
	return nameLast(fit)
}

// shortened shortens a text that is wider than w cells.
func shortened(s string, w int, dots string, way shortener) string {
	switch {
	case width(s) <= w:
		return s
	case w <= width(dots):
		return fit(s, w, dots)
	}
	return way(s, w, dots)
}

// used is how many cells they take.
func (p *plan) used() int {
	n, shown := 0, 0
	for _, v := range p.widths {
		if v > 0 {
			n, shown = n+v, shown+1
		}
	}
	return n + p.gap*max(0, shown-1)
}

// fitColumns chooses widths for a table of w cells. Names stay whole if other columns can
// make room for them: by what is only kept free, short forms, narrow gaps. If not, names
// are shortened a little so that the others need not be. Then it shortens much, and leaves
// columns away. A column of which no cell is filled takes no room.
func fitColumns(w int, cols []fitting, need widths) plan {
	p := plan{widths: make([]int, len(cols)), shorten: make([]shortener, len(cols)), whole: true}
	gone := make([]bool, len(cols))
	for i, c := range cols {
		gone[i], p.shorten[i] = c.extra, fit
		if c.middle {
			p.shorten[i] = middle
		}
	}
	if p.yield(w, cols, need, gone, fitting.whole) {
		for i, c := range cols { // the remaining cells, of which there are none if one is short of what is kept free, go to the extra ones
			n := max(need.full[i], c.least)
			if full := p.gap == 2 && !slices.Contains(p.short, true); full && c.extra && need.full[i] > 0 && p.used()+p.gap+n <= w {
				p.widths[i] = n
			}
		}
		return p
	}
	p.whole = false
	if p.yield(w, cols, need, gone, fitting.little) {
		return p
	}
	for !p.fits(w, cols, need, gone, fitting.little) && !p.fits(w, cols, need, gone, fitting.much) {
		last := -1
		for i, c := range cols {
			if c.drop > 0 && !gone[i] && (last < 0 || c.drop > cols[last].drop) {
				last = i
			}
		}
		if last < 0 {
			break
		}
		gone[last] = true
	}
	return p
}

// How far a column may be shortened, if at all: a name not while others can give way.
func (c fitting) whole(names int) int {
	if c.middle {
		return names
	}
	return c.ease
}
func (c fitting) little(int) int { return c.ease }
func (c fitting) much(int) int   { return c.min }

// yield tries everything in full, the first short forms, narrow gaps, and the other short
// forms, and reports whether the columns fit then.
func (p *plan) yield(w int, cols []fitting, need widths, gone []bool, floor func(fitting, int) int) bool {
	p.short, p.gap = make([]bool, len(cols)), 2
	for n := 1; !p.fits(w, cols, need, gone, floor); n++ {
		if n > len(cols) {
			return false
		}
		for i, c := range cols {
			p.short[i] = p.short[i] || c.short == n
		}
		if p.fits(w, cols, need, gone, floor) {
			break
		}
		p.gap = 1
	}
	return true
}

// fits gives each column its width, takes what is missing from what is kept free and then
// from columns above their floor, and reports whether that suffices.
func (p *plan) fits(w int, cols []fitting, need widths, gone []bool, floor func(fitting, int) int) bool {
	filled := func(i int) (least, kept int) {
		switch {
		case gone[i] || need.full[i] == 0:
			return 0, 0
		case p.short[i]:
			return need.short[i], cols[i].leastShort
		}
		return need.full[i], cols[i].least
	}
	for i := range cols {
		p.widths[i] = max(filled(i))
	}
	for i := range cols {
		least, _ := filled(i)
		p.widths[i] = max(least, p.widths[i]-max(0, p.used()-w))
	}
	for i, c := range slices.Backward(cols) { // names, which come first, give way last
		if least := floor(c, need.names[i]); least > 0 && p.widths[i] > least {
			p.widths[i] = max(least, p.widths[i]-max(0, p.used()-w))
		}
	}
	return p.used() <= w
}

// cells writes one row of a table after a plan.
func (r *row) cells(t *theme, p plan, cols []fitting, cs []cell) *row {
	gap := 0
	for i := range cs {
		wide := p.widths[i]
		if wide <= 0 {
			continue
		}
		r.space(gap)
		gap = p.gap
		spans := cs[i].form(p.short[i])
		end := r.left - wide
		if cols[i].right {
			r.space(wide - spansWidth(spans))
		}
		r.spans(t, spans, wide, p.shorten[i]).space(r.left - end)
	}
	return r
}

// spans writes spans in at most w cells.
func (r *row) spans(t *theme, spans []span, w int, shorten shortener) *row {
	end := r.left - w
	for _, s := range spans {
		r.put(s.st, shortened(s.s, r.left-end, t.ellipsis, shorten))
	}
	return r
}
