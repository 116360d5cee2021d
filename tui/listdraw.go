package tui

import (
	"cmp"
	"fmt"
	"slices"

	"lightsout/internal/text"
)

// leastHeader is the height from which there are column headers, also where
// they take the place of a row.
const leastHeader = 3

// lines is the height that shows all rows.
func (l *list[K, R]) lines() int { return len(l.rows) + 1 }

// want asks for all rows, and a double share of the lines left.
func (l *list[K, R]) want(*scene, int) want { return want{least: 2, most: l.lines(), share: 2} }

// window gives the rows to draw in h lines: in the active pane with the cursor among them; elsewhere, and as far as
// nobody has moved the cursor, the first rows, those in trouble.
func (l *list[K, R]) window(h int, active bool) (from, to int) {
	l.page = h
	at := l.at
	if !(active && l.moved) && !l.follows {
		at, l.top = at*btoi(active), 0
	}
	if at < l.top {
		l.top = at
	}
	if at >= l.top+h {
		l.top = at - h + 1
	}
	l.top = max(0, min(l.top, len(l.rows)-h))
	return l.top, min(l.top+h, len(l.rows))
}

// position describes which rows are visible, and of how many; empty if all are.
func (l *list[K, R]) position(s *scene) string {
	if l.page == 0 {
		return ""
	}
	return inSight(s.t, l.top, l.page, len(l.rows))
}

// count is the position or, if all rows are visible, their number unless that of the
// filter has it.
func (l *list[K, R]) count(s *scene) string {
	facts := l.position(s)
	if n := len(l.rows); facts == "" && n > 1 && l.by.text == "" && l.by.only == "" {
		return fmt.Sprint(n)
	}
	return facts
}

// inSight describes which of all lines are visible, with room for this many from the
// one at top; empty if all are.
func inSight(t *theme, top, room, all int) string {
	if room >= all {
		return ""
	}
	return fmt.Sprintf("%d%s%d of %d", top+1, t.dash, min(top+room, all), all)
}

// draw gives h lines of w cells.
func (l *list[K, R]) draw(s *scene, w, h int, active bool) []string {
	if len(l.rows) == 0 {
		l.page, l.fitted = 0, plan{}
		return s.message(s.t.dim, l.empty(s), w, h)
	}
	headers := btoi(h >= leastHeader || h > len(l.rows))
	from, to := l.window(h-headers, active)
	cells := l.cells(s, w-l.leadWidth-2, l.rows[from:to])
	p := l.plan(w - l.leadWidth - 2)
	if !p.whole { // no room is left to cells that are gone
		l.need = widths{}
		l.measure(s, cells)
		p = l.plan(w - l.leadWidth - 2)
	}
	p.tellApart(s.t, l.fits, cells)
	l.fitted = p
	out := make([]string, 0, h)
	if headers > 0 {
		out = append(out, l.header(s, w, p))
	}
	for i, item := range l.rows[from:to] {
		r := newRow(w).lead(s.t, from+i == l.at, active, l.moved)
		l.lead(s, r, item)
		r.cells(s.t, p, l.fits, cells[i])
		if left := r.left - 1 - 2; l.tail != nil && left >= 4 {
			r.space(2)
			l.tail(s, r, item, left)
		}
		out = append(out, r.String())
	}
	return fill(out, w, h)
}

// cells gives the cells of rows, and finds what widths they need in w cells.
func (l *list[K, R]) cells(s *scene, w int, rows []R) [][]cell {
	if l.needW != w {
		l.needW, l.need = w, widths{}
		l.fits = text.Each(l.columns, func(c column[R]) fitting { return c.fitting })
	}
	out := make([][]cell, len(rows))
	l.drawn = slices.Grow(l.drawn[:0], len(rows)*len(l.columns))
	for y, r := range rows {
		from := len(l.drawn)
		for _, c := range l.columns {
			l.drawn = append(l.drawn, c.cell(s, r))
		}
		out[y] = l.drawn[from:]
	}
	l.measure(s, out)
	return out
}

// measure makes room for the cells of rows, and for the titles of the columns.
func (l *list[K, R]) measure(s *scene, out [][]cell) {
	for _, cells := range out {
		l.need.grow(cells)
	}
	for i, c := range l.fits {
		if !slices.ContainsFunc(out, func(cs []cell) bool { return spansWidth(cs[i].form(false)) > 0 }) {
			l.need.full[i], l.need.short[i] = 0, 0
			continue
		}
		title := l.heading(s, i)
		l.need.full[i] = max(l.need.full[i], width(title))
		if l.need.short[i] > 0 {
			l.need.short[i] = max(l.need.short[i], width(cmp.Or(c.brief, title)))
		}
	}
}

// plan fits the columns, with room for the tail: for all that it may need if that shortens no name.
func (l *list[K, R]) plan(w int) plan {
	if l.tail != nil {
		if p := fitColumns(w-2-l.tailLeast, l.fits, l.need); p.whole {
			return p
		}
	}
	return fitColumns(w-l.tailMin, l.fits, l.need)
}

// heading is a column's title, with a sign where the rows are sorted by it.
func (l *list[K, R]) heading(s *scene, i int) string {
	title := l.columns[i].title
	switch {
	case l.sort != i+1:
		return title
	case l.reversed:
		return title + s.t.sortedDown
	}
	return title + s.t.sortedUp
}

func (l *list[K, R]) header(s *scene, w int, p plan) string {
	cs := make([]cell, len(l.columns))
	for i := range cs {
		title := l.heading(s, i)
		if brief := l.columns[i].brief; brief != "" && width(title) > p.widths[i] {
			title = brief
		}
		title, _ = cutLeft(title, p.widths[i])
		cs[i] = textCell(s.t.head, title)
	}
	r := newRow(w).space(1+l.leadWidth).cells(s.t, p, l.fits, cs)
	if left := r.left - 1 - 2; l.tail != nil && left >= width(l.tailTitle) {
		r.space(2).put(s.t.head, l.tailTitle)
	}
	return r.String()
}

// empty is the text of a list without rows.
func (l *list[K, R]) empty(s *scene) string {
	if l.kind != "" {
		if missing := s.missing(l.kind); missing != "" {
			return missing
		}
	}
	if l.by.on() {
		return l.none + " match the filter"
	}
	return l.none
}

// lead writes the cursor of a row: bright in the active pane, faint in others
// where the operator has left it.
func (r *row) lead(t *theme, here, active, moved bool) *row {
	switch {
	case here && active:
		return r.put(t.accent, t.cursor)
	case here && moved:
		return r.put(t.dim, t.cursorOff)
	}
	return r.space(1)
}
