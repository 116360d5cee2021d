package tui

// column is one column of a table. Its width is found from its cells and from
// the room there is.
type column struct {
	// least is the width that is kept free even if no cell needs it now, so
	// that the table does not jump; leastShort the same for the short form.
	least, leastShort int
	// ease, if set, is how far the column is shortened before others turn to
	// their short forms; min how far when nothing else helps.
	ease, min int
	// short orders the columns that have short forms: the lowest turns first.
	short int
	// drop, if set, lets the column be left away when there is no room, the
	// highest first.
	drop int
	// middle shortens in the middle; right aligns to the right.
	middle, right bool
}

// cell is one cell: spans of text, or short when room is scarce.
type cell struct {
	spans []span
	short []span
}

type span struct {
	st style
	s  string
}

func textCell(st style, s string) cell { return cell{spans: []span{{st, s}}} }

func shortCell(st style, s, short string) cell {
	return cell{spans: []span{{st, s}}, short: []span{{st, short}}}
}

func spansWidth(s []span) int {
	n := 0
	for _, p := range s {
		n += width(p.s)
	}
	return n
}

func (c cell) form(short bool) []span {
	if short && c.short != nil {
		return c.short
	}
	return c.spans
}

// plan is the outcome of fitting columns: a width each, 0 for those left away,
// whether each is in its short form, the gap between them, and the cells used.
type plan struct {
	widths []int
	short  []bool
	gap    int
	used   int
}

func (p *plan) total() int {
	n, shown := 0, 0
	for _, v := range p.widths {
		if v > 0 {
			n, shown = n+v, shown+1
		}
	}
	return n + p.gap*max(0, shown-1)
}

// dropped is how many columns are left away.
func (p *plan) dropped() int {
	n := 0
	for _, w := range p.widths {
		if w == 0 {
			n++
		}
	}
	return n
}

// fitColumns chooses widths for a table of w cells. It tries, in this order:
// everything in full, shortening a little, the first short forms, narrow gaps,
// the other short forms, shortening much, leaving columns away.
func fitColumns(w int, cols []column, rows [][]cell) plan {
	p := plan{widths: make([]int, len(cols)), short: make([]bool, len(cols)), gap: 2}
	gone := make([]bool, len(cols))
	try := func(floor func(column) int) bool {
		for i, c := range cols {
			p.widths[i] = 0
			if gone[i] {
				continue
			}
			for _, r := range rows {
				p.widths[i] = max(p.widths[i], spansWidth(r[i].form(p.short[i])))
			}
			least := c.least
			if p.short[i] {
				least = c.leastShort
			}
			p.widths[i] = max(p.widths[i], least)
		}
		for i, c := range cols {
			if over := p.total() - w; over > 0 && floor(c) > 0 && p.widths[i] > floor(c) {
				p.widths[i] = max(floor(c), p.widths[i]-over)
			}
		}
		p.used = p.total()
		return p.used <= w
	}
	ease := func(c column) int { return c.ease }
	if try(ease) {
		return p
	}
	for n := 1; n <= len(cols); n++ {
		for i, c := range cols {
			p.short[i] = p.short[i] || c.short == n
		}
		if try(ease) {
			return p
		}
		if p.gap = 1; try(ease) {
			return p
		}
	}
	hard := func(c column) int { return c.min }
	for !try(ease) && !try(hard) {
		worst := -1
		for i, c := range cols {
			if c.drop > 0 && !gone[i] && (worst < 0 || c.drop > cols[worst].drop) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		gone[worst] = true
	}
	return p
}

// cells writes one row of a table after a plan. changed, if not negative, is
// the column before which the sign for "just changed" stands.
func (r *row) cells(t *theme, p plan, cols []column, cs []cell, changed int) {
	first := true
	for i, c := range cs {
		wide := p.widths[i]
		if wide <= 0 {
			continue
		}
		if !first {
			if changed == i {
				r.space(p.gap-1).put(t.fresh, t.changed)
			} else {
				r.space(p.gap)
			}
		}
		first = false
		spans := c.form(p.short[i])
		if cols[i].right {
			r.space(wide - spansWidth(spans))
		}
		room := wide
		for _, s := range spans {
			text := s.s
			if cols[i].middle {
				text = middle(text, room, t.ellipsis)
			} else {
				text = fit(text, room, t.ellipsis)
			}
			r.put(s.st, text)
			room -= width(text)
		}
		if !cols[i].right {
			r.space(room)
		}
	}
}
